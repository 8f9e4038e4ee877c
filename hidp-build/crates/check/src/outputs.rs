//! Which outputs are certainly written in full before anything reads them. The others are treated as `inout`.

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{
    BinOp, Block, CallArg, Expr, ExprKind, Fold, FoldKind, Func, FuncId, Iter, Map, Piece, Place, Program, SectionDim,
    Stmt, StmtKind, Target, VarId, VarKind,
};
use hidp_syntax::ast::{self, Direction};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::prim::Prim;

use super::functions::leaves;
use super::shape;
use super::turns;

mod elements;
mod own;

/// Turns array outputs that may keep old elements into `inout`, with a warning.
///
/// Nothing is said of an output that `params`, the header, declares as `partial`, unless its old elements are read.
pub(super) fn settle(program: &mut Program, id: FuncId, params: &[ast::Param], sink: &mut Sink) {
    let kept = kept(program, id, Calls::Whole);
    let func = &program.funcs[id];
    let partial = func.params.iter().zip(params).filter(|(_, param)| param.partial).map(|(var, _)| *var);
    let partial: OrdSet<VarId> = partial.collect();
    for (var, reason) in kept {
        let known = &mut program.funcs[id].vars[var];
        known.kind = VarKind::Param(Direction::Inout);
        let why = match reason {
            Reason::Read => "may be read before it is written",
            Reason::Left | Reason::Part if partial.contains(&var) => continue,
            Reason::Left => "is not written where the function returns early",
            Reason::Part => "is not certainly written in full",
        };
        let headline = format!("output `{}` {why}, so it is treated as `inout`", known.name);
        let diagnostic = Diagnostic::new(Code::OutputKept, known.span, headline)
            .label("keeps old elements")
            .help(format!("declare it in an `inout` list, or start with `{} = 0;`", known.name));
        sink.push(match reason {
            Reason::Read => diagnostic,
            Reason::Left | Reason::Part => {
                diagnostic.help("`partial output` says that elements which are not written are to stay as they are")
            }
        });
    }
}

/// What is known to be written by calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// Whole arrays.
    Whole,
    /// Sections, too, which make up an array.
    Sections,
}

/// The array outputs that may keep old elements, and why.
pub(super) fn kept(program: &Program, id: FuncId, calls: Calls) -> Vec<(VarId, Reason)> {
    let func = &program.funcs[id];
    let outputs: Vec<VarId> = func
        .params
        .iter()
        .copied()
        .filter(|var| func.vars[*var].kind == VarKind::Param(Direction::Output) && func.vars[*var].is_array())
        .collect();
    let (now, needed) = (Written::default(), OrdMap::new());
    let mut walk = Walk { program, func, calls, outputs: outputs.clone(), now, kept: needed };
    walk.block(&func.body);
    let kept = outputs.into_iter().filter_map(|var| match walk.kept.get(&var) {
        Some(reason) => Some((var, *reason)),
        None => (!walk.now.full.contains(&var)).then_some((var, Reason::Part)),
    });
    let mut kept: Vec<(VarId, Reason)> = kept.collect();
    if !kept.is_empty() && !leaves(&func.body) {
        // Parts that several statements write, such as the first element and the rest.
        let sections = (calls == Calls::Sections).then_some(program);
        let done = own::done_by(func, sections);
        kept.retain(|(var, _)| !done.full.contains(var) || done.unexplained.contains(var));
    }
    kept
}

/// Why the old elements of an output are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Read while they may be old.
    Read,
    /// The function ends early.
    Left,
    /// No statement is known to write all.
    Part,
}

/// Outputs that are written.
#[derive(Clone, Default)]
struct Written {
    /// All elements.
    full: OrdSet<VarId>,
    /// All elements with some constant subscripts: the array, which dimensions have one, and which constants they are.
    parts: OrdMap<(VarId, Vec<bool>), OrdSet<Vec<i128>>>,
}

impl Written {
    /// What both have written.
    fn and(mut self, other: &Written) -> Written {
        self.full.retain(|var| other.full.contains(var));
        for (array, parts) in &mut self.parts {
            let there = other.parts.get(array);
            parts.retain(|part| other.full.contains(&array.0) || there.is_some_and(|there| there.contains(part)));
        }
        self
    }
}

/// Constants beyond which a dimension counts as too long to be covered by them.
const MOST_CONSTANTS: i128 = 1 << 12;

struct Walk<'a> {
    program: &'a Program,
    func: &'a Func,
    calls: Calls,
    outputs: Vec<VarId>,
    /// What is written on every path to here.
    now: Written,
    /// Needed before that.
    kept: OrdMap<VarId, Reason>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) {
        for (at, stmt) in block.stmts.iter().enumerate() {
            self.stmt(stmt, &block.stmts[..at]);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, earlier: &[Stmt]) {
        self.note_reads(stmt);
        match &stmt.kind {
            StmtKind::If { then, otherwise, .. } => {
                // A branch that returns leaves the outputs as they are there.
                self.branches(|walk| walk.block(then), |walk| walk.block(otherwise));
            }
            StmtKind::Store { place, .. } => self.place(place, &[], &[]),
            StmtKind::Map(map) => {
                let sections = (self.calls == Calls::Sections).then_some(self.program);
                let done = own::done(self.func, sections, map);
                self.reads(&done.unexplained);
                self.map(map, &mut Vec::new());
                let outputs = done.full.into_iter().filter(|var| self.outputs.contains(var));
                self.now.full.extend(outputs);
            }
            StmtKind::Call { callee, args } => self.call(*callee, args),
            StmtKind::Prim(call) => self.prim(call),
            StmtKind::Scope(block) => {
                if !leaves(block) {
                    self.block(block);
                }
            }
            StmtKind::Leave => {
                // What is not full where the function ends early is kept.
                let open: Vec<VarId> =
                    self.outputs.iter().copied().filter(|var| !self.now.full.contains(var)).collect();
                open.into_iter().for_each(|var| self.keep(var, Reason::Left));
            }
            StmtKind::Loop(node) => {
                let before = self.now.clone();
                self.block(&node.body);
                self.block(&node.step);
                self.now = before;
                // What all turns together have written is there after the last one.
                if let Some(turns) = turns::of(node, earlier) {
                    self.body(&node.body, &mut vec![&turns.iter]);
                }
            }
            StmtKind::Swap(a, b) => {
                // The other name would take old elements along.
                for var in [a, b] {
                    if self.outputs.contains(var) && !self.now.full.contains(var) {
                        self.keep(*var, Reason::Read);
                    }
                }
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Require { .. } => {}
        }
    }

    /// Notes outputs that this statement reads while they are not full. Compound statements look at their parts themselves.
    fn note_reads(&mut self, stmt: &Stmt) {
        let mut reads = Vec::new();
        match &stmt.kind {
            StmtKind::If { cond, .. } => visit::walk_expr_vars(cond, |var, _| reads.push(var)),
            StmtKind::Loop(node) => visit::walk_expr_vars(&node.cond, |var, _| reads.push(var)),
            StmtKind::Scope(_) | StmtKind::Swap(..) | StmtKind::Map(_) => {}
            StmtKind::Call { callee, args } => {
                for (position, arg) in args.iter().enumerate() {
                    let direction = hidp_ir::par::effects::argument_direction(self.program, *callee, position);
                    if let (CallArg::Array(var), true) = (arg, direction != Some(Direction::Output)) {
                        reads.push(*var);
                    }
                    if let CallArg::Section(section) = arg {
                        if direction != Some(Direction::Output) {
                            reads.push(section.array);
                        }
                        section.dims.iter().for_each(|dim| reads_of_dim(dim, &mut reads));
                    }
                    if let CallArg::Value(value) = arg {
                        visit::walk_expr_vars(value, |var, _| reads.push(var));
                    }
                }
            }
            _ => {
                let block = Block { stmts: vec![stmt.clone()] };
                visit::walk_vars(&block, |var, role| {
                    if matches!(role, Role::Read | Role::Update) {
                        reads.push(var);
                    }
                });
            }
        }
        self.reads(&reads);
    }

    fn reads(&mut self, reads: &[VarId]) {
        for var in reads.iter().copied() {
            if self.outputs.contains(&var) && !self.now.full.contains(&var) {
                self.keep(var, Reason::Read);
            }
        }
    }

    fn keep(&mut self, var: VarId, reason: Reason) {
        self.kept.entry(var).or_insert(reason);
    }

    fn map<'m>(&mut self, map: &'m Map, nest: &mut Vec<&'m Iter>) {
        let outer = nest.len();
        nest.extend(&map.iters);
        self.body(&map.body, nest);
        for fold in &map.folds {
            self.fold(fold, nest);
        }
        nest.truncate(outer);
    }

    /// What every iteration of `nest` does.
    fn body<'m>(&mut self, block: &'m Block, nest: &mut Vec<&'m Iter>) {
        for (at, stmt) in block.stmts.iter().enumerate() {
            match &stmt.kind {
                StmtKind::Store { place, .. } => self.place(place, nest, nest),
                StmtKind::Map(inner) => self.map(inner, nest),
                StmtKind::Loop(node) => {
                    if let Some(turns) = turns::of(node, &block.stmts[..at]) {
                        let mut inner: Vec<&Iter> = nest.clone();
                        inner.push(&turns.iter);
                        self.body(&node.body, &mut inner);
                    }
                }
                StmtKind::If { then, otherwise, .. } => {
                    let mut again = nest.clone();
                    self.branches(|walk| walk.body(then, nest), |walk| walk.body(otherwise, &mut again));
                }
                StmtKind::Prim(call) => {
                    if let Some(Target::Element(place)) = &call.result {
                        self.place(place, nest, nest);
                    }
                }
                StmtKind::Call { callee, args } if self.calls == Calls::Sections => self.sections(*callee, args, nest),
                _ => {}
            }
        }
    }

    /// What both ways write is written.
    fn branches(&mut self, then: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        let before = self.now.clone();
        then(self);
        let after_then = std::mem::replace(&mut self.now, before);
        otherwise(self);
        self.now = std::mem::take(&mut self.now).and(&after_then);
    }

    fn fold(&mut self, fold: &Fold, nest: &[&Iter]) {
        let Target::Element(place) = &fold.target else { return };
        let reduce = fold.kind == FoldKind::Reduce;
        let free: Vec<&Iter> = nest.iter().copied().filter(|iter| !reduce || !fold.over.contains(&iter.var)).collect();
        self.place(place, &free, &free);
    }

    /// A store in every iteration of `nest` writes the whole array if each dimension is indexed by an iterator of its own over
    /// all indices, and no other iterator can be empty. Variables of loops that count are iterators here. With constants for some dimensions it writes a part; all parts make the array.
    fn place(&mut self, place: &Place, nest: &[&Iter], all: &[&Iter]) {
        if !place.path.is_empty() || !self.outputs.contains(&place.array) {
            return;
        }
        let shape = &self.func.vars[place.array].shape;
        let mut used: Vec<VarId> = Vec::new();
        let (mut constants, mut count) = (Vec::new(), 1);
        for (index, extent) in place.index.iter().zip(shape) {
            if let (Some(at), Some(extent)) = (index.as_int(), extent.as_int()) {
                if !(0..extent).contains(&at) {
                    return;
                }
                constants.push(at);
                count *= extent.clamp(0, MOST_CONSTANTS + 1);
                if count > MOST_CONSTANTS {
                    return;
                }
                continue;
            }
            let Some(var) = turns::variable(index) else { return };
            let Some(iter) = nest.iter().find(|iter| iter.var == var) else { return };
            if used.contains(&var) || !covers(iter, extent) {
                return;
            }
            used.push(var);
        }
        let others_run = all.iter().all(|iter| used.contains(&iter.var) || certainly_runs(iter));
        if !others_run {
            return;
        }
        let which = place.index.iter().map(|index| index.as_int().is_some()).collect();
        let parts = self.now.parts.entry((place.array, which)).or_default();
        parts.insert(constants);
        if parts.len() as i128 == count {
            self.now.full.insert(place.array);
        }
    }

    fn call(&mut self, callee: FuncId, args: &[CallArg]) {
        for (param, arg) in self.program.funcs[callee].params.iter().zip(args) {
            let output = self.program.funcs[callee].vars[*param].kind == VarKind::Param(Direction::Output);
            if let (CallArg::Array(var), true) = (arg, output)
                && self.outputs.contains(var)
            {
                self.now.full.insert(*var);
            }
        }
    }

    /// Calls in every iteration of `nest` that write sections write the whole array if all of each dimension is in them.
    fn sections(&mut self, callee: FuncId, args: &[CallArg], nest: &[&Iter]) {
        for (position, arg) in args.iter().enumerate() {
            let direction = hidp_ir::par::effects::argument_direction(self.program, callee, position);
            let (CallArg::Section(section), Some(Direction::Output)) = (arg, direction) else { continue };
            let shape = &self.func.vars[section.array].shape;
            let mut used = Vec::new();
            let whole = section.dims.iter().zip(shape).all(|(dim, extent)| match dim {
                SectionDim::Range { low, high, step } => {
                    low.as_int() == Some(0) && step.as_int() == Some(1) && shape::same(high, extent)
                }
                SectionDim::At(at) => uses(at, nest, &mut used, |iter| covers(iter, extent)),
                SectionDim::Piece(piece) => uses(&piece.at, nest, &mut used, |iter| numbers_all(iter, piece, extent)),
            });
            let others_run = nest.iter().all(|iter| used.contains(&iter.var) || certainly_runs(iter));
            if whole && others_run && self.outputs.contains(&section.array) {
                self.now.full.insert(section.array);
            }
        }
    }

    fn prim(&mut self, call: &hidp_ir::par::PrimCall) {
        use hidp_ir::par::Extent;
        let moves = match call.prim {
            Prim::Scan | Prim::Exscan | Prim::Sort | Prim::Partition | Prim::Reverse => true,
            Prim::Min | Prim::Max | Prim::Reduce => false,
            Prim::ReverseInplace | Prim::Histogram => return,
        };
        // As many elements as are moved, or one for each segment.
        let written = match (&call.extent, moves) {
            (Extent::Whole { size }, true) => size.clone(),
            (Extent::Regular { seg_size, num_seg }, true) => Expr::long(BinOp::Mul, seg_size.clone(), num_seg.clone()),
            (Extent::Regular { num_seg, .. }, false) => num_seg.clone(),
            (Extent::Vectors { low, .. }, false) => low.len.clone(),
            (Extent::Vectors { .. }, true) | (Extent::Segment { .. }, _) | (Extent::Whole { .. }, false) => return,
        };
        let values = call.values.as_ref().and_then(|(_, out)| out.as_ref());
        for out in call.output.iter().chain(values) {
            let shape = &self.func.vars[out.array].shape;
            let complete = shape.len() == 1
                && out.prefix.is_empty()
                && out.offset.as_int() == Some(0)
                && shape::same(&written, &shape[0]);
            if complete && self.outputs.contains(&out.array) {
                self.now.full.insert(out.array);
            }
        }
    }
}

/// What the subscripts of a section read.
fn reads_of_dim(dim: &SectionDim, reads: &mut Vec<VarId>) {
    let mut look = |value: &Expr| visit::walk_expr_vars(value, |var, _| reads.push(var));
    match dim {
        SectionDim::At(at) => look(at),
        SectionDim::Range { low, high, step } => [low, high, step].into_iter().for_each(look),
        SectionDim::Piece(piece) => [&piece.at, &piece.length].into_iter().for_each(look),
    }
}

fn covers(iter: &Iter, extent: &Expr) -> bool {
    iter.lo.as_int() == Some(0) && iter.step.as_int() == Some(1) && shape::same(&iter.hi, extent)
}

/// Whether `at` is an iterator of `nest` for which `fits` holds, and which is not in `used` yet.
fn uses(at: &Expr, nest: &[&Iter], used: &mut Vec<VarId>, fits: impl Fn(&Iter) -> bool) -> bool {
    let ExprKind::Read(var) = at.kind else { return false };
    let found = nest.iter().any(|iter| iter.var == var && fits(iter)) && !used.contains(&var);
    used.push(var);
    found
}

/// Whether an iterator numbers all pieces.
fn numbers_all(iter: &Iter, piece: &Piece, extent: &Expr) -> bool {
    if iter.lo.as_int() != Some(0) || iter.step.as_int() != Some(1) {
        return false;
    }
    if !piece.by {
        return shape::same(&iter.hi, &piece.length);
    }
    // (extent + length - 1) / length
    let ExprKind::Binary { op: BinOp::Div, left, right, .. } = &iter.hi.kind else { return false };
    let rounded = shape::sub(&shape::add(extent, &piece.length), &Expr::int(1, extent.span));
    shape::same(right, &piece.length) && shape::same(left, &rounded)
}

fn certainly_runs(iter: &Iter) -> bool {
    shape::difference(&iter.hi, &iter.lo).is_some_and(|count| count > 0)
}
