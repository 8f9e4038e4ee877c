//! Pinned plans: files beside the programs that say which plans an entry has, instead of the planner.
//!
//! ```text
//! # gemm.plan
//! entry GEMM
//! plan lanes
//! nest
//!   n, m threads
//!   k seq
//!   m reg(12)
//!   n lanes(32)
//!   fold k runs(8192)
//! ```
//!
//! Before its plans an entry may say how the recurrences are computed that it uses: `recurrence` with names of tables, and the lines of a
//! [`Course`](hidp_ir::par::Course). These are applied before passes, so nests are those of what the recurrences become.
//!
//! The first plan of an entry is the preferred one. The lines of a pinned plan on threads are whatever a nest can run by; those of one for
//! devices are tiles and blocks of any shape that a device can run ([`super::judge`]), or those of a plan that the planner would make, but for
//! the numbers that [`super::fit`] knows. Plans for devices stand among the others. An entry for which the file has plans of one kind alone has
//! the planner's of the other. Plans in the [old form](super::old) become lines, with a warning that shows them.

use super::blocks;
use super::candidates::{constraint, mapping};
use super::compose::form_of;
use super::device::{Natives, explore_device};
use super::fit::{Compared, Part, Unfit, compare};
use super::judge::judge;
use super::mapping::strategy_of_threads;
use super::notation::{Building, FoldOption, FoldRange, Line, Place, Step};
use super::refusal::Refusal;
use super::search::is_in_space;
use super::{Explored, Fate, Limits, Mapping, Nest, Plan, Rule, Strategy, nests, old};
use crate::target::{DeviceModel, Model};
use hidp_ir::imp::is_identifier;
use hidp_ir::par::{CourseLines, Func, FuncId, Map, Program};
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
    /// How its recurrences are computed.
    courses: Vec<CourseLines>,
    plans: Vec<PinnedPlan>,
}

/// A plan as the file has it.
struct PinnedPlan {
    /// Nothing, if a line could not be read.
    plan: Option<Form>,
    span: Span,
    nests: Vec<PinnedNest>,
}

enum Form {
    Lines(Plan),
    Old(old::Plan),
}

/// Where the lines of a nest stand; of those of the old form only the first.
struct PinnedNest {
    head: Span,
    steps: Vec<Span>,
    folds: Vec<Span>,
    places: Vec<Span>,
    properties: Vec<Span>,
}

impl PinnedNest {
    fn at(head: Span) -> Self {
        PinnedNest { head, steps: Vec::new(), folds: Vec::new(), places: Vec::new(), properties: Vec::new() }
    }
    fn span(&self, part: Part) -> Span {
        let found = match part {
            Part::Head => None,
            Part::Step(at) => self.steps.get(at),
            Part::Fold(at) => self.folds.get(at),
            Part::Place(at) => self.places.get(at),
            Part::Property(at) => self.properties.get(at),
        };
        *found.unwrap_or(&self.head)
    }
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
    let mut fitter = Fitter { program, id: func, models, explored: None, sink: &mut sink };
    let plans: Option<Vec<Plan>> = entry.plans.iter().map(|pinned| fitter.fitted(pinned)).collect();
    let plans = plans.filter(|plans| !plans.is_empty() && !sink.has_errors())?;
    let (device, cpu) = plans.into_iter().partition(Plan::is_for_device);
    Some(Pinned { cpu, device })
}

/// The ways of recurrences in a file, with the entries that they are for. [`check_pins`] reports lines that cannot be read.
pub fn pinned_courses(sources: &SourceMap, file: PinFile) -> Vec<(String, Vec<CourseLines>)> {
    let entries = read(sources, file.plans, &mut Sink::new());
    entries.into_iter().map(|entry| (entry.name, entry.courses)).collect()
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
    if pinned.plans.is_empty() && pinned.courses.is_empty() {
        let headline = format!("no plan is given for `{}`", pinned.name);
        sink.push(Diagnostic::new(Code::MalformedPlan, pinned.span, headline).label("expected `plan` lines below"));
    }
    let mut fitter = Fitter { program, id: func, models, explored: None, sink };
    let mut names: Vec<&str> = Vec::new();
    for plan in &pinned.plans {
        let fitted = fitter.fitted(plan);
        let name = match &plan.plan {
            Some(Form::Lines(plan)) => plan.name.as_str(),
            Some(Form::Old(plan)) => plan.name.as_str(),
            None => continue,
        };
        if let (Some(fitted), Some(Form::Old(_))) = (&fitted, &plan.plan) {
            fitter.sink.push(rewritten(fitted, plan.span));
        }
        if let Some(what) = wrong_name(name, fitted.as_ref(), names.contains(&name)) {
            let headline = format!("`{name}` cannot be the name of this plan");
            fitter.sink.push(Diagnostic::new(Code::MalformedPlan, plan.span, headline).label(what));
        }
        names.push(name);
    }
}

/// A plan in the old form, and its lines.
fn rewritten(plan: &Plan, span: Span) -> Diagnostic {
    let headline = format!("plan `{}` is written in the old form", plan.name);
    let lines: Vec<String> = plan.to_string().lines().map(str::to_owned).collect();
    let help = format!("write it as\n{}", lines.join("\n"));
    Diagnostic::new(Code::OldPlan, span, headline).label("a level for each iterator, instead of lines").help(help)
}

/// Why a plan cannot be called as it is, if so. Names of a call's versions are distinct, also of those that the planner adds.
fn wrong_name(name: &str, plan: Option<&Plan>, again: bool) -> Option<&'static str> {
    let level = Level::ALL.iter().any(|level| level.name() == name);
    let strategy = Strategy::ALL.iter().any(|strategy| strategy.name() == name);
    let for_device = plan.map(Plan::is_for_device);
    if !is_identifier(name) {
        Some("a name is a letter, and then letters, digits and `_`")
    } else if again {
        Some("another plan is called so")
    } else if [Rule::HOST, Rule::DEVICE].contains(&name) {
        Some("the name of a place: `host` and `device` are where plans run")
    } else if level && for_device == Some(false) {
        Some("the planner calls a plan for devices so")
    } else if strategy && for_device == Some(true) {
        Some("the planner calls a plan for the processor so")
    } else {
        None
    }
}

/// A line of the file, and where it begins.
struct Raw<'t> {
    text: &'t str,
    start: usize,
    /// The line without spaces around and without its comment.
    span: Span,
}

/// Lines of the file as entries and plans; reports what cannot be read.
fn read(sources: &SourceMap, file: FileId, sink: &mut Sink) -> Vec<PinnedEntry> {
    let mut entries: Vec<PinnedEntry> = Vec::new();
    let mut plans: Vec<Vec<Raw<'_>>> = Vec::new();
    let mut start = 0;
    for text in sources.file(file).text().split_inclusive('\n') {
        let code = text.split('#').next().unwrap_or("");
        let (indent, trimmed) = (code.len() - code.trim_start().len(), code.trim());
        let span = Span::new(file, start + indent, start + indent + trimmed.len());
        let raw = Raw { text, start, span };
        start += text.len();
        let mut words = trimmed.split_whitespace();
        let expected = match (words.next(), words.next()) {
            (None, _) => continue,
            (Some("entry"), Some(name)) if words.next().is_none() => {
                finish(&mut entries, &mut plans, file, sink);
                let (name, courses) = (name.to_owned(), Vec::new());
                entries.push(PinnedEntry { name, span, courses, plans: Vec::new() });
                continue;
            }
            (Some("entry"), _) => "`entry` and a name",
            (Some(_), _) if entries.is_empty() => "`entry` and a name before anything else",
            (Some("plan"), _) => {
                plans.push(vec![raw]);
                continue;
            }
            (Some("recurrence"), Some(_)) if plans.is_empty() => {
                let tables = blanks(&trimmed["recurrence".len()..]).replace(" ,", ",").replace(',', ", ");
                let courses = entries.last_mut().map(|entry| &mut entry.courses);
                courses.into_iter().for_each(|all| {
                    all.push(CourseLines { tables: blanks(&tables), lines: Vec::new(), span });
                });
                continue;
            }
            (Some("recurrence"), _) => "`recurrence`, the names of its tables, and its lines before the first `plan`",
            (Some(_), _) => match (plans.last_mut(), entries.last_mut().and_then(|entry| entry.courses.last_mut())) {
                (Some(lines), _) => {
                    lines.push(raw);
                    continue;
                }
                (None, Some(course)) => {
                    course.lines.push(blanks(trimmed));
                    continue;
                }
                (None, None) => "`plan` and a name before `nest`",
            },
        };
        sink.push(malformed(span, expected));
    }
    finish(&mut entries, &mut plans, file, sink);
    entries
}

/// Words with one blank between them.
fn blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn malformed(span: Span, expected: &str) -> Diagnostic {
    Diagnostic::new(Code::MalformedPlan, span, "this is no line of a plan").label(format!("expected {expected}"))
}

/// Gives the lines so far to the last entry.
fn finish(entries: &mut [PinnedEntry], plans: &mut Vec<Vec<Raw<'_>>>, file: FileId, sink: &mut Sink) {
    let plans = std::mem::take(plans);
    let Some(entry) = entries.last_mut() else { return };
    for lines in plans {
        let old = lines.iter().any(|raw| old::is_old(raw.text));
        entry.plans.extend(if old { in_old_form(&lines, sink) } else { in_lines(&lines, file, sink) });
    }
}

fn in_lines(lines: &[Raw<'_>], file: FileId, sink: &mut Sink) -> Option<PinnedPlan> {
    let mut building = Building::default();
    let mut nests: Vec<PinnedNest> = Vec::new();
    let mut broken = false;
    for raw in lines {
        if let Err((at, expected)) = building.line(raw.text.trim_end_matches(['\n', '\r'])) {
            let exact = Span::new(file, raw.start + at.start, raw.start + at.end);
            sink.push(malformed(if at.is_empty() { raw.span } else { exact }, &expected));
            broken = true;
            if building.plan.is_none() {
                break;
            }
            continue;
        }
        let all = building.plan.as_ref().map_or(&[][..], |plan| &plan.nests);
        if nests.len() < all.len() {
            nests.push(PinnedNest::at(raw.span));
        } else if let (Some(nest), Some(spans)) = (all.last(), nests.last_mut()) {
            let counts = [
                (nest.steps.len(), &mut spans.steps),
                (nest.folds.len(), &mut spans.folds),
                (nest.places.len(), &mut spans.places),
                (nest.properties.len(), &mut spans.properties),
            ];
            counts
                .into_iter()
                .filter(|(count, spans)| *count > spans.len())
                .for_each(|(_, spans)| spans.push(raw.span));
        }
    }
    let plan = building.plan.filter(|_| !broken).map(Form::Lines);
    Some(PinnedPlan { plan, span: lines.first()?.span, nests })
}

fn in_old_form(lines: &[Raw<'_>], sink: &mut Sink) -> Option<PinnedPlan> {
    let (mut plan, mut nests, mut broken) = (None, Vec::new(), false);
    for raw in lines {
        match old::read_line(&mut plan, raw.text) {
            Ok(()) if raw.text.trim_start().starts_with("nest") => nests.push(PinnedNest::at(raw.span)),
            Ok(()) => {}
            Err(expected) => {
                sink.push(malformed(raw.span, expected));
                broken = true;
            }
        }
    }
    let plan = plan.filter(|_| !broken).map(Form::Old);
    Some(PinnedPlan { plan, span: lines.first()?.span, nests })
}

const NEW_PLAN: &str = "`cargo xtask explain FILE --pin` prints the plans that fit now";

fn unfit(headline: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::UnfitPlan, span, headline).label(label)
}

/// Compares the plans of one entry with the planner's.
struct Fitter<'a> {
    program: &'a Program,
    id: FuncId,
    models: Models<'a>,
    /// What the planner would do for devices, if it kept everything.
    explored: Option<Explored>,
    sink: &'a mut Sink,
}

impl Fitter<'_> {
    /// The plan as it is used, if it fits the entry; reports where it does not.
    fn fitted(&mut self, pinned: &PinnedPlan) -> Option<Plan> {
        let form = pinned.plan.as_ref()?;
        let Form::Lines(Plan { composition: Some(composition), .. }) = form else {
            return self.with_nests(pinned, form);
        };
        let (program, entry, models) = (self.program, self.id, self.models);
        let Some(id) = form_of(program, entry, composition) else {
            let name = &program.funcs[entry].name;
            let (headline, label) = match program.alternatives_of(entry).next() {
                Some(_) => {
                    (format!("`{name}` has no such composition"), "none that the compiler keeps has these lines")
                }
                None => (format!("`{name}` has no codelets to choose from"), "`compose` lines are for codelets"),
            };
            self.sink.push(unfit(headline, pinned.span, label).help(NEW_PLAN));
            return None;
        };
        let fitted = Fitter { program, id, models, explored: None, sink: self.sink }.with_nests(pinned, form)?;
        Some(Plan { composition: Some(composition.clone()), ..fitted })
    }

    /// The plan with the nests that fit the function, without its composition.
    fn with_nests(&mut self, pinned: &PinnedPlan, form: &Form) -> Option<Plan> {
        let program = self.program;
        let func = &program.funcs[self.id];
        let maps = nests(func);
        let (name, count) = match form {
            Form::Lines(plan) => (&plan.name, plan.nests.len()),
            Form::Old(plan) => (&plan.name, plan.nests.len()),
        };
        if maps.len() != count {
            let headline = format!("`{}` has {} nests, but the plan {count}", func.name, maps.len());
            self.sink.push(unfit(headline, pinned.span, "this plan").help(NEW_PLAN));
            return None;
        }
        // All of them, so that all complaints are made.
        let mut good = Vec::new();
        for (at, (map, spans)) in maps.iter().zip(&pinned.nests).enumerate() {
            let lines = match form {
                Form::Lines(plan) => Ok(plan.nests[at].clone()),
                Form::Old(plan) => plan.nests[at].lines(program, func, map, self.models),
            };
            let fitted = match lines {
                Ok(lines) => self.nest(func, (at, map), lines, spans),
                Err(expected) => {
                    let headline = format!("these levels are none of this nest of `{}`", func.name);
                    Err(unfit(headline, spans.head, format!("expected {expected}")).help(NEW_PLAN).into())
                }
            };
            match fitted {
                Ok(nest) => good.push(nest),
                Err(diagnostic) => self.sink.push(*diagnostic),
            }
        }
        (good.len() == count).then(|| Plan::new(name.clone(), good))
    }

    /// A nest whose lines are those of one that the planner makes; else what is wrong with them.
    fn nest(
        &mut self,
        func: &Func,
        (at, map): (usize, &Map),
        nest: Nest,
        spans: &PinnedNest,
    ) -> Result<Nest, Box<Diagnostic>> {
        let (program, models) = (self.program, self.models);
        let read = Mapping::read(program, func, map, &nest);
        let judged = match &read {
            Ok(mapping) if nest.is_for_device() => judge(program, func, map, mapping, models.device),
            Ok(_) => Some(Ok(())),
            // What keeps blocks from having their shape is a constraint, rather than a line that the planner's have otherwise.
            Err(_) => Mapping::blocks_of(func, map, &nest)
                .filter(|_| nest.is_for_device())
                .map(|blocks| blocks::judge(program, func, map, &blocks, models.device))
                .filter(Result::is_err),
        };
        match judged {
            Some(Ok(())) => return Ok(nest),
            Some(Err(why)) => {
                let headline = format!("this nest of `{}` cannot run like this", func.name);
                let mut diagnostic = unfit(headline, spans.head, why.to_string()).also(why.at, "the nest");
                diagnostic.notes.push(why.note());
                return Err(diagnostic.into());
            }
            None => {}
        }
        let usual = if nest.is_for_device() { self.of_devices(func, at, map) } else { self.of_threads(func, map) };
        let compared = usual.iter().map(|(usual, mapping)| compare(&nest, usual, mapping, models.device));
        let best = compared.min_by_key(|compared| (compared.wrong, std::cmp::Reverse(compared.alike)));
        match best {
            Some(Compared { unfit: None, .. }) => match read {
                Ok(_) => Ok(nest),
                Err(why) => {
                    let headline = format!("this nest of `{}` cannot run like this", func.name);
                    Err(unfit(headline, spans.head, format!("expected that {why}")).into())
                }
            },
            // The search may choose more than the plans that come of levels.
            _ if read.is_ok() && nest.is_for_device() && is_in_space(program, func, map, &nest, models.device) => {
                Ok(nest)
            }
            best => {
                let first = map.iters.first().map_or(func.span, |iter| iter.span);
                if let Some((what, why)) = self.reason(func, map, &nest) {
                    let headline = format!("this nest of `{}` cannot run as `{what}`", func.name);
                    let mut diagnostic = unfit(headline, spans.head, why.to_string()).also(first, "the nest");
                    diagnostic.notes.push(why.note());
                    return Err(diagnostic.into());
                }
                let wrong = best.and_then(|best| best.unfit);
                let Unfit { part, expected } =
                    wrong.unwrap_or(Unfit { part: Part::Head, expected: "another plan: no such plan fits".to_owned() });
                let headline = match part {
                    Part::Head => format!("a line for this nest of `{}` is missing", func.name),
                    Part::Step(_) | Part::Fold(_) | Part::Place(_) | Part::Property(_) => {
                        format!("this nest of `{}` cannot run like this", func.name)
                    }
                };
                Err(unfit(headline, spans.span(part), format!("expected {expected}")).help(NEW_PLAN).into())
            }
        }
    }

    fn of_threads(&self, func: &Func, map: &Map) -> Vec<(Nest, Mapping)> {
        let suits = |strategy: &Strategy| constraint(self.program, func, map, *strategy).is_none();
        let suiting = Strategy::ALL.into_iter().filter(suits);
        let usual = suiting.map(|strategy| mapping(self.program, func, map, strategy, self.models.cpu));
        usual.map(|mapping| (mapping.lines(func, map), mapping)).collect()
    }

    fn of_devices(&mut self, func: &Func, at: usize, map: &Map) -> Vec<(Nest, Mapping)> {
        let (program, id, model) = (self.program, self.id, self.models.device);
        let explored = self.explored.get_or_insert_with(|| {
            let limits = Limits { most: usize::MAX, ..Limits::default() };
            explore_device(program, id, model, limits, Natives::Everywhere)
        });
        let usual = explored.plans.iter().filter_map(|plan| plan.nests.get(at));
        usual.filter_map(|nest| Some((nest.clone(), Mapping::read(program, func, map, nest).ok()?))).collect()
    }

    /// Why a nest cannot run in the way that its lines are about at all, if that is so.
    fn reason(&self, func: &Func, map: &Map, nest: &Nest) -> Option<(&'static str, Refusal)> {
        if !nest.is_for_device() {
            let strategy = strategy_of_threads(nest);
            return Some((strategy.name(), constraint(self.program, func, map, strategy)?));
        }
        let line = |wanted: &dyn Fn(&Line) -> bool| {
            nest.steps.iter().any(|step| matches!(step, Step::Line(line) if wanted(line)))
        };
        let is_level = |level: &Level| {
            line(&|line| match line.place {
                Place::Host => *level == Level::Kernel,
                Place::Thread(_) => super::mapping::level_of(&line.size) == Some(*level),
                _ => false,
            })
        };
        let groups = |fold: &FoldRange| fold.options.iter().any(|option| matches!(option, FoldOption::Groups(_)));
        let name = if line(&|line| line.place == Place::Reg) {
            "tiled"
        } else if nest.steps.iter().any(|step| matches!(step, Step::Stage(_))) {
            super::NEAR
        } else if nest.folds.iter().any(groups) {
            super::SPLIT
        } else {
            Level::ALL.into_iter().find(is_level)?.name()
        };
        match self.explored.as_ref()?.fate(name)? {
            Fate::Excluded(refusal) => Some((name, refusal.clone())),
            Fate::Kept | Fate::SameAs(_) | Fate::Outnumbered(_) => None,
        }
    }
}
