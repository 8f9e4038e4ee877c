//! Collects the accesses of a map and the maps in it, and has them judged when the outermost one ends.

use std::rc::Rc;

use crate::Doubt;
use crate::context::{Context, Position};
use crate::linear::{AtomId, Interval, Lin};
use crate::walk::{Client, Use};
use hidp_ir::par::effects::argument_direction;
use hidp_ir::par::visit::{walk_stmts, walk_vars};
use hidp_ir::par::{
    ArrayRef, Block, CallArg, Extent, Fold, FoldKind, FuncId, Map, Piece, Place, PrimCall, PrimValue, Program, Section,
    SectionDim, Stmt, StmtKind, VarId,
};
use hidp_syntax::ast::{Direction, PieceWay};
use hidp_syntax::diag::Sink;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::prim::Prim;
use hidp_syntax::source::Span;

use super::pair::{self, Findings};
use super::report;

/// A map around an access.
#[derive(Debug)]
pub(super) struct Frame {
    /// Different for every map.
    pub map: usize,
    /// Opaque values of an iteration are made from here on.
    pub first_atom: AtomId,
    /// Its iterators.
    pub positions: Vec<Position>,
    /// Their source positions.
    pub iter_spans: Vec<Span>,
    /// Whether an iteration of the enclosing map may leave it out.
    pub conditional: bool,
    /// The iterators that each of its folds folds over (none for scans, which write in every iteration).
    pub folds: Vec<Vec<VarId>>,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Reads.
    Read,
    /// Writes, or reads and writes.
    Write,
    /// Updates indivisibly.
    Atomic,
}

/// A primitive that accesses its segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Primitive {
    /// Different for every call.
    pub call: usize,
    /// Where its segments start: equal ones are the same elements. `None` if they are not this iteration's own.
    pub region: Option<Vec<Lin>>,
}

/// An access to elements of an array that lives outside some enclosing map.
#[derive(Debug)]
pub(super) struct Accessed {
    /// Number of its place; `None` for what has no place of its own.
    pub number: Option<usize>,
    /// Number of the call of a primitive whose segments it touches.
    pub call: Option<usize>,
    /// The array.
    pub array: VarId,
    /// One subscript a dimension.
    pub index: Vec<Lin>,
    /// Whether `index` is one element, not any of a range.
    pub exact: bool,
    /// Field of the element.
    pub path: Vec<u32>,
    /// What it does.
    pub doing: Doing,
    /// All that is known at it.
    pub facts: Vec<Lin>,
    /// The maps around it, outermost first.
    pub chain: Vec<Rc<Frame>>,
    /// From this map inward nothing makes it conditional.
    pub unconditional_from: usize,
    /// For a fold: the iterators of the innermost map that it folds over.
    pub fold_over: Option<Vec<VarId>>,
    /// The primitive that makes it.
    pub prim: Option<Primitive>,
    /// Where it stands.
    pub span: Span,
}

/// What is shared in an outermost map.
#[derive(Debug)]
pub(super) struct Judged {
    /// Places that are shared.
    pub shared: OrdSet<usize>,
    /// Calls of primitives whose segments are.
    pub shared_calls: OrdSet<usize>,
    /// Why they are.
    pub doubts: Vec<Doubt>,
    /// Arrays of which the map does nothing but store elements.
    stored: OrdSet<VarId>,
    /// The places of these.
    stores: OrdSet<usize>,
}

impl Judged {
    /// Whether an array is shared that is only stored to.
    pub(super) fn shares_stores(&self) -> bool {
        !self.shared.is_disjoint(&self.stores)
    }

    /// Stores are not shared if they are not where divisions succeed.
    pub(super) fn free_stores(&mut self, where_divided: &Judged) {
        let is_kept = |place: &usize| where_divided.shared.contains(place) || !self.stores.contains(place);
        self.shared.retain(is_kept);
        self.doubts.retain(|doubt| {
            let of_same = |other: &Doubt| (other.array, other.map) == (doubt.array, doubt.map);
            !self.stored.contains(&doubt.array) || where_divided.doubts.iter().any(of_same)
        });
    }
}

/// Collects and judges.
pub(super) struct Recorder<'a> {
    program: &'a Program,
    sink: &'a mut Sink,
    /// Whether divisions count as successful.
    divided: bool,
    /// What came of each outermost map.
    pub judged: Vec<Judged>,
    places: usize,
    maps: usize,
    prims: usize,
    calls: usize,
    chain: Vec<Rc<Frame>>,
    /// How many maps are around the declaration of a local array.
    levels: OrdMap<VarId, usize>,
    accesses: Vec<Accessed>,
    /// Arrays with places that are read.
    loaded: OrdSet<VarId>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(program: &'a Program, sink: &'a mut Sink, divided: bool) -> Self {
        Recorder {
            program,
            sink,
            divided,
            judged: Vec::new(),
            loaded: OrdSet::new(),
            places: 0,
            maps: 0,
            prims: 0,
            calls: 0,
            chain: Vec::new(),
            levels: OrdMap::new(),
            accesses: Vec::new(),
        }
    }

    fn level(&self, array: VarId) -> usize {
        self.levels.get(&array).copied().unwrap_or(0)
    }

    /// The maps whose iterations share the array; `None` if there are none.
    fn shared_chain(&self, array: VarId) -> Option<Vec<Rc<Frame>>> {
        (self.level(array) < self.chain.len()).then(|| self.chain.clone())
    }

    fn unconditional_from(&self, conditional: bool) -> usize {
        if conditional {
            return self.chain.len();
        }
        let mut from = self.chain.len() - 1;
        while from > 0 && !self.chain[from].conditional {
            from -= 1;
        }
        from
    }

    /// Arrays of which single elements are stored and nothing else happens, and the places that do.
    fn stored(&mut self, accesses: &[Accessed]) -> (OrdSet<VarId>, OrdSet<usize>) {
        let mut others = std::mem::take(&mut self.loaded);
        others.extend(accesses.iter().filter(|access| access.number.is_none()).map(|access| access.array));
        let stores = || accesses.iter().filter(|access| !others.contains(&access.array));
        (stores().map(|access| access.array).collect(), stores().filter_map(|access| access.number).collect())
    }

    /// Elements `[low, high)` of the last dimension, or any if unknown, after `prefix`.
    fn region(&mut self, cx: &mut Context<'_>, array: &ArrayRef, bounds: Option<[Lin; 2]>, doing: Doing) {
        let Some(chain) = self.shared_chain(array.array) else { return };
        let mut index: Vec<Lin> = array.prefix.iter().map(|index| cx.lin(index)).collect();
        let facts = cx.facts.len();
        let offset = cx.lin(&array.offset);
        let region = bounds.is_some().then(|| index.iter().chain([&offset]).cloned().collect());
        let bounds = bounds.and_then(|[low, high]| Some([offset.add(&low)?, offset.add(&high)?]));
        index.push(element_between(cx, bounds));
        let access = Accessed {
            number: None,
            call: Some(self.calls - 1),
            array: array.array,
            index,
            exact: false,
            path: Vec::new(),
            doing,
            facts: cx.facts.clone(),
            unconditional_from: chain.len(),
            chain,
            fold_over: None,
            prim: Some(Primitive { call: self.prims, region }),
            span: array.span,
        };
        cx.facts.truncate(facts);
        self.accesses.push(access);
    }

    fn whole_array(&mut self, cx: &mut Context<'_>, array: VarId, doing: Doing, prim: Option<Primitive>, span: Span) {
        let Some(chain) = self.shared_chain(array) else { return };
        let rank = cx.vars[array].shape.len();
        let index = (0..rank).map(|_| element_between(cx, None)).collect();
        self.accesses.push(Accessed {
            number: None,
            call: None,
            array,
            index,
            exact: false,
            path: Vec::new(),
            doing,
            facts: cx.facts.clone(),
            unconditional_from: chain.len(),
            chain,
            fold_over: None,
            prim,
            span,
        });
    }

    /// A primitive, if a function gives one its parameter.
    fn primitive_inside(&mut self, callee: FuncId, position: usize) -> Option<Primitive> {
        self.prims += 1;
        gives_to_primitive(self.program, callee, position).then_some(Primitive { call: self.prims - 1, region: None })
    }

    fn section(&mut self, cx: &mut Context<'_>, section: &Section, doing: Doing, prim: Option<Primitive>) {
        let Some(chain) = self.shared_chain(section.array) else { return };
        let facts = cx.facts.len();
        let mut index = Vec::new();
        for (position, dim) in section.dims.iter().enumerate() {
            index.push(match dim {
                SectionDim::At(at) => cx.lin(at),
                SectionDim::Range { low, high, step: _ } => {
                    let bounds = [low, high].map(|bound| cx.lin(bound));
                    element_between(cx, Some(bounds))
                }
                SectionDim::Piece(piece) => element_of_piece(cx, piece, section.array, position),
            });
        }
        let access = Accessed {
            number: None,
            call: None,
            array: section.array,
            index,
            exact: false,
            path: Vec::new(),
            doing,
            facts: cx.facts.clone(),
            unconditional_from: chain.len(),
            chain,
            fold_over: None,
            prim,
            span: section.span,
        };
        cx.facts.truncate(facts);
        self.accesses.push(access);
    }
}

/// Whether a function, or one that it calls, gives its parameter to a primitive. No function calls itself.
fn gives_to_primitive(program: &Program, callee: FuncId, position: usize) -> bool {
    let Some(func) = program.funcs.get(callee) else { return true };
    let Some(&param) = func.params.get(position) else { return true };
    let mut found = false;
    walk_stmts(&func.body, |stmt| {
        if let StmtKind::Prim(_) = &stmt.kind {
            let one = Block { stmts: vec![stmt.clone()] };
            walk_vars(&one, |var, _| found |= var == param);
        }
        if let StmtKind::Call { callee, args } = &stmt.kind {
            for (position, arg) in args.iter().enumerate() {
                found |= passed_array(arg) == Some(param) && gives_to_primitive(program, *callee, position);
            }
        }
    });
    found
}

fn passed_array(arg: &CallArg) -> Option<VarId> {
    match arg {
        CallArg::Array(array) => Some(*array),
        CallArg::Section(section) => Some(section.array),
        CallArg::Value(_) | CallArg::Scalar(_) | CallArg::Element(_) => None,
    }
}

/// The iterators whose iterations together write one element of the fold's target.
fn written_once_for_all(fold: &Fold) -> Vec<VarId> {
    match fold.kind {
        FoldKind::Reduce => fold.over.clone(),
        FoldKind::Scan | FoldKind::Exscan => Vec::new(),
    }
}

/// What is known, and that the access happens: its index is inside the array.
fn facts_inside(cx: &Context<'_>, array: VarId, index: &[Lin]) -> Vec<Lin> {
    let mut facts = cx.facts.clone();
    for (index, extent) in index.iter().zip(cx.extents.get(&array).into_iter().flatten()) {
        facts.push(index.clone());
        facts.extend(extent.sub(index).and_then(|lin| lin.offset(-1)));
    }
    facts
}

/// Some index in `[low, high)`, about which facts are added.
fn element_between(cx: &mut Context<'_>, bounds: Option<[Lin; 2]>) -> Lin {
    let range = Interval { lo: i64::MIN.into(), hi: i64::MAX.into() };
    let element = Lin::atom(cx.atoms.fresh(range));
    if let Some([low, high]) = bounds {
        cx.fact_opt(element.sub(&low));
        cx.fact_opt(high.sub(&element).and_then(|lin| lin.offset(-1)));
    }
    element
}

/// Some index in a piece of a dimension. Products here are of whole numbers, not of `long`: what is behind the last piece is empty.
fn element_of_piece(cx: &mut Context<'_>, piece: &Piece, array: VarId, dim: usize) -> Lin {
    let element = element_between(cx, None);
    let (at, length) = (cx.lin(&piece.at), cx.lin(&piece.length));
    cx.fact(at.clone());
    cx.fact_opt(length.offset(-1));
    cx.fact(element.clone());
    let extent = cx.extents.get(&array).and_then(|extents| extents.get(dim)).cloned();
    cx.fact_opt(extent.as_ref().and_then(|extent| extent.sub(&element)?.offset(-1)));
    match (piece.way, piece.by) {
        (PieceWay::Adjacent, true) => between_multiples(cx, &element, &at, &length),
        (PieceWay::Adjacent, false) => {
            if let Some(extent) = extent {
                let elements = cx.piece_length(&extent, &length);
                between_multiples(cx, &element, &at, &elements);
            }
        }
        (PieceWay::Strided, _) => {
            // The element is `at` plus a multiple of the number of pieces, which `at` is below.
            cx.fact_opt(element.sub(&at));
            cx.fact_opt(length.sub(&at).and_then(|lin| lin.offset(-1)));
        }
    }
    element
}

/// `at * length <= element < at * length + length`
fn between_multiples(cx: &mut Context<'_>, element: &Lin, at: &Lin, length: &Lin) {
    let rest = at.mul(length).and_then(|low| element.sub(&low));
    cx.fact_opt(rest.as_ref().and_then(|rest| length.sub(rest)?.offset(-1)));
    cx.fact_opt(rest);
}

impl Client for Recorder<'_> {
    fn place(&mut self, cx: &mut Context<'_>, place: &mut Place, how: Use, conditional: bool) {
        let number = self.places;
        self.places += 1;
        let Some(chain) = self.shared_chain(place.array) else { return };
        let index: Vec<Lin> = place.index.iter().map(|index| cx.lin(index)).collect();
        if matches!(how, Use::Read | Use::ReadWrite | Use::Atomic) {
            self.loaded.insert(place.array);
        }
        let (doing, fold_over) = match how {
            Use::Read => (Doing::Read, None),
            Use::Write | Use::ReadWrite => (Doing::Write, None),
            Use::Atomic => (Doing::Atomic, None),
            Use::Fold(fold) => {
                let over = self.chain.last().and_then(|frame| frame.folds.get(fold)).cloned();
                (Doing::Write, Some(over.unwrap_or_default()))
            }
        };
        self.accesses.push(Accessed {
            number: Some(number),
            call: None,
            array: place.array,
            exact: true,
            path: place.path.clone(),
            doing,
            facts: facts_inside(cx, place.array, &index),
            index,
            chain,
            // A function may leave alone what it is given to write.
            unconditional_from: self.unconditional_from(conditional || how == Use::ReadWrite),
            fold_over,
            prim: None,
            span: place.span,
        });
    }

    fn declare(&mut self, _cx: &mut Context<'_>, var: VarId) {
        self.levels.insert(var, self.chain.len());
    }

    fn enter_map(&mut self, cx: &mut Context<'_>, map: &Map, positions: &[Position], conditional: bool) {
        cx.divisions_succeed = self.divided;
        let first_atom = positions.iter().map(|position| position.atom).min().unwrap_or(cx.atoms.mark());
        self.chain.push(Rc::new(Frame {
            map: self.maps,
            first_atom,
            positions: positions.to_vec(),
            iter_spans: map.iters.iter().map(|iter| iter.span).collect(),
            conditional,
            folds: map.folds.iter().map(written_once_for_all).collect(),
        }));
        self.maps += 1;
    }

    fn leave_map(&mut self, cx: &mut Context<'_>, _map: &Map) {
        self.chain.pop();
        if self.chain.is_empty() {
            let accesses = std::mem::take(&mut self.accesses);
            let levels = std::mem::take(&mut self.levels);
            let findings = pair::judge(cx, &accesses, &levels);
            cx.divisions_succeed = false;
            report::report(cx, &findings, self.sink);
            let (stored, stores) = self.stored(&accesses);
            let Findings { shared, shared_calls, doubts, conflicts: _ } = findings;
            self.judged.push(Judged { shared, shared_calls, doubts, stored, stores });
            self.levels = levels;
        }
    }

    fn prim(&mut self, cx: &mut Context<'_>, call: &mut PrimCall, _conditional: bool) {
        self.calls += 1;
        if self.chain.is_empty() {
            return;
        }
        let bounds = match &call.extent {
            Extent::Whole { .. } | Extent::Regular { .. } => None,
            Extent::Segment { low, high } => Some([cx.lin(low), cx.lin(high)]),
            Extent::Vectors { low, high } => {
                for vector in [low, high] {
                    self.region(cx, vector, None, Doing::Read);
                }
                None
            }
        };
        if let Some(PrimValue::Array(pivots)) = &call.pivot {
            self.region(cx, pivots, None, Doing::Read);
        }
        let in_place = (call.output.is_none() && call.result.is_none()) || call.prim == Prim::ReverseInplace;
        let input = if in_place { Doing::Write } else { Doing::Read };
        self.region(cx, &call.input, bounds.clone(), input);
        if let Some(output) = &call.output {
            // Results of whole segments and bins lie elsewhere than the elements.
            let same = matches!(call.prim, Prim::Scan | Prim::Exscan | Prim::Sort | Prim::Partition | Prim::Reverse);
            self.region(cx, output, bounds.clone().filter(|_| same), Doing::Write);
        }
        if let Some((values, values_out)) = &call.values {
            self.region(cx, values, bounds.clone(), Doing::Read);
            if let Some(values_out) = values_out {
                self.region(cx, values_out, bounds, Doing::Write);
            }
        }
        if let Some((low, high)) = call.new_bounds {
            for array in [low, high] {
                self.whole_array(
                    cx,
                    array,
                    Doing::Write,
                    Some(Primitive { call: self.prims, region: Some(Vec::new()) }),
                    call.span,
                );
            }
        }
        self.prims += 1;
    }

    fn call(&mut self, cx: &mut Context<'_>, stmt: &Stmt, _conditional: bool) {
        let StmtKind::Call { callee, args } = &stmt.kind else { return };
        if self.chain.is_empty() {
            return;
        }
        for (position, arg) in args.iter().enumerate() {
            let doing = match argument_direction(self.program, *callee, position) {
                Some(Direction::Input) => Doing::Read,
                Some(Direction::Output | Direction::Inout) | None => Doing::Write,
            };
            match arg {
                CallArg::Value(_) | CallArg::Scalar(_) | CallArg::Element(_) => {}
                CallArg::Array(array) => {
                    let prim = self.primitive_inside(*callee, position);
                    self.whole_array(cx, *array, doing, prim, stmt.span);
                }
                CallArg::Section(section) => {
                    let prim = self.primitive_inside(*callee, position);
                    self.section(cx, section, doing, prim);
                }
            }
        }
    }
}
