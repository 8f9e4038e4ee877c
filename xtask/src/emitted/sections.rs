//! Which lines of emitted text belong to which entry and plan: what a difference is reported under. That there is one is found without.

use std::collections::BTreeMap;

/// An entry, and one of its plans or nothing for what they share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) entry: String,
    pub(crate) plan: String,
}

/// The text of each place.
pub(crate) type Sections = BTreeMap<Place, String>;

/// Sections of C++ or CUDA: each entry has a namespace, each plan a comment before its host function, and the plan's kernels begin with
/// its name.
pub(crate) fn of_code(text: &str) -> Sections {
    let mut sections = Sections::new();
    let mut lines = text.lines().peekable();
    add(&mut sections, "", "", lines.by_ref_until_entry());
    while let Some(first) = lines.next() {
        let entry = entry_name(first).unwrap_or_default().to_owned();
        let body: Vec<&str> = [first].into_iter().chain(lines.by_ref_until_entry()).collect();
        let mut plans: Vec<&str> = body.iter().filter_map(|line| plan_name(line)).collect();
        // Of `near` and `near_wide` the longer one is meant where both would do.
        plans.sort_by_key(|plan| std::cmp::Reverse(plan.len()));
        let mut plan = "";
        for line in body {
            if let Some(named) = plan_name(line) {
                plan = named;
            } else if line.trim_start().starts_with("HIDP_") && !line.contains("HIDP_SYMBOL") {
                plan = plans.iter().copied().find(|plan| line.contains(&format!(" {plan}_"))).unwrap_or_default();
            }
            add(&mut sections, &entry, plan, [line]);
        }
    }
    sections
}

/// Sections of Rust: its functions.
pub(crate) fn of_rust(text: &str) -> Sections {
    let mut sections = Sections::new();
    let mut entry = "";
    for line in text.lines() {
        if let Some((_, after)) = line.split_once("pub fn ").or_else(|| line.split_once("pub unsafe fn ")) {
            entry = after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        }
        add(&mut sections, entry, "", [line]);
    }
    sections
}

fn add<'a>(sections: &mut Sections, entry: &str, plan: &str, lines: impl IntoIterator<Item = &'a str>) {
    let place = Place { entry: entry.to_owned(), plan: plan.to_owned() };
    let text = sections.entry(place).or_default();
    for line in lines {
        text.push_str(if is_back(line) { "#line back in this file" } else { line });
        text.push('\n');
    }
}

/// `namespace entry_k_5saxpy_saxpy {`
fn entry_name(line: &str) -> Option<&str> {
    line.strip_prefix("namespace entry_")?.strip_suffix(" {")
}

/// `  // plan rows | nest | i threads | i lanes`
fn plan_name(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("// plan ")?.split(' ').next()
}

/// `#line 70 "saxpy.cpp"`: its number says how long the text before is, which is no difference of its own.
fn is_back(line: &str) -> bool {
    line.starts_with("#line ") && [".cpp\"", ".cu\""].iter().any(|end| line.ends_with(end))
}

/// Text without what is about its code: how plans are written, and the stamps of tuning records.
pub(crate) fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for line in text.lines() {
        match (plan_name(line), line.trim_start().split_once("ource: \"")) {
            (Some(plan), _) => code.push_str(&format!("// plan {plan}")),
            (None, Some((before @ ("s" | "device_s"), _))) => code.push_str(&format!("{before}ource")),
            (None, _) => code.push_str(if is_back(line) { "#line back in this file" } else { line }),
        }
        code.push('\n');
    }
    code
}

trait UntilEntry<'a> {
    /// The lines before the next entry.
    fn by_ref_until_entry(&mut self) -> Vec<&'a str>;
}

impl<'a, I: Iterator<Item = &'a str>> UntilEntry<'a> for std::iter::Peekable<I> {
    fn by_ref_until_entry(&mut self) -> Vec<&'a str> {
        std::iter::from_fn(|| self.next_if(|line| entry_name(line).is_none())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "\
#include <x>
namespace entry_k_f {
  namespace {
    HIDP_KERNEL void rows_map0_k0(int a) {
      one;
    }
    HIDP_KERNEL void rows_wide_map0_k0(int a) {
      two;
    }
    HIDP_INLINE int shared() {
      three;
    }
  }
  // plan rows nest rows
  HIDP_ENTRY HIDP_SYMBOL(hidp2_k_f_rows)(hidp_call *call) {
    four;
  }
  // plan rows_wide nest rows
  HIDP_ENTRY HIDP_SYMBOL(hidp2_k_f_rows_wide)(hidp_call *call) {
    five;
  }
}
namespace entry_k_g {
  six;
}
";

    #[test]
    fn code_is_the_same_whatever_is_written_about_it() {
        let other = CODE.replace("// plan rows nest rows", "// plan rows nest i threads i lanes");
        assert_ne!(CODE, other);
        assert_eq!(code_of(CODE), code_of(&other));
        assert_eq!(code_of("  source: \"0123\",\n"), code_of("  source: \"4567\",\n"));
        assert_ne!(code_of(CODE), code_of(&CODE.replace("one;", "two;")));
        assert_ne!(code_of(CODE), code_of(&CODE.replace("// plan rows_wide", "// plan wide")));
    }

    #[test]
    fn lines_belong_to_entries_and_plans() {
        let sections = of_code(CODE);
        let of = |entry: &str, plan: &str| &sections[&Place { entry: entry.into(), plan: plan.into() }];
        let has = |text: &str, words: &[&str]| words.iter().all(|word| text.contains(word));
        assert!(has(of("k_f", "rows"), &["one", "four"]) && has(of("k_f", "rows_wide"), &["two", "five"]));
        assert!(has(of("k_f", ""), &["three"]) && has(of("k_g", ""), &["six"]) && has(of("", ""), &["#include"]));
        assert_eq!(sections.values().map(|text| text.lines().count()).sum::<usize>(), CODE.lines().count());
    }

    #[test]
    fn the_length_of_what_stands_before_is_no_difference() {
        let text = |line: u32| format!("namespace entry_f {{\n#line {line} \"f.cpp\"\n#line 7 \"f.hdp\"\n}}\n");
        assert_eq!(of_code(&text(3)), of_code(&text(4)));
        assert_ne!(of_code(&text(3)), of_code(&text(3).replace("7", "8")));
    }

    #[test]
    fn wrappers_belong_to_entries() {
        let sections = of_rust("mod x {\npub fn saxpy(a: f32) {\n  body\n}\npub unsafe fn dot() {}\n}\n");
        let entries: Vec<&str> = sections.keys().map(|place| place.entry.as_str()).collect();
        assert_eq!(entries, ["", "dot", "saxpy"]);
    }
}
