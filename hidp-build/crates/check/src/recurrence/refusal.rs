//! What is reported where the order of a system's cells is refused.

use hidp_ir::par::{Nest, Order, Steps, System, Var, VarId, row_text};
use hidp_prove::order::{self, Blamed, Refusal, RefusalKind, Witness};
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::index::Arena;
use hidp_syntax::source::Span;

type Vars = Arena<VarId, Var>;

/// The order that is kept: the preferred schedule, and loops if there are such.
pub(super) fn chosen(found: order::Order) -> Order {
    let nest = found.nest.map(|nest| Nest { flips: nest.flips, ranks: nest.ranks });
    let steps = found.schedules.into_iter().next().map(|schedule| schedule.tables).unwrap_or_default();
    let steps = steps.into_iter().map(|table| Steps { rows: table.rows, rank: table.rank, window: table.window });
    Order { steps: steps.collect(), nest, pinned: None }
}

/// The diagnostic of a refusal.
pub(super) fn diagnostic(vars: &Vars, system: &System, refused: &Refusal) -> Diagnostic {
    let Some((first, others)) = refused.calls.split_first() else {
        let span =
            system.tables.first().map_or_else(|| Span::new(hidp_syntax::index::Id::new(0), 0, 0), |table| table.span);
        return Diagnostic::new(Code::UnprovedOrder, span, "no order of the cells is proved");
    };
    let show = Show { vars, system };
    match refused.kind {
        RefusalKind::Cycle => show.cycle(first, others),
        RefusalKind::Unproved | RefusalKind::Pinned => show.unproved(first, others),
        RefusalKind::Outside => show.outside(first),
    }
}

/// A call in a domain that is no box, of which it is not proved that it stays inside.
pub(super) fn perhaps_outside(vars: &Vars, system: &System, call: &order::Call) -> Diagnostic {
    let show = Show { vars, system };
    let name = show.name(call.callee);
    Diagnostic::new(Code::OutsideDomain, call.span, format!("this cell of `{name}` might be outside of its domain"))
        .label("not proved to be inside")
        .also(system.tables[call.callee].span, "its ranges depend on each other, or do not begin with 0")
        .help("guard the use by a condition on the indices, or make the domain a box that begins with 0: that is tested when the program runs")
}

/// Tables with different numbers of indices whose cells need an order of several rows.
pub(super) fn several_rows(vars: &Vars, system: &System) -> Diagnostic {
    let first = &system.tables[0];
    let name = &vars[first.array].name;
    let headline =
        format!("the order of the cells of `{name}` and those that it uses is not supported by this version");
    let mut diagnostic = Diagnostic::new(Code::UnprovedOrder, first.span, headline).label("needs steps within steps");
    for table in &system.tables[1..] {
        diagnostic = diagnostic.also(table.span, "has another number of indices");
    }
    diagnostic.help("give all of them the same indices")
}

/// A schedule that is not proved to be an order of the cells; `found` is what was found without it.
pub(super) fn pinned(
    vars: &Vars,
    system: &System,
    refused: &Refusal,
    (span, word): (Span, &str),
    found: Option<&order::Order>,
) -> Diagnostic {
    let show = Show { vars, system };
    let headline = format!("`{word}` cannot be honoured");
    let mut diagnostic = Diagnostic::new(Code::UnfitDirective, span, headline)
        .label("not proved to compute every cell after those that it needs");
    for call in &refused.calls {
        let text = format!("this cell of `{}` is not proved to be computed in an earlier step", show.name(call.callee));
        diagnostic = diagnostic.also(call.span, text);
    }
    if let Some(first) = refused.calls.first() {
        diagnostic = show.explained(diagnostic, first);
    }
    let proved = found.and_then(|found| found.schedules.first()).and_then(|schedule| schedule.tables.first());
    match proved {
        Some(table) => {
            let names: Vec<&str> = system.tables[0].index.iter().map(|iter| vars[iter.var].name.as_str()).collect();
            let rows: Vec<String> = table.rows.iter().map(|row| row_text(row, &names)).collect();
            let proved = format!("schedule({})", rows.join("; "));
            diagnostic.help(format!("`{proved}` is proved, and found without the directive"))
        }
        None => diagnostic,
    }
}

/// A schedule of several rows that are no loops over the indices.
pub(super) fn steps_in_steps(vars: &Vars, system: &System, (span, word): (Span, &str)) -> Diagnostic {
    let names: Vec<&str> = system.tables[0].index.iter().map(|iter| vars[iter.var].name.as_str()).collect();
    Diagnostic::new(Code::UnfitDirective, span, format!("`{word}` cannot be honoured"))
        .label("steps within steps are possible only as loops over the indices as they are written, alike for all recurrences")
        .help(format!("ask for one sum, or for `schedule({})`", names.join("; ")))
}

struct Show<'a> {
    vars: &'a Vars,
    system: &'a System,
}

impl Show<'_> {
    fn name(&self, table: usize) -> &str {
        &self.vars[self.system.tables[table].array].name
    }

    /// `d(1, 2)`
    fn cell(&self, table: usize, index: &[i128]) -> String {
        let index: Vec<String> = index.iter().map(i128::to_string).collect();
        format!("`{}({})`", self.name(table), index.join(", "))
    }

    fn cycle(&self, first: &Blamed, others: &[Blamed]) -> Diagnostic {
        let (caller, callee) = (self.name(first.caller), self.name(first.callee));
        let mut diagnostic =
            Diagnostic::new(Code::EndlessRecurrence, first.span, format!("the recurrence `{caller}` never ends"));
        diagnostic = diagnostic.label(if others.is_empty() {
            "this cell needs the one that needs it".to_string()
        } else {
            format!("needs a cell of `{callee}`")
        });
        for call in others {
            diagnostic = diagnostic.also(call.span, format!("which needs a cell of `{}`", self.name(call.callee)));
        }
        self.explained(diagnostic, first)
    }

    fn unproved(&self, first: &Blamed, others: &[Blamed]) -> Diagnostic {
        let callee = self.name(first.callee);
        let headline = format!("this cell of `{callee}` is not proved to be computed earlier");
        let mut diagnostic = Diagnostic::new(Code::UnprovedOrder, first.span, headline);
        diagnostic = diagnostic.label(if first.data { "depends on data" } else { "in no order that was tried" });
        for call in others {
            diagnostic = diagnostic.also(call.span, "together with this one");
        }
        diagnostic = self.explained(diagnostic, first);
        if first.data {
            diagnostic = diagnostic.help("guard the use by a condition that the offset is positive: `if (w[i] > 0) …`");
        }
        diagnostic
    }

    fn outside(&self, first: &Blamed) -> Diagnostic {
        let name = self.name(first.callee);
        let diagnostic = Diagnostic::new(Code::OutsideDomain, first.span, format!("`{name}` has no such cell"))
            .label("outside of the domain");
        let base = self.system.tables[first.callee].index.first().map(|iter| self.vars[iter.var].name.clone());
        let diagnostic = self.explained(diagnostic, first);
        match base {
            Some(base) => {
                diagnostic.help(format!("return the values of border cells first: `if ({base} == 0) return …;`"))
            }
            None => diagnostic,
        }
    }

    fn explained(&self, mut diagnostic: Diagnostic, call: &Blamed) -> Diagnostic {
        if !call.facts.is_empty() {
            let facts: Vec<String> = call.facts.iter().map(|fact| format!("`{fact}`")).collect();
            diagnostic = diagnostic.note(format!("known there: {}", facts.join(", ")));
        }
        if let Some(Witness { values, caller, callee }) = &call.witness {
            let (caller, callee) = (self.cell(call.caller, caller), self.cell(call.callee, callee));
            let values: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let given = if values.is_empty() { String::new() } else { format!(" with {}", values.join(", ")) };
            diagnostic = diagnostic.note(format!("for example {caller} needs {callee}{given}"));
        }
        diagnostic
    }
}
