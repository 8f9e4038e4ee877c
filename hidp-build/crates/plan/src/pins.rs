//! Pinned plans: files beside the programs that say which plans an entry has, instead of the planner.
//!
//! ```text
//! # gemm.plan
//! entry GEMM
//! plan lanes
//! nest lanes
//!   iter m thread dim 1 tile 12 split
//!   iter n lanes dim 0 tile 32 split
//!   iter k seq dim 0 tile 1 span
//! ```
//!
//! The first plan of an entry is the preferred one. A pinned plan is what the planner would make of its strategy, but for tiles,
//! for lanes that are given up (`simd` as `seq`), and for arrays that are not to bypass the caches. Plans for devices stand among the
//! others: see [`super::device_pins`]. An entry for which the file has plans of one kind alone has the planner's of the other.

use super::candidates::{constraint, nest};
use super::device_pins::Usual;
use super::text::read_line;
use super::{Exec, LevelPlan, Nest, Plan, Rule, Strategy, nests};
use crate::target::{DeviceModel, Model};
use hidp_ir::imp::is_identifier;
use hidp_ir::par::{Func, FuncId, Map, Program};
use hidp_syntax::ast::Level;
use hidp_syntax::diag::{Code, Diagnostic, Sink, near};
use hidp_syntax::source::{FileId, SourceMap, Span};

/// A file of pinned plans, and the program that they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinFile {
    /// The `.hdp` file.
    pub program: FileId,
    /// The `.plan` file.
    pub plans: FileId,
}

/// The plans of an entry, and where they stand.
struct PinnedEntry {
    name: String,
    span: Span,
    plans: Vec<PinnedPlan>,
}

struct PinnedPlan {
    /// Nothing, if a line could not be read.
    plan: Option<Plan>,
    broken: bool,
    span: Span,
    nests: Vec<PinnedNest>,
}

/// Lines of a nest.
pub(super) struct PinnedNest {
    pub(super) span: Span,
    pub(super) iters: Vec<Span>,
    pub(super) places: Vec<Span>,
    pub(super) stages: Vec<Span>,
}

/// The pinned plans of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pinned {
    /// For the processor; perhaps none.
    pub cpu: Vec<Plan>,
    /// For devices; perhaps none.
    pub device: Vec<Plan>,
}

/// The models that plans are for.
#[derive(Clone, Copy, Debug)]
pub struct Models<'a> {
    /// The processor.
    pub cpu: &'a Model,
    /// Devices.
    pub device: &'a DeviceModel,
}

/// Largest tile of a fold, and of elements in a tile of lanes.
const MOST_BLOCK: u32 = 1 << 20;
const MOST_TILE: u32 = 1 << 14;

/// The pinned plans of an entry, if it has any that fit. [`check_pins`] reports what does not.
pub fn pinned(
    program: &Program,
    sources: &SourceMap,
    files: &[PinFile],
    func: FuncId,
    models: Models<'_>,
) -> Option<Pinned> {
    let item = &program.funcs[func];
    let file = files.iter().find(|file| file.program == item.span.file)?;
    let mut sink = Sink::new();
    let entry = read(sources, file.plans, &mut sink).into_iter().find(|entry| entry.name == item.name)?;
    let plans: Option<Vec<Plan>> =
        entry.plans.iter().map(|pinned| fitted(program, func, pinned, models, &mut sink)).collect();
    let plans = plans.filter(|plans| !plans.is_empty() && !sink.has_errors())?;
    let (device, cpu) = plans.into_iter().partition(Plan::is_for_device);
    Some(Pinned { cpu, device })
}

/// Reports files that cannot be read and plans that do not fit their entries.
pub fn check_pins(program: &Program, sources: &SourceMap, files: &[PinFile], models: Models<'_>, sink: &mut Sink) {
    for file in files {
        let of_file = |func: &FuncId| program.funcs[*func].span.file == file.program;
        let entries: Vec<FuncId> = program.entries.iter().copied().filter(of_file).collect();
        let mut known: Vec<String> = Vec::new();
        for pinned in read(sources, file.plans, sink) {
            if known.contains(&pinned.name) {
                let headline = format!("`{}` stands in the file twice", pinned.name);
                sink.push(Diagnostic::new(Code::MalformedPlan, pinned.span, headline).label("again"));
            }
            known.push(pinned.name.clone());
            let Some(func) = entries.iter().find(|func| program.funcs[**func].name == pinned.name) else {
                let entries: Vec<&Func> = entries.iter().map(|func| &program.funcs[*func]).collect();
                sink.push(unknown(sources, file, &pinned, &entries));
                continue;
            };
            check_entry(program, *func, &pinned, models, sink);
        }
    }
}

fn unknown(sources: &SourceMap, file: &PinFile, pinned: &PinnedEntry, entries: &[&Func]) -> Diagnostic {
    let headline = format!("`{}` has no entry `{}`", sources.file(file.program).name(), pinned.name);
    let diagnostic = Diagnostic::new(Code::UnfitPlan, pinned.span, headline).label("plans for nothing");
    match near::suggest(&pinned.name, entries.iter().map(|func| func.name.as_str())) {
        Some(near) => diagnostic.suggest(pinned.span, format!("entry {near}"), "there is an entry of a similar name"),
        None => diagnostic,
    }
}

fn check_entry(program: &Program, func: FuncId, pinned: &PinnedEntry, models: Models<'_>, sink: &mut Sink) {
    if pinned.plans.is_empty() {
        let headline = format!("no plan is given for `{}`", pinned.name);
        sink.push(Diagnostic::new(Code::MalformedPlan, pinned.span, headline).label("expected `plan` lines below"));
    }
    let mut names: Vec<&str> = Vec::new();
    for plan in &pinned.plans {
        fitted(program, func, plan, models, sink);
        let Some(read) = &plan.plan else { continue };
        let name = read.name.as_str();
        if let Some(what) = wrong_name(read, names.contains(&name)) {
            let headline = format!("`{name}` cannot be the name of this plan");
            sink.push(Diagnostic::new(Code::MalformedPlan, plan.span, headline).label(what));
        }
        names.push(name);
    }
}

/// Why a plan cannot be called as it is, if so. Names of a call's versions are distinct, also of those that the planner adds.
fn wrong_name(plan: &Plan, again: bool) -> Option<&'static str> {
    let name = plan.name.as_str();
    let level = Level::ALL.iter().any(|level| level.name() == name);
    let strategy = Strategy::ALL.iter().any(|strategy| strategy.name() == name);
    if !is_identifier(name) {
        Some("a name is a letter, and then letters, digits and `_`")
    } else if again {
        Some("another plan is called so")
    } else if [Rule::HOST, Rule::DEVICE].contains(&name) {
        Some("the name of a place: `host` and `device` are where plans run")
    } else if level && !plan.is_for_device() {
        Some("the planner calls a plan for devices so")
    } else if strategy && plan.is_for_device() {
        Some("the planner calls a plan for the processor so")
    } else {
        None
    }
}

/// Lines of the file as entries and plans; reports what cannot be read.
fn read(sources: &SourceMap, file: FileId, sink: &mut Sink) -> Vec<PinnedEntry> {
    let mut entries: Vec<PinnedEntry> = Vec::new();
    let mut start = 0;
    for line in sources.file(file).text().split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or("");
        let (indent, trimmed) = (code.len() - code.trim_start().len(), code.trim());
        let span = Span::new(file, start + indent, start + indent + trimmed.len());
        start += line.len();
        let mut words = trimmed.split_whitespace();
        let expected = match (words.next(), words.next()) {
            (None, _) => continue,
            (Some("entry"), Some(name)) if words.next().is_none() => {
                entries.push(PinnedEntry { name: name.to_owned(), span, plans: Vec::new() });
                continue;
            }
            (Some("entry"), _) => Some("`entry` and a name"),
            (Some(first), _) => match entries.last_mut() {
                None => Some("`entry` and a name before anything else"),
                Some(entry) => add_line(entry, first, trimmed, span).err(),
            },
        };
        if let Some(expected) = expected {
            let headline = "this is no line of a plan";
            sink.push(Diagnostic::new(Code::MalformedPlan, span, headline).label(format!("expected {expected}")));
        }
    }
    entries
}

fn add_line(entry: &mut PinnedEntry, first: &str, line: &str, span: Span) -> Result<(), &'static str> {
    if first == "plan" {
        entry.plans.push(PinnedPlan { plan: None, broken: false, span, nests: Vec::new() });
    }
    let pinned = entry.plans.last_mut().ok_or("`plan` and a name before `nest`")?;
    read_line(&mut pinned.plan, line).inspect_err(|_| pinned.broken = true)?;
    match (first, pinned.nests.last_mut()) {
        ("nest", _) => {
            pinned.nests.push(PinnedNest { span, iters: Vec::new(), places: Vec::new(), stages: Vec::new() })
        }
        ("iter", Some(nest)) => nest.iters.push(span),
        ("place", Some(nest)) => nest.places.push(span),
        ("stage", Some(nest)) => nest.stages.push(span),
        _ => {}
    }
    Ok(())
}

/// The plan as it is used, if it fits the entry; reports where it does not.
fn fitted(program: &Program, id: FuncId, pinned: &PinnedPlan, models: Models<'_>, sink: &mut Sink) -> Option<Plan> {
    let plan = pinned.plan.as_ref().filter(|_| !pinned.broken)?;
    let func = &program.funcs[id];
    let maps = nests(func);
    if maps.len() != plan.nests.len() {
        let headline = format!("`{}` has {} nests, but the plan {}", func.name, maps.len(), plan.nests.len());
        sink.push(unfit(headline, pinned.span, "this plan").help(NEW_PLAN));
        return None;
    }
    let parts = maps.iter().zip(&plan.nests).zip(&pinned.nests);
    let usual = plan.is_for_device().then(|| Usual::new(program, id, models.device));
    let nests = parts.enumerate().map(|(at, ((map, nest), lines))| match &usual {
        Some(usual) => usual.fitted(&func.name, (at, map), nest, lines),
        None => fitted_nest(program, func, map, nest, lines, models.cpu),
    });
    // All of them, so that all complaints are made.
    let nests: Vec<Result<Nest, Box<Diagnostic>>> = nests.collect();
    let mut good = Vec::new();
    for nest in nests {
        match nest {
            Ok(nest) => good.push(nest),
            Err(diagnostic) => sink.push(*diagnostic),
        }
    }
    (good.len() == plan.nests.len()).then(|| Plan { name: plan.name.clone(), nests: good })
}

pub(super) const NEW_PLAN: &str = "`cargo xtask explain FILE --pin` prints the plans that fit now";

pub(super) fn unfit(headline: impl Into<String>, span: Span, label: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(Code::UnfitPlan, span, headline).label(label))
}

fn fitted_nest(
    program: &Program,
    func: &Func,
    map: &Map,
    pinned: &Nest,
    lines: &PinnedNest,
    model: &Model,
) -> Result<Nest, Box<Diagnostic>> {
    let name = pinned.strategy.name();
    if let Some(constraint) = constraint(program, func, map, pinned.strategy) {
        let headline = format!("this nest of `{}` cannot run as `{name}`", func.name);
        let iter = map.iters.first().map_or(func.span, |iter| iter.span);
        return Err(unfit(headline, lines.span, constraint.to_string()).also(iter, "the nest").into());
    }
    let usual = nest(program, func, map, pinned.strategy, model);
    if usual.levels.len() != pinned.levels.len() {
        let headline =
            format!("this nest of `{}` has {} iterators, not {}", func.name, usual.levels.len(), pinned.levels.len());
        let iters: Vec<&str> = usual.levels.iter().map(|level| level.iter.as_str()).collect();
        let label = format!("expected lines for {}", iters.join(", "));
        return Err(unfit(headline, lines.span, label).help(NEW_PLAN).into());
    }
    for ((level, usual), line) in pinned.levels.iter().zip(&usual.levels).zip(&lines.iters) {
        if let Some(expected) = wrong_level(pinned.strategy, level, usual) {
            let headline = format!("`{}` cannot run like this", level.iter);
            return Err(unfit(headline, *line, format!("expected {expected}")));
        }
    }
    let lanes: u64 = pinned
        .levels
        .iter()
        .filter(|_| pinned.strategy == Strategy::Lanes)
        .map(|level| u64::from(level.tile))
        .product();
    if lanes > u64::from(MOST_TILE) {
        let headline = format!("a tile of {lanes} elements is too large");
        return Err(unfit(headline, lines.span, format!("the tiles below make more than {MOST_TILE} elements")));
    }
    let mut places = Vec::new();
    for (place, line) in pinned.places.iter().zip(&lines.places) {
        let same = usual.places.iter().find(|usual| usual.array == place.array && usual.memory == place.memory);
        let headline = || format!("`{}` cannot be placed like this", place.array);
        places.push(same.ok_or_else(|| unfit(headline(), *line, "not among the planner's placements"))?.clone());
    }
    if let Some(line) = lines.stages.first() {
        return Err(unfit("arrays are not staged like this", *line, "plans for the processor stage nothing"));
    }
    Ok(Nest { strategy: pinned.strategy, levels: pinned.levels.clone(), places, staging: Vec::new() })
}

/// What is expected instead, where a level cannot be like this.
fn wrong_level(strategy: Strategy, pinned: &LevelPlan, usual: &LevelPlan) -> Option<String> {
    let most = if strategy == Strategy::Lanes { MOST_TILE } else { MOST_BLOCK };
    let given_up = usual.exec == Exec::Simd && pinned.exec == Exec::Seq;
    if pinned.iter != usual.iter {
        Some(format!("the line of `{}`", usual.iter))
    } else if pinned.exec != usual.exec && !given_up {
        let or = if usual.exec == Exec::Simd { " or `seq`" } else { "" };
        Some(format!("`{}`{or}", usual.exec.name()))
    } else if pinned.dim != usual.dim {
        Some(format!("`dim {}`", usual.dim))
    } else if pinned.share != usual.share {
        Some(format!("`{}`", usual.share))
    } else if usual.tile == 1 && pinned.tile != 1 {
        Some("`tile 1`".into())
    } else if usual.tile > 1 && !(2..=most).contains(&pinned.tile) {
        Some(format!("a tile from 2 to {most}"))
    } else {
        None
    }
}
