//! Courses as lines of plans: how they are written, which ones are pinned, and the errors for those that are impossible.

use std::ops::RangeInclusive;

use super::calls::called;
use super::made::Made;
use hidp_ir::par::{Course, CourseLines, Func, FuncId, PinnedCourse, Program, System, row_text};
use hidp_syntax::diag::{Code, Diagnostic, near};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;

/// Tiles that can be asked for: their windows stand on the stack.
const SIDES: RangeInclusive<u32> = 1..=1 << 14;

const NOW: &str = "`cargo xtask explain FILE` shows the ways of each use, and `--pin` prints those that are taken";

/// The names of a system's tables, as one.
pub fn name(func: &Func, system: &System) -> String {
    names(func, system).join(", ")
}

fn names(func: &Func, system: &System) -> Vec<String> {
    system.tables.iter().map(|table| func.vars[table.array].name.clone()).collect()
}

/// A course as lines, outermost first.
pub fn lines(func: &Func, system: &System, course: Course) -> Vec<String> {
    let (table, steps) = (&system.tables[0], &system.order.steps[0]);
    let names: Vec<&str> = table.index.iter().map(|index| func.vars[index.var].name.as_str()).collect();
    let in_steps = || steps.rows.iter().map(|row| format!("{} seq", row_text(row, &names)));
    let following = steps.rows.first().and_then(|row| super::wave::following(row));
    let others = || names.iter().enumerate().filter(|(at, _)| Some(*at) != following).map(|(_, name)| *name);
    let mut lines: Vec<String> = match (course, &system.order.nest) {
        (Course::Loops, Some(nest)) => {
            let signs = names.iter().zip(&nest.flips);
            signs.map(|(name, flip)| format!("{}{name} seq", if *flip < 0 { "-" } else { "" })).collect()
        }
        (Course::Loops, None) => in_steps().chain(others().map(|name| format!("{name} seq"))).collect(),
        (Course::Blocks { sides: [rows, columns] }, _) => {
            let tiles = format!("{} seq({rows}x{columns})", names.join(" + "));
            [tiles].into_iter().chain(names.iter().map(|name| format!("{name} seq"))).collect()
        }
        (Course::Intervals { side }, _) => {
            let tiles = in_steps().map(|line| format!("{line}({side}x{side})"));
            tiles.chain(names.iter().map(|name| format!("{name} seq"))).collect()
        }
        (Course::Prefix { part }, _) => in_steps().map(|line| format!("{line}({part})")).collect(),
        (Course::Rows, _) => names.iter().map(|name| format!("{name} seq")).collect(),
        (Course::Table | Course::Twin | Course::Window { .. } | Course::Tiles { .. }, _) => {
            let together = others().collect::<Vec<_>>().join(", ");
            let in_tiles = |[rows, columns]: [u32; 2]| in_steps().map(move |line| format!("{line}({rows}x{columns})"));
            let tiles = match course {
                Course::Tiles { sides } => Some(in_tiles(sides)),
                Course::Table
                | Course::Twin
                | Course::Window { .. }
                | Course::Loops
                | Course::Rows
                | Course::Blocks { .. }
                | Course::Intervals { .. }
                | Course::Prefix { .. } => None,
            };
            let lanes = (!together.is_empty()).then(|| format!("{together} lanes"));
            in_steps().chain(tiles.into_iter().flatten()).chain(lanes).collect()
        }
    };
    for (table, steps) in system.tables.iter().zip(&system.order.steps) {
        let name = &func.vars[table.array].name;
        lines.push(match (course, steps.window) {
            (Course::Window { .. }, Some(window)) => format!("keep {name} window({window})"),
            (Course::Window { .. }, None) => format!("keep {name} window"),
            (Course::Tiles { .. }, _) => format!("keep {name} window(2)"),
            (Course::Rows, _) => format!("keep {name} rows(1)"),
            (Course::Twin, _) => format!("keep {name} twin"),
            (
                Course::Table
                | Course::Loops
                | Course::Blocks { .. }
                | Course::Intervals { .. }
                | Course::Prefix { .. },
                _,
            ) => format!("keep {name} table"),
        });
        if matches!(course, Course::Tiles { .. } | Course::Rows) {
            lines.push(format!("narrow {name} int8 difference"));
        }
    }
    if let Course::Window { narrow, profile } = course {
        let tables = system.tables.iter().map(|table| format!("narrow {} tried", func.vars[table.array].name));
        lines.extend(tables.filter(|_| narrow));
        lines.extend(profile.then(|| "stage profile".to_owned()));
    }
    lines
}

/// The courses of a system that differ in their lines: where steps have one cell, their order is that of loops.
pub(super) fn all(func: &Func, system: &System) -> Vec<Course> {
    let of_loops = lines(func, system, Course::Loops);
    let pairs = matches!(&system.tables[..], [table] if table.index.len() == 2);
    let planes = system.tables.iter().all(|table| table.index.len() == 2);
    let line = matches!(&system.tables[..], [table] if table.index.len() == 1);
    let differs = |course: &Course| match course {
        Course::Loops => true,
        Course::Prefix { .. } => line,
        Course::Tiles { .. } | Course::Rows => pairs,
        Course::Intervals { .. } => pairs && system.order.nest.as_ref().is_some_and(|nest| nest.flips == [-1, 1]),
        Course::Blocks { .. } | Course::Twin => planes,
        Course::Table | Course::Window { .. } => lines(func, system, *course) != of_loops,
    };
    Course::ALL.into_iter().filter(differs).collect()
}

/// The sides of tiles at the end of a line: `i + j seq(1024x4096)`.
fn sides(line: &str) -> Option<[u32; 2]> {
    let (_, sides) = line.strip_suffix(')')?.rsplit_once('(')?;
    let (rows, columns) = sides.split_once('x')?;
    let side = |text: &str| text.parse().ok().filter(|side| SIDES.contains(side));
    Some([side(rows)?, side(columns)?])
}

/// The length of parts at the end of a line: `k seq(4096)`.
fn part(line: &str) -> Option<Course> {
    let (_, part) = line.strip_suffix(')')?.rsplit_once('(')?;
    let part = part.parse().ok().filter(|part| SIDES.contains(part))?;
    Some(Course::Prefix { part })
}

/// The functions that an entry runs.
pub fn reached(program: &Program, entry: FuncId) -> OrdSet<FuncId> {
    let (mut seen, mut work) = (OrdSet::from([entry]), vec![entry]);
    while let Some(id) = work.pop() {
        work.extend(called(&program.funcs[id].body).into_iter().filter(|callee| seen.insert(*callee)));
    }
    seen
}

/// Pins courses for the uses in an entry; says which lines are no way of a use.
pub fn pin(program: &mut Program, entry: FuncId, pins: &[CourseLines]) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    let reach = reached(program, entry);
    // Functions of tables have a system of their own, and those that it uses.
    let mut systems: OrdMap<String, Vec<(FuncId, System)>> = OrdMap::new();
    for id in &reach {
        let recur = program.funcs[*id].recur.iter();
        for system in recur.flat_map(|recur| &recur.systems) {
            systems.entry(name(&program.funcs[*id], system)).or_default().push((*id, system.clone()));
        }
    }
    for (at, pin) in pins.iter().enumerate() {
        if pins[..at].iter().any(|other| other.tables == pin.tables) {
            let headline = format!("`{}` has two ways", pin.tables);
            wrong.push(Diagnostic::new(Code::MalformedPlan, pin.span, headline).label("again"));
            continue;
        }
        let Some(of_tables) = systems.get(&pin.tables) else {
            wrong.push(unknown(&program.funcs[entry].name, pin, systems.keys()));
            continue;
        };
        let (id, system) = &of_tables[0];
        let func = &program.funcs[*id];
        let with_sides = |sides: [u32; 2]| {
            let square = (sides[0] == sides[1]).then_some(Course::Intervals { side: sides[0] });
            [Course::Tiles { sides }, Course::Blocks { sides }].into_iter().chain(square)
        };
        let tiles = pin.lines.iter().filter_map(|line| sides(line)).flat_map(with_sides);
        let parts = pin.lines.iter().filter_map(|line| part(line));
        let courses = all(func, system).into_iter().chain(tiles).chain(parts);
        let course = courses.into_iter().find(|course| lines(func, system, *course) == pin.lines);
        let Some(course) = course else {
            let shown = |course: &Course| format!("\n  {}", lines(func, system, *course).join("\n  "));
            let known: Vec<String> = all(func, system).iter().map(shown).collect();
            let headline = format!("`{}` has no way with these lines", pin.tables);
            let diagnostic = Diagnostic::new(Code::UnfitPlan, pin.span, headline).label("these lines");
            wrong.push(diagnostic.help(format!("its ways have the lines{}", known.join("\nor"))));
            continue;
        };
        let tables = names(func, system);
        let uses = |user: FuncId| {
            let called = called(&program.funcs[user].body);
            of_tables.iter().any(|(id, _)| called.contains(id))
        };
        let users: Vec<Span> = reach.iter().filter(|user| uses(**user)).map(|user| program.funcs[*user].span).collect();
        for user in users {
            program.courses.push(PinnedCourse { user, tables: tables.clone(), course, span: pin.span });
        }
    }
    wrong
}

fn unknown<'a>(entry: &str, pin: &CourseLines, known: impl Iterator<Item = &'a String>) -> Diagnostic {
    let headline = format!("`{entry}` does not use the recurrence `{}`", pin.tables);
    let diagnostic = Diagnostic::new(Code::UnfitPlan, pin.span, headline).label("a way for nothing");
    match near::suggest(&pin.tables, known.map(String::as_str)) {
        Some(near) => diagnostic.suggest(pin.span, format!("recurrence {near}"), "it uses one of a similar name"),
        None => diagnostic,
    }
}

/// The course that is pinned for a system that a function uses.
pub(super) fn pinned(program: &Program, (id, user): (FuncId, FuncId), system: &System) -> Option<PinnedCourse> {
    let tables = names(&program.funcs[id], system);
    let user = program.funcs[user].span;
    program.courses.iter().find(|pinned| pinned.user == user && pinned.tables == tables).cloned()
}

/// Functions that several entries use, of which not all have the same ways pinned.
pub fn shared(program: &Program) -> Vec<Diagnostic> {
    let mut wrong: Vec<Diagnostic> = Vec::new();
    for pinned in &program.courses {
        let of = |entry: FuncId| reached(program, entry).iter().any(|id| program.funcs[*id].span == pinned.user);
        let entries = program.entries.iter().filter(|entry| of(**entry)).count();
        let is_same = |other: &&PinnedCourse| {
            (other.user, &other.tables, other.course) == (pinned.user, &pinned.tables, pinned.course)
        };
        if program.courses.iter().filter(is_same).count() < entries {
            let headline = format!("this way of `{}` is not that of all entries", pinned.tables.join(", "));
            let diagnostic = Diagnostic::new(Code::UnfitPlan, pinned.span, headline).label("pinned for one entry");
            let diagnostic = diagnostic.also(pinned.user, "this function is used by other entries as well");
            wrong.push(diagnostic.help("pin the same way for each of them"));
        }
    }
    wrong
}

/// Uses in which a schedule that the program asks for cannot be the order of the cells, or a course that is pinned cannot be taken.
pub fn unfit(program: &Program) -> Vec<Diagnostic> {
    let pins = |id: FuncId, system: usize| program.funcs[id].recur.as_ref()?.systems.get(system)?.order.pinned;
    let systems = |id: FuncId| program.funcs[id].recur.as_ref().map_or(0, |recur| recur.systems.len());
    let is_pinned = program.funcs.ids().any(|id| (0..systems(id)).any(|system| pins(id, system).is_some()));
    if !is_pinned && program.courses.is_empty() {
        return Vec::new();
    }
    let (mut unfit, mut wrong) = (Vec::new(), Vec::new());
    for made in super::transformed(&mut program.clone(), false) {
        if let Some(pin) = pins(made.tables, made.system)
            && made.way.is_by_demand()
            && !unfit.iter().any(|(known, _)| *known == pin)
        {
            unfit.push((pin, made.span));
        }
        wrong.extend(refused(&made));
    }
    let diagnostic = |(pin, user)| {
        Diagnostic::new(Code::UnfitDirective, pin, "this schedule cannot be honoured")
            .label("a cell may fault, and the first fault is that of plain recursion")
            .also(user, "used here")
            .help("exclude faults by conditions: on data that are indices, divisors and what is converted; or leave the directive out")
    };
    unfit.into_iter().map(diagnostic).chain(wrong).collect()
}

fn refused(made: &Made) -> Option<Diagnostic> {
    let (pinned, unmet) = made.unmet.as_ref()?;
    let headline = format!("`{}` cannot be computed in this way", pinned.tables.join(", "));
    let mut diagnostic = Diagnostic::new(Code::UnfitPlan, pinned.span, headline)
        .label("this way")
        .also(made.span, "used here")
        .help(NOW);
    diagnostic.notes.push(format!("constraint `{}`: {}", unmet.id(), unmet.text()));
    Some(diagnostic)
}

#[cfg(test)]
mod tests {
    use super::super::Unmet;

    #[test]
    fn the_registry_has_what_ways_demand() {
        let registry = include_str!("../../../../../docs/design/plan.md");
        let (_, after) =
            registry.split_once("| constraint | of the way is demanded that |\n|---|---|\n").expect("the table");
        let rows: Vec<&str> = after.lines().take_while(|line| line.starts_with('|')).collect();
        let expected = Unmet::ALL.map(|unmet| format!("| `{}` | {} |", unmet.id(), unmet.text()));
        assert_eq!(rows, expected);
    }
}
