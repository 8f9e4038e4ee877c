//! Recurrences that an entry uses: their domains, the order of their cells, and how they are computed.

use hidp_build::compiler::pipeline::{PipelineInput, front};
use hidp_ir::par::{Func, Iter, Program, Steps, System, Table, row_text, text, visit};
use hidp_pass::recurrences::{self, Fate, Made, Wants};
use hidp_syntax::diag::Sink;
use hidp_syntax::ordered::OrdMap;

/// What passes made of the uses in a program.
pub(super) struct Recurrences {
    /// The program as checked; none where it uses no recurrence.
    program: Option<Program>,
    made: Vec<Made>,
}

impl Recurrences {
    pub(super) fn of(input: &PipelineInput) -> Recurrences {
        let program = front(input, &mut Sink::new());
        let program = program.filter(|program| program.funcs.iter().any(|(_, func)| func.recur.is_some()));
        let made = program.as_ref().map(recurrences::recurrences).unwrap_or_default();
        Recurrences { program, made }
    }

    /// The ways that are taken, as a file that pins them has them; none of those of which uses have different ones, or that no lines say.
    pub(super) fn pin(&self, entry: &str) -> Vec<String> {
        let Some(program) = &self.program else { return Vec::new() };
        let mut taken: OrdMap<String, Vec<Vec<String>>> = OrdMap::new();
        for made in self.of_entry(program, entry) {
            let func = &program.funcs[made.tables];
            let Some(system) = func.recur.as_ref().and_then(|recur| recur.systems.get(made.system)) else { continue };
            let lines = made.way.pin().map(|course| recurrences::lines(func, system, course)).unwrap_or_default();
            taken.entry(recurrences::name(func, system)).or_default().push(lines);
        }
        let alike = taken.into_iter().filter(|(_, all)| !all[0].is_empty() && all.iter().all(|lines| *lines == all[0]));
        let indented = |lines: &Vec<String>| lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>();
        alike.flat_map(|(name, all)| [vec![format!("recurrence {name}")], indented(&all[0])].concat()).collect()
    }

    /// What was made of the uses in an entry, itself or functions that it calls.
    fn of_entry(&self, program: &Program, entry: &str) -> Vec<&Made> {
        let found = program.entries.iter().copied().find(|id| program.funcs[*id].name == entry);
        let reached = found.map(|id| recurrences::reached(program, id)).unwrap_or_default();
        self.made.iter().filter(|made| reached.contains(&made.user)).collect()
    }

    /// Lines about those that an entry uses, itself or by functions that it calls.
    pub(super) fn lines(&self, entry: &str) -> Vec<String> {
        let Some(program) = &self.program else { return Vec::new() };
        let mut lines: Vec<String> = Vec::new();
        for made in self.of_entry(program, entry) {
            let func = &program.funcs[made.tables];
            let Some(system) = func.recur.as_ref().and_then(|recur| recur.systems.get(made.system)) else { continue };
            let mut about = described(program, func, system);
            let what = wanted(made.wants);
            let mut how: Vec<String> = made.text(program, system).lines().map(|line| format!("    {line}")).collect();
            about.push(format!("  {what}:"));
            about.append(&mut how);
            about.push("    ways where no cell faults:".to_owned());
            about.extend(made.fates.iter().map(|(course, fate)| {
                let lines = recurrences::lines(func, system, *course).join(", ");
                match fate {
                    Fate::Chosen => format!("      chosen: {lines}"),
                    Fate::Possible => format!("      possible: {lines}"),
                    Fate::Forbidden(unmet) => format!("      [{}] {lines}: expected that {}", unmet.id(), unmet.text()),
                }
            }));
            let about = about.join("\n");
            if !lines.contains(&about) {
                lines.push(about);
            }
        }
        lines
    }
}

/// What a use needs.
fn wanted(wants: Wants) -> String {
    let parts = |cells: usize, folds: usize| {
        let cells = match cells {
            0 => None,
            1 => Some("one cell".to_owned()),
            _ => Some(format!("{cells} cells")),
        };
        let folds = match folds {
            0 => None,
            1 => Some("a fold of all cells".to_owned()),
            _ => Some(format!("{folds} folds of all cells")),
        };
        [cells, folds].into_iter().flatten().collect::<Vec<_>>()
    };
    match wants {
        Wants::Tables => "whole table".to_owned(),
        Wants::Cells(cells) => parts(cells, 0).join(""),
        Wants::Folds(folds) => parts(0, folds).join(""),
        Wants::Field { bytes, cells, folds } => {
            let plural = if bytes == 1 { "" } else { "s" };
            let field = format!("a field of all cells, kept by steps ({bytes} byte{plural} per cell)");
            [vec![field], parts(cells, folds)].concat().join(", ")
        }
    }
}

/// The domain of each table, the cells that one of its cells needs, and the steps.
fn described(program: &Program, func: &Func, system: &System) -> Vec<String> {
    let mut lines = Vec::new();
    for (table, steps) in system.tables.iter().zip(&system.order.steps) {
        let range = |iter: &Iter| {
            let [lo, hi] = [&iter.lo, &iter.hi].map(|bound| text::hidp_expr(program, &func.vars, bound));
            format!("{} := [{lo}:{hi})", func.vars[iter.var].name)
        };
        let ranges: Vec<String> = table.index.iter().map(range).collect();
        let names: Vec<&str> = table.index.iter().map(|iter| func.vars[iter.var].name.as_str()).collect();
        lines.push(format!("{}({})", func.vars[table.array].name, ranges.join(", ")));
        lines.push(format!("  needs: {}", needed(program, func, system, table)));
        lines.push(format!("  {}", ordered(steps, &names, system)));
    }
    lines
}

/// The cells that a cell needs, each once, in the order of the program.
fn needed(program: &Program, func: &Func, system: &System, table: &Table) -> String {
    let mut cells: Vec<String> = Vec::new();
    visit::walk_places(&table.body, |place, _| {
        if system.tables.iter().any(|table| table.array == place.array) {
            let index: Vec<String> = place.index.iter().map(|at| text::hidp_expr(program, &func.vars, at)).collect();
            let cell = format!("{}({})", func.vars[place.array].name, index.join(", "));
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    });
    if cells.is_empty() { "none".to_owned() } else { cells.join(", ") }
}

fn ordered(steps: &Steps, names: &[&str], system: &System) -> String {
    let rows: Vec<String> = steps.rows.iter().map(|row| row_text(row, names)).collect();
    let rank = if system.tables.len() > 1 { format!(", number {} in each", steps.rank + 1) } else { String::new() };
    let window = match steps.window {
        Some(window) => format!("; a cell is needed for {window}, its own included"),
        None => "; how long a cell is needed is not known".to_owned(),
    };
    let why = if system.order.pinned.is_some() { ", as the program asks" } else { "" };
    format!("steps: {}{why}{rank}{window}", rows.join(", then "))
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Wanted, entries};
    use super::*;
    use crate::testing::{input, optimised};
    use hidp_build::compiler::pipeline::{InputFile, Options};
    use hidp_plan::target::{DeviceModel, Model};
    use hidp_plan::{Models, PinFile, check_pins};

    /// Lines of tables of unlike sizes, short ones or those with a side in common, and linear recurrences, which long tables have in parts.
    #[test]
    fn what_is_printed_as_pins_can_be_pinned() {
        let text = "recurrence int d(i := [0:N], j := [0:M]) input uint8 s[N], t[M];
            { if (i == 0) return int(j); if (j == 0) return int(i);
              return min(min(d(i-1, j), d(i, j-1)) + 1, d(i-1, j-1) + (s[i-1] == t[j-1] ? 0 : 1)); }
            function pairs input uint8 s[Z], t[Y]; input long a[R+1], b[R+1]; output int y[R];
            { map { r := [0:R); y[r] = d(a[r+1] - a[r], b[r+1] - b[r]; s = s[a[r]:a[r+1]), t = t[b[r]:b[r+1])); } }
            recurrence int e(i := [0:N], j := [0:M]) input uint8 s[N], t[M]; input int costs[K][K];
            { if (i == 0 || j == 0) return 0;
              return max(max(e(i-1, j), e(i, j-1)) - 1, e(i-1, j-1) + costs[s[i-1]][t[j-1]]); }
            function words input uint8 s[N], t[Y]; input long b[R+1]; input int costs[K][K]; output int y[R];
            { map { r := [0:R); reduce(\"max\", y[r], e(; t = t[b[r]:b[r+1])), i := [*], j := [*]); } }
            recurrence uint h(i := [0:N)) input uint a[N], b[N];
            { if (i == 0) return b[0]; return a[i] * h(i-1) + b[i]; }
            function line input uint a[N], b[N]; output uint y[N]; { y = h; }
            function step input uint8 s[N], t[M]; output int y; { y = d(N, M) + d(0, 0); }";
        let mut input = input(text, Options::default());
        let pin = |input: &PipelineInput| {
            let (program, wanted) = (optimised(input), Wanted { format: Format::Pin, ..Wanted::default() });
            entries(input, &program, &program.entries, wanted, Err("nobody has one"))
        };
        let printed = pin(&input);
        let with_ways: Vec<&str> = printed
            .split("entry ")
            .filter_map(|entry| entry.split_once("\nrecurrence "))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(with_ways, ["step"], "ways that sizes choose have no lines");
        let plans = input.sources.add("k.plan".to_owned(), printed.clone());
        input.options.pins.push(PinFile { program: input.files[0].id, plans });
        let mut sink = Sink::new();
        let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
        check_pins(&optimised(&input), &input.sources, &input.options.pins, models, &mut sink);
        let wrong: Vec<String> = sink.finish().into_iter().map(|found| found.headline).collect();
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!(pin(&input), printed);
    }

    /// A traceback keeps one field, and 16 bits of another one, of which the best is found.
    #[test]
    fn fields_that_are_kept_have_their_bytes() {
        let text = "struct Cell { long best; uint8 from; }
            recurrence Cell d(i := [0:N], j := [0:M]) input uint8 a[N], b[M];
            { if (i == 0 || j == 0) return Cell{best: 0, from: 0};
              long both = d(i-1, j-1).best + (a[i-1] == b[j-1] ? 1 : 0), one = d(i-1, j).best;
              if (both > one) return Cell{best: both, from: 1}; return Cell{best: one, from: 2}; }
            function f input uint8 a[N], b[M]; output long s;
            { uint8 from[N+1][M+1]; from = d.from; s = d(N, M).best; long i = N, j = M;
              while (i > 0 && j > 0) { uint8 way = from[i][j]; s += way; if (way == 1) j -= 1; i -= 1; } }";
        let mut input = PipelineInput::default();
        let id = input.sources.add("f.hdp".to_owned(), text);
        input.files.push(InputFile { id, stem: "f".to_owned(), imports: Vec::new() });
        let lines = Recurrences::of(&input).lines("f").concat();
        for expected in [
            "  a field of all cells, kept by steps (1 byte per cell), one cell:\n",
            "the last steps are kept (2 * 8 * (M + 1) bytes)\n",
            "cells are kept in 16 bits (2 * 2 * (M + 1) bytes)",
        ] {
            assert!(lines.contains(expected), "{expected}\n{lines}");
        }
    }

    #[test]
    fn an_entry_shows_the_recurrences_that_it_uses() {
        let text = "recurrence int d(i := [0:N], j := [0:M]) input int a[N], b[M];
            { if (i == 0) return j; if (j == 0) return 0; return max(d(i-1, j), d(i, j-1)) / 2 + a[i-1] * b[j-1]; }
            static function inner input int a[N], b[M]; output int s; { s = d(N, M); }
            function f input int a[N], b[M]; output int s; { inner(a, b, s); }
            function g input int a[N]; output int s; { s = 1; }
            function h input int a[N], b[M]; output int T[N+1][M+1]; { T = d; }
            recurrence int e(i := [0:N], j := [0:M]) input uint8 a[N], b[M];
            { if (i == 0 || j == 0) return 0; return max(e(i-1, j), e(i, j-1)) + (a[i-1] == b[j-1] ? 1 : 0); }
            function k input uint8 a[N], b[M]; output int s; { s = e(N, M); }";
        let mut input = PipelineInput::default();
        let id = input.sources.add("f.hdp".to_owned(), text);
        input.files.push(InputFile { id, stem: "f".to_owned(), imports: Vec::new() });
        let known = Recurrences::of(&input);
        let domain = "d(i := [0:N + 1), j := [0:M + 1))\n  needs: d(i - 1, j), d(i, j - 1)\n  steps: i + j; a cell is needed for 2, its own included\n";
        let waves = "where all extents fit `int`: all cells of a step at once;";
        assert_eq!(known.lines("g"), Vec::<String>::new());
        let [ref one] = known.lines("f")[..] else { panic!("{:?}", known.lines("f")) };
        assert!(
            one.starts_with(&format!(
                "{domain}  one cell:\n    {waves} the last steps are kept (2 * 4 * (M + 1) bytes)\n"
            )),
            "{one}"
        );
        assert!(one.contains("\n    otherwise: one cell after the other, since a cell may fault; the table is kept (4 * (N + 1) * (M + 1) bytes)\n"), "{one}");
        let [_, ways] = one.split("    ways where no cell faults:\n").collect::<Vec<_>>()[..] else { panic!("{one}") };
        let fates: Vec<&str> =
            ways.lines().map(|line| line.split(": expected").next().unwrap_or_default().trim()).collect();
        let window = "i + j seq, j lanes, keep d window(2)";
        assert_eq!(
            fates,
            [
                "[difference] i + j seq, i + j seq(4096x4096), j lanes, keep d window(2), narrow d int8 difference",
                "[host] i seq, j seq, keep d rows(1), narrow d int8 difference",
                &format!("[profile] {window}, narrow d tried, stage profile"),
                &format!("[profile] {window}, stage profile"),
                &format!("[narrow] {window}, narrow d tried"),
                &format!("chosen: {window}"),
                "[twin] i + j seq, j lanes, keep d twin",
                "possible: i + j seq, j lanes, keep d table",
                "possible: i + j seq(128x512), i seq, j seq, keep d table",
                "possible: i seq, j seq, keep d table",
            ]
        );
        let pin = ["recurrence d", "  i + j seq", "  j lanes", "  keep d window(2)"];
        assert_eq!((known.pin("f"), known.pin("g")), (pin.map(str::to_owned).to_vec(), Vec::new()));
        let [ref whole] = known.lines("h")[..] else { panic!("{:?}", known.lines("h")) };
        assert!(
            whole.starts_with(&format!(
                "{domain}  whole table:\n    where all extents fit `int`: tiles of 128 x 512 cells, those of a diagonal at once, in each one cell after the other; the table is kept (4 * (N + 1) * (M + 1) bytes)"
            )),
            "{whole}"
        );
        let narrow = "    of the last steps, cells are kept in 16 bits (2 * 2 * (M + 1) bytes) where sizes, scalars and the elements of input arrays show that they fit";
        let shown = |entry: &str| known.lines(entry).iter().any(|lines| lines.lines().any(|line| line == narrow));
        assert_eq!(["f", "h", "k"].map(shown), [false, false, true]);
    }
}
