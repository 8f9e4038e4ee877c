//! From recurrences that belong together to the function that computes their tables.

use hidp_ir::par::{self, Block, Iter, Order, Recur, System, Table, VarId, VarKind};
use hidp_prove::order;
use hidp_syntax::ast::{self, Direction};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;

use super::super::cx::{BodyKind, Cx};
use super::super::directives;
use super::super::items::Globals;
use super::begin::{self, First};
use super::schedule::{self, Schedule};
use super::{Items, refusal};

/// The inputs of all members, each once.
pub(super) fn inputs(globals: &Globals<'_>, items: &Items<'_>, members: &[usize], sink: &mut Sink) -> Vec<ast::Param> {
    let mut params: Vec<ast::Param> = Vec::new();
    for param in members.iter().flat_map(|member| &items[*member].1.params) {
        let Some(known) = params.iter().find(|known| known.name.name == param.name.name) else {
            params.push(param.clone());
            continue;
        };
        let text = |param: &ast::Param| -> Vec<&str> {
            param.dims.iter().map(|dim| globals.sources.snippet(dim.span).trim()).collect()
        };
        if known.ty.name != param.ty.name || text(known) != text(param) {
            let declared = |param: &ast::Param| format!("`{} {}`", param.ty.name, globals.sources.snippet(param.span));
            sink.push(
                Diagnostic::new(
                    Code::DisagreeingSystem,
                    param.span,
                    format!("recurrences that use each other declare `{}` differently", param.name.name),
                )
                .label(declared(param))
                .also(known.span, declared(known))
                .note("they share their inputs: those of one name are one input"),
            );
        }
    }
    params
}

/// A function of tables.
pub(super) struct Checked {
    pub(super) func: par::Func,
    /// The indices of the first element of each table.
    pub(super) first: First,
}

/// Checks the recurrences of `components`, which are in order of use. Gives nothing where something is wrong.
pub(super) fn check(
    globals: &Globals<'_>,
    items: &Items<'_>,
    components: &[Vec<usize>],
    params: &[ast::Param],
    sink: &mut Sink,
) -> Option<Checked> {
    let members: OrdSet<usize> = components.iter().flatten().copied().collect();
    let (first, name) = members.first().map(|member| (items[*member].0, items[*member].1.name.clone()))?;
    let mut cx = Cx::new(globals, sink, first, BodyKind::Cell(None));
    let (mut inputs, dims) = cx.header(params);
    let mut contract = true;
    let mut indices: OrdMap<usize, Vec<Iter>> = OrdMap::new();
    let mut schedules: OrdMap<VarId, Schedule> = OrdMap::new();
    let mut first_of = First::new();
    for member in &members {
        let (file, item) = items[*member];
        cx.file = file;
        let (no_contract, unchecked) = directives::of_recurrence(&mut cx, &item.directives, item.span);
        contract &= !no_contract;
        if unchecked {
            cx.refuse_unchecked(item);
        }
        if let Some((array, index, first)) = cx.table(item) {
            inputs.push(array);
            first_of.insert(array, first);
            cx.tables.insert(*member, array);
            schedules.extend(cx.schedule(item, &index).map(|schedule| (array, schedule)));
            indices.insert(*member, index);
        }
    }
    let mut systems = Vec::new();
    for component in components {
        let mut tables = Vec::new();
        for member in component {
            let (file, item) = items[*member];
            cx.file = file;
            let body = cx.cell(item);
            if let (Some(array), Some(index)) = (cx.tables.get(member), indices.get(member)) {
                tables.push(Table { array: *array, index: index.clone(), body, span: item.name.span });
            }
        }
        systems.push(System { tables, order: Order::default() });
    }
    cx.warn_unused(true);
    if cx.failed {
        return None;
    }
    for system in &mut systems {
        let is_pinned = system.tables.iter().any(|table| schedules.contains_key(&table.array));
        system.order = if is_pinned { cx.pinned(system, &schedules)? } else { cx.order(system)? };
    }
    begin::at_zero(&mut systems, &first_of);
    let func = par::Func {
        name: name.name,
        doc: Vec::new(),
        params: inputs,
        dims,
        vars: cx.vars,
        body: Block::default(),
        recur: Some(Box::new(Recur { systems })),
        contract,
        unchecked: false,
        span: name.span,
    };
    Some(Checked { func, first: first_of })
}

impl Cx<'_> {
    fn refuse_unchecked(&mut self, item: &ast::Recurrence) {
        let _: Option<()> = self.error(
            Diagnostic::new(
                Code::MisplacedDirective,
                item.name.span,
                "`unchecked` belongs before a function over arrays",
            )
            .label("a recurrence is part of the functions that use it"),
        );
    }

    /// The array of a recurrence's cells, its indices, and those of its first element.
    fn table(&mut self, item: &ast::Recurrence) -> Option<(VarId, Vec<Iter>, Vec<i64>)> {
        let ty = self.type_name(&item.ty);
        self.push_scope();
        let indices = self.indices(item);
        self.pop_scope();
        let (ty, indices) = (ty?, indices?);
        let (extents, first) = self.extents(&indices)?.into_iter().unzip();
        let array = self.new_var(&item.name.name, ty, extents, VarKind::Param(Direction::Output), item.name.span);
        self.refuse_reserved(&item.name.name, item.name.span);
        Some((array, indices, first))
    }

    /// The body of a recurrence, with its indices in scope.
    fn cell(&mut self, item: &ast::Recurrence) -> Block {
        let ty = self.globals.type_of(self.file, &item.ty.name);
        self.kind = BodyKind::Cell(ty);
        self.assigned = Some(OrdSet::new());
        self.push_scope();
        let known: Vec<VarId> = self.vars.ids().collect();
        for index in &item.index {
            let same = |var: &&VarId| {
                let var = &self.vars[**var];
                var.kind == VarKind::Iter && var.span == index.name.span
            };
            if let Some(var) = known.iter().find(same).copied() {
                self.bind(&index.name.name, var);
            }
        }
        let mut stmts = Vec::new();
        self.stmts(&item.body.stmts, &mut stmts);
        self.pop_scope();
        if self.assigned.is_some() && !self.failed {
            self.missing_return(&item.name.name, item.body.span, item.ty.span, &item.ty.name);
        }
        Block { stmts }
    }

    fn missing_return(&mut self, name: &str, body: Span, ty: Span, ty_name: &str) {
        let end = Span { start: body.end.saturating_sub(1), ..body };
        let _: Option<()> = self.error(
            Diagnostic::new(Code::MissingReturn, end, format!("not every path of `{name}` returns a value"))
                .label("reached without `return`")
                .also(ty, format!("a `{ty_name}` is promised here")),
        );
    }

    /// The proof that the cells have an order.
    fn order(&mut self, system: &System) -> Option<Order> {
        match order::order(&self.vars, &recurrences(system)) {
            Ok(found) => {
                self.inside(system, &found)?;
                let chosen = refusal::chosen(found);
                if chosen.nest.is_none() && chosen.steps.iter().any(|steps| steps.rows.len() != 1) {
                    let diagnostic = refusal::several_rows(&self.vars, system);
                    return self.error(diagnostic);
                }
                Some(chosen)
            }
            Err(refused) => {
                let diagnostic = refusal::diagnostic(&self.vars, system, &refused);
                self.error(diagnostic)
            }
        }
    }

    /// Cells of domains that are no boxes are looked for when the program is compiled.
    fn inside(&mut self, system: &System, found: &order::Order) -> Option<()> {
        let outside = found.calls.iter().find(|call| !call.inside && !system.tables[call.callee].is_box());
        let Some(call) = outside else { return Some(()) };
        let diagnostic = refusal::perhaps_outside(&self.vars, system, call);
        self.error(diagnostic)
    }

    /// The proof that the schedule that the program asks for is an order of the cells.
    fn pinned(&mut self, system: &System, schedules: &OrdMap<VarId, Schedule>) -> Option<Order> {
        let tables: Vec<(VarId, &[Iter])> =
            system.tables.iter().map(|table| (table.array, table.index.as_slice())).collect();
        let own = self.schedules(&tables, schedules)?;
        let span = tables.iter().find_map(|(array, _)| schedules.get(array)).map(|schedule| schedule.span)?;
        let word = self.text(span);
        let rows: Vec<Vec<order::Row>> = own.iter().map(|schedule| schedule.rows.clone()).collect();
        let found = match order::pinned(&self.vars, &recurrences(system), &rows) {
            Ok(found) => found,
            Err(refused) => {
                let found = order::order(&self.vars, &recurrences(system)).ok();
                let diagnostic = refusal::pinned(&self.vars, system, &refused, (span, word), found.as_ref());
                return self.error(diagnostic);
            }
        };
        self.inside(system, &found)?;
        let ranks = found.schedules[0].tables.iter().map(|table| table.rank).collect();
        let nest = schedule::nest(&own, ranks);
        if nest.is_none() && rows.iter().any(|rows| rows.len() != 1) {
            let diagnostic = refusal::steps_in_steps(&self.vars, system, (span, word));
            return self.error(diagnostic);
        }
        Some(Order { nest, pinned: Some(span), ..refusal::chosen(found) })
    }
}

fn recurrences(system: &System) -> Vec<order::Recurrence<'_>> {
    let tables = system.tables.iter();
    tables.map(|table| order::Recurrence { array: table.array, index: &table.index, body: &table.body }).collect()
}
