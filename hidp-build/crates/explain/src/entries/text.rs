//! Explanations as text.

use std::fmt::Write as _;

use super::accesses::AccessFacts;
use super::kernels::KernelFacts;
use super::{Explanation, NestFacts, Version};
use hidp_plan::{Candidate, Fate};

/// What a piece of text is, from which its colour follows.
#[derive(Clone, Copy)]
enum Paint {
    Title,
    Good,
    Bad,
    Aside,
}

struct Page {
    text: String,
    colour: bool,
}

impl Page {
    fn paint(&self, text: &str, paint: Paint) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Title => "1",
            Paint::Good => "32",
            Paint::Bad => "33",
            Paint::Aside => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    fn section(&mut self, title: &str, body: &str) {
        let title = self.paint(title, Paint::Title);
        let _ = writeln!(self.text, "\n{title}");
        for line in body.lines() {
            let _ = if line.is_empty() { writeln!(self.text) } else { writeln!(self.text, "  {line}") };
        }
    }

    /// Candidates below each other.
    fn candidates(&self, rows: &[Candidate], indent: &str) -> Vec<String> {
        let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        let line = |Candidate { name, nest: _, score, fate }: &Candidate| {
            let paint = match fate {
                Fate::Kept => Paint::Good,
                Fate::Excluded(_) | Fate::Outnumbered(_) => Paint::Bad,
                Fate::SameAs(_) => Paint::Aside,
            };
            let score = score.map_or(String::new(), |score| self.paint(&format!("  score {score}"), Paint::Aside));
            let constraint = match fate {
                Fate::Excluded(refusal) => self.paint(&format!("  [{}]", refusal.constraint.id), Paint::Aside),
                Fate::Kept | Fate::SameAs(_) | Fate::Outnumbered(_) => String::new(),
            };
            format!("{indent}{name:<width$}  {}{constraint}{score}", self.paint(&fate.to_string(), paint))
        };
        rows.iter().map(line).collect()
    }
}

impl NestFacts {
    /// The shape and the accesses, a line each.
    fn accessed(&self) -> String {
        let what: Vec<String> = self.accesses.iter().map(AccessFacts::what).collect();
        let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let place = width(&mut self.accesses.iter().map(|access| access.place.chars().count()));
        let wide = width(&mut what.iter().map(|text| text.chars().count()));
        let lines = self.accesses.iter().zip(&what);
        let lines =
            lines.map(|(access, what)| format!("\n  {:<place$}  {what:<wide$}  {}", access.place, access.how()));
        std::iter::once(self.shape.clone()).chain(lines).collect()
    }
}

impl Explanation {
    /// The explanation, with colours for a terminal or without.
    pub(super) fn text(&self, colour: bool) -> String {
        let mut page = Page { text: String::new(), colour };
        let entry = page.paint(&format!("entry {}", self.name), Paint::Title);
        page.text = format!("{entry}   {}\n", self.place);
        if !self.recurrences.is_empty() {
            page.section("recurrences", &self.recurrences.join("\n"));
        }
        if !self.codelets.is_empty() {
            page.section("codelets", &self.codelets.join("\n"));
        }
        let shapes: Vec<&str> = self.nests.iter().map(|nest| nest.shape.as_str()).collect();
        page.section("nests after fusion, in order", &shapes.join("\n"));
        if !self.expanded.is_empty() {
            page.section("what directives pin, as lines", &self.expanded.join("\n"));
        }
        if !self.apart.is_empty() {
            page.section("nests that stay apart", &self.apart.join("\n"));
        }
        let line = |tested: &super::Tested| {
            format!("{}: {}; else with checks inside", tested.place, tested.conditions.join(", "))
        };
        if !self.tested.is_empty() {
            let lines: Vec<String> = self.tested.iter().map(line).collect();
            page.section("tested once before a nest", &lines.join("\n"));
        }
        let line = |check: &super::Check| format!("{} `{}`: {}", check.place, check.text, check.reason);
        let checks: Vec<String> = self.checks.iter().map(line).collect();
        page.section(
            "checks that remain at run time",
            if checks.is_empty() { "none".to_owned() } else { checks.join("\n") }.as_str(),
        );
        let mut lines = Vec::new();
        for nest in &self.nests {
            lines.push(nest.shape.clone());
            lines.extend(page.candidates(&nest.candidates, "  "));
            lines.extend(nest.limits.iter().map(|limit| format!("  {limit}")));
        }
        page.section("candidates", &lines.join("\n"));
        for (rank, plan) in self.plans.iter().enumerate() {
            let pinned = if self.pinned { ", pinned" } else { "" };
            let note = if rank == 0 { format!(" (preferred{pinned})") } else { String::new() };
            page.section(&format!("plan {}{note}", plan.name), &plan.to_string());
        }
        if let Err(why) = &self.device {
            page.section("GPUs", &format!("left out: {why}"));
        }
        if let Ok(device) = &self.device {
            let lines = page.candidates(&device.candidates, "");
            page.section("candidates for a GPU", &lines.join("\n"));
            page.section("mappings of each nest for a GPU, by predicted times", &self.searched.join("\n"));
            for plan in &device.plans {
                page.section(&format!("plan {}", plan.name), &plan.to_string());
                let homes = self.homes.iter().filter(|(name, _)| *name == plan.name);
                for (name, lines) in homes {
                    page.section(&format!("arrays of iterations in plan {name}"), &lines.join("\n"));
                }
                let own = self.kernels.iter().filter(|kernels| kernels.plan == plan.name);
                let lines: Vec<String> = own.flat_map(|own| &own.kernels).map(KernelFacts::text).collect();
                page.section(&format!("kernels of plan {}, as a warp runs them", plan.name), &lines.join("\n"));
            }
        }
        for plan in &self.composed {
            page.section(&format!("composition {}", plan.name), &plan.to_string());
        }
        let lines: Vec<String> = self.nests.iter().map(NestFacts::accessed).collect();
        page.section("accesses of each nest, along the iterators that vector lanes would hold", &lines.join("\n"));
        let mut lines: Vec<String> = self.measures.iter().map(|(name, is)| format!("{name} = {is}")).collect();
        lines.extend(self.rules.iter().cloned());
        page.section("which version runs", &lines.join("\n"));
        if !self.work.is_empty() {
            page.section("what is assumed where the work of launches is estimated", &self.work.join("\n"));
        }
        if !self.tunables.is_empty() {
            let line = |(name, domain): &(String, Vec<i64>)| {
                let values: Vec<String> = domain.iter().map(i64::to_string).collect();
                format!("{name}: {}", values.join(" "))
            };
            let lines: Vec<String> = self.tunables.iter().map(line).collect();
            page.section("what a tuner may vary from call to call", &lines.join("\n"));
        }
        let lines: Vec<String> =
            self.nests.iter().map(|n| format!("{}\n  bytes: {}\n  FLOPs: {}", n.shape, n.bytes, n.flops)).collect();
        page.section("memory traffic (every array once) and arithmetic of each nest", &lines.join("\n"));
        let line = |Version { plan, kernels, shared }: &Version| {
            let shared =
                if *shared == 0 { String::new() } else { format!(", {shared} bytes of shared memory a block") };
            format!("{plan}: {kernels} kernels{shared}")
        };
        let versions: Vec<String> = self.versions.iter().map(line).collect();
        page.section("versions", &versions.join("\n"));
        self.more.iter().for_each(|(title, body)| page.section(title, body));
        page.text
    }

    /// The preferred plans as directives.
    pub(super) fn pin_directives(&self) -> String {
        format!("entry {}\n{}", self.name, self.directives.iter().map(|line| format!("  {line}\n")).collect::<String>())
    }

    /// The plans as a file that pins them.
    pub(super) fn pin(&self) -> String {
        let of_devices = self.device.iter().flat_map(|device| &device.plans);
        let plans: String =
            self.plans.iter().chain(of_devices).chain(&self.composed).map(ToString::to_string).collect();
        let courses: String = self.courses.iter().map(|line| format!("{line}\n")).collect();
        format!("entry {}\n{courses}{plans}", self.name)
    }
}
