//! Tables and calls from `par`.

use hidp_ir::par::{Block, Map, Place, Var, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};

use super::Recurrence;
use super::model::{Dependence, Model, Table, Work};
use super::sample::{Assignment, SIZES};
use crate::context::{Context, Position};
use crate::linear::{AtomId, AtomKey, Interval, Lin};
use crate::rename::Renamer;
use crate::walk::{Client, Use, Walker};

/// Collects the calls of a body.
struct Reader<'a> {
    /// Arrays of the system, each with the number of its table.
    arrays: &'a OrdMap<VarId, usize>,
    caller: usize,
    /// Indices, and positions of maps: they take every value of their range.
    positions: OrdSet<AtomId>,
    calls: Vec<Dependence>,
}

impl Client for Reader<'_> {
    fn place(&mut self, cx: &mut Context<'_>, place: &mut Place, how: Use, _conditional: bool) {
        let (Some(&callee), Use::Read) = (self.arrays.get(&place.array), how) else { return };
        let at: Vec<Lin> = place.index.iter().map(|index| cx.lin(index)).collect();
        let names = cx.env.iter().filter_map(|(var, value)| Some((value.as_atom()?, cx.vars[*var].name.clone())));
        let names = names.collect();
        let path = cx.facts.clone();
        let plain = |lins: &[Lin]| lins.iter().flat_map(Lin::atoms).all(|atom| self.is_plain(cx, atom));
        let data = !plain(&at);
        let certain = cx.vague == 0 && !data && plain(&path);
        self.calls.push(Dependence {
            span: place.span,
            caller: self.caller,
            callee,
            at,
            path,
            within: Vec::new(),
            inside: false,
            certain,
            data,
            dead: false,
            distance: None,
            names,
            pairs: None,
        });
    }

    fn enter_map(&mut self, _cx: &mut Context<'_>, _map: &Map, positions: &[Position], _conditional: bool) {
        self.positions.extend(positions.iter().map(|position| position.atom));
    }
}

impl Reader<'_> {
    /// Whether an atom is a size, an index, or what follows from such.
    fn is_plain(&self, cx: &Context<'_>, atom: AtomId) -> bool {
        let all = |lins: &[Lin]| lins.iter().flat_map(Lin::atoms).all(|atom| self.is_plain(cx, atom));
        match cx.atoms.key(atom) {
            AtomKey::Var(_) => true,
            AtomKey::Fresh(_) => self.positions.contains(&atom),
            AtomKey::Extreme(..) | AtomKey::Load(..) | AtomKey::Turns(..) => false,
            AtomKey::Op(_, _, operands) => all(operands),
        }
    }
}

impl<'f> Model<'f> {
    /// The tables of a system. Inputs do not change while it runs.
    pub(super) fn tables(vars: &'f Arena<VarId, Var>, tables: &[Recurrence<'_>]) -> Model<'f> {
        let mut cx = Context::new(vars);
        // What fails in one lane of a vector does not stop the others.
        cx.map_depth = 1;
        cx.loads_anyway = true;
        let is_input = |var: &Var| var.kind == VarKind::Param(Direction::Input);
        cx.constant_arrays = vars.iter().filter(|(_, var)| is_input(var)).map(|(id, _)| id).collect();
        cx.enter_params(&tables.iter().map(|table| table.array).collect(), false);
        let mut model = Model { cx, tables: Vec::new(), calls: Vec::new(), groups: Vec::new(), work: Work::default() };
        for table in tables {
            let table = model.enter_table(table);
            model.tables.push(table);
        }
        model.groups = (0..tables.len()).map(|table| model.group(table)).collect();
        model
    }

    /// The tables and calls of a system.
    pub(super) fn read(vars: &'f Arena<VarId, Var>, tables: &[Recurrence<'_>]) -> Model<'f> {
        let mut model = Model::tables(vars, tables);
        let arrays: OrdMap<VarId, usize> =
            tables.iter().enumerate().map(|(number, table)| (table.array, number)).collect();
        for (caller, table) in tables.iter().enumerate() {
            let positions = model.tables[caller].index.iter().copied().collect();
            let mut reader = Reader { arrays: &arrays, caller, positions, calls: Vec::new() };
            model.walk_body(caller, table, &mut table.body.clone(), &mut reader);
            model.calls.extend(reader.calls);
        }
        for call in 0..model.calls.len() {
            model.place(call);
        }
        model
    }

    /// The first table with the same names of indices.
    fn group(&self, table: usize) -> usize {
        let names = &self.tables[table].names;
        self.tables.iter().position(|other| other.names == *names).unwrap_or(table)
    }

    /// A table's indices and what is known of them.
    fn enter_table(&mut self, table: &Recurrence<'_>) -> Table {
        let cx = &mut self.cx;
        let (first_atom, known) = (cx.atoms.mark(), cx.facts.clone());
        let (mut index, mut bounds, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for iter in table.index {
            let (low, high) = (cx.lin(&iter.lo), cx.lin(&iter.hi));
            let last = high.offset(-1).unwrap_or_else(|| Lin::constant(i64::MAX.into()));
            let range =
                |lin: &Lin| cx.atoms.lin_range(lin).unwrap_or(Interval { lo: i64::MIN.into(), hi: i64::MAX.into() });
            let (first, end) = (range(&low).lo.max(i64::MIN.into()), range(&last).hi.min(i64::MAX.into()));
            let atom = cx.atoms.fresh(Interval { lo: first, hi: end.max(first) });
            let value = Lin::atom(atom);
            cx.fact_opt(value.sub(&low));
            cx.fact_opt(last.sub(&value));
            cx.env.insert(iter.var, value);
            index.push(atom);
            bounds.push([low, last]);
            names.push(cx.vars[iter.var].name.clone());
        }
        let facts = std::mem::replace(&mut cx.facts, known);
        Table { names, index, bounds, facts, first_atom }
    }

    /// Walks the body of a table for a cell of its domain.
    pub(super) fn walk_body(
        &mut self,
        number: usize,
        table: &Recurrence<'_>,
        body: &mut Block,
        client: &mut dyn Client,
    ) {
        let empty = Context::new(self.cx.vars);
        let mut cx = std::mem::replace(&mut self.cx, empty);
        let known = std::mem::replace(&mut cx.facts, self.tables[number].facts.clone());
        let index = &self.tables[number].index;
        cx.env = table.index.iter().zip(index).map(|(iter, &atom)| (iter.var, Lin::atom(atom))).collect();
        let mut walker = Walker::within(cx, client);
        walker.block(body);
        let Walker { cx, .. } = walker;
        self.cx = cx;
        self.cx.facts = known;
    }

    /// Where the called cell lies.
    fn place(&mut self, number: usize) {
        let call = &self.calls[number];
        let (table, at) = (self.tables[call.callee].clone(), call.at.clone());
        let own = self.tables[call.caller].index.iter().zip(&at);
        let apart = |(&index, at): (&AtomId, &Lin)| i64::try_from(Lin::atom(index).sub(at)?.as_constant()?).ok();
        let same_arity = self.tables[call.caller].index.len() == at.len();
        let distance = if same_arity { own.map(apart).collect() } else { None };
        let mut renamer = Renamer::new(table.first_atom, []);
        for (&index, value) in table.index.iter().zip(&at) {
            renamer.set(index, value.clone());
        }
        let mut bounds = Vec::new();
        for (value, [low, last]) in at.iter().zip(&table.bounds) {
            let (low, last) = (renamer.lin(&mut self.cx, low), renamer.lin(&mut self.cx, last));
            bounds.push(low.and_then(|low| value.sub(&low)));
            bounds.push(last.and_then(|last| last.sub(value)));
        }
        let mut within: Vec<Lin> = bounds.iter().flatten().cloned().collect();
        for fact in &table.facts {
            if fact.atoms().any(|atom| atom >= table.first_atom) {
                within.extend(renamer.lin(&mut self.cx, fact));
            }
        }
        within.dedup();
        let dead = self.never_runs(number);
        // Proved without being known, then known.
        let inside = bounds.iter().all(|bound| bound.as_ref().is_some_and(|bound| self.proves(number, &[], bound)));
        let call = &mut self.calls[number];
        (call.distance, call.dead, call.inside, call.within) = (distance, dead, inside, within);
    }

    /// Whether a call contradicts what is known where it stands.
    fn never_runs(&mut self, number: usize) -> bool {
        let path = self.calls[number].path.clone();
        let runs = SIZES.iter().any(|&sizes| !self.assignments(&[], &path, &Assignment::new(), sizes, 1).is_empty());
        !runs && self.refutes(number, &path)
    }
}
