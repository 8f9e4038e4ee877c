//! Reads of an iteration that its own earlier writes do not explain.

use hidp_ir::par::effects;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{
    ArrayRef, Block, CallArg, Expr, ExprKind, Fold, FoldKind, Func, FuncId, Iter, Loop, Map, Place, PrimCall, Program,
    Stmt, StmtKind, Target, VarId,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::prim::Prim;

use super::{certainly_runs, reads_of_dim};
use crate::shape;
use crate::turns;

/// The arrays of which iterations of `map` read elements that they have not written themselves before.
///
/// With `sections`, the program, sections that are written by calls count as no reads.
pub(super) fn unexplained(func: &Func, sections: Option<&Program>, map: &Map) -> Vec<VarId> {
    let mut own = Own { func, sections, iters: Vec::new(), written: Vec::new(), reads: Vec::new() };
    own.map(map);
    own.reads
}

/// Indices of one dimension.
#[derive(Clone)]
enum Indices {
    One(Expr),
    /// From the first one to before the second.
    Range(Expr, Expr),
}

impl Indices {
    fn exprs(&self) -> Vec<&Expr> {
        match self {
            Indices::One(at) => vec![at],
            Indices::Range(low, high) => vec![low, high],
        }
    }

    fn same(&self, other: &Indices) -> bool {
        let (these, those) = (self.exprs(), other.exprs());
        these.len() == those.len() && these.iter().zip(those).all(|(this, that)| shape::same(this, that))
    }

    /// What is written after all iterations of `iter`, if that is known.
    fn after(&self, iter: &Iter) -> Option<Indices> {
        match self {
            Indices::One(at) if turns::variable(at) == Some(iter.var) => {
                (iter.step.as_int() == Some(1)).then(|| Indices::Range(iter.lo.clone(), iter.hi.clone()))
            }
            _ => (!self.mentions(iter.var)).then(|| self.clone()),
        }
    }

    fn mentions(&self, var: VarId) -> bool {
        self.exprs().into_iter().any(|expr| shape::mentions(expr, var))
    }
}

/// Elements that are written on every path.
#[derive(Clone)]
struct Written {
    array: VarId,
    dims: Vec<Indices>,
}

impl Written {
    fn mentions(&self, var: VarId) -> bool {
        self.dims.iter().any(|dim| dim.mentions(var))
    }

    fn is_in(&self, list: &[Written]) -> bool {
        list.iter().any(|other| {
            other.array == self.array && self.dims.iter().zip(&other.dims).all(|(this, that)| this.same(that))
        })
    }

    /// What is written after all iterations of `iter`.
    fn after(&self, iter: &Iter) -> Option<Written> {
        if !self.mentions(iter.var) {
            return certainly_runs(iter).then(|| self.clone());
        }
        let one = self.dims.iter().filter(|dim| dim.mentions(iter.var)).count() == 1;
        let dims: Option<Vec<Indices>> = self.dims.iter().map(|dim| dim.after(iter)).collect();
        dims.filter(|_| one).map(|dims| Written { array: self.array, dims })
    }
}

fn element(place: &Place) -> Written {
    Written { array: place.array, dims: place.index.iter().cloned().map(Indices::One).collect() }
}

fn part(array: &ArrayRef) -> Written {
    let behind = shape::add(&array.offset, &array.len);
    let prefix = array.prefix.iter().cloned().map(Indices::One);
    Written { array: array.array, dims: prefix.chain([Indices::Range(array.offset.clone(), behind)]).collect() }
}

/// What is written after all iterations of `iters`.
fn after_all(written: &Written, iters: &[&Iter]) -> Option<Written> {
    iters.iter().try_fold(written.clone(), |written, iter| written.after(iter))
}

/// Variables that get values in a block, and the iterators of its maps.
fn changed(block: &Block) -> Vec<VarId> {
    let mut vars = Vec::new();
    visit::walk_vars(block, |var, role| vars.extend((role != Role::Read).then_some(var)));
    vars
}

struct Own<'a> {
    func: &'a Func,
    sections: Option<&'a Program>,
    /// The iterators around, and variables of loops that count.
    iters: Vec<Iter>,
    written: Vec<Written>,
    reads: Vec<VarId>,
}

impl Own<'_> {
    fn expr(&mut self, expr: &Expr) {
        shape::walk(expr, &mut |e| {
            if let ExprKind::Load(place) = &e.kind {
                self.read(&element(place));
            }
        });
    }

    fn read(&mut self, elements: &Written) {
        if !self.written.iter().any(|written| self.holds(written, elements)) {
            self.reads.push(elements.array);
        }
    }

    fn holds(&self, written: &Written, read: &Written) -> bool {
        let shape = &self.func.vars[read.array].shape;
        let mut dims = written.dims.iter().zip(&read.dims).zip(shape);
        written.array == read.array && dims.all(|((written, read), extent)| self.within(read, written, extent))
    }

    /// Whether all indices `read` are in `written`. Every access is inside of the extent.
    fn within(&self, read: &Indices, written: &Indices, extent: &Expr) -> bool {
        let (low, high) = match written {
            Indices::One(at) => return matches!(read, Indices::One(read) if shape::same(read, at)),
            Indices::Range(low, high) => (low, high),
        };
        let least = |a: &Expr, b: &Expr, by: i128| shape::difference(a, b).is_some_and(|more| more >= by);
        if low.as_int() == Some(0) && shape::same(high, extent) {
            return true;
        }
        match read {
            Indices::Range(first, behind) => least(first, low, 0) && least(high, behind, 0),
            Indices::One(at) if least(at, low, 0) && least(high, at, 1) => true,
            Indices::One(at) => self.iters.iter().any(|iter| {
                turns::variable(at) == Some(iter.var) && least(&iter.lo, low, 0) && least(high, &iter.hi, 0)
            }),
        }
    }

    /// Forgets elements that are named by something that gets another value.
    fn forget(&mut self, changed: &[VarId]) {
        self.written.retain(|written| !changed.iter().any(|var| written.mentions(*var)));
    }

    fn learn(&mut self, more: impl Iterator<Item = Written>) {
        for written in more {
            if !written.is_in(&self.written) {
                self.written.push(written);
            }
        }
    }

    fn block(&mut self, block: &Block) {
        for (at, stmt) in block.stmts.iter().enumerate() {
            self.stmt(stmt, &block.stmts[..at]);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, earlier: &[Stmt]) {
        match &stmt.kind {
            StmtKind::Assign { var, value } | StmtKind::AssignField { var, value, .. } => {
                self.expr(value);
                self.forget(&[*var]);
            }
            StmtKind::Store { place, value } => {
                place.index.iter().for_each(|index| self.expr(index));
                self.expr(value);
                self.forget(&[place.array]);
                if place.path.is_empty() {
                    self.written.push(element(place));
                }
            }
            StmtKind::Atomic { place, value, .. } => {
                place.index.iter().for_each(|index| self.expr(index));
                self.expr(value);
                self.read(&element(place));
                self.forget(&[place.array]);
            }
            StmtKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.branches(then, otherwise);
            }
            StmtKind::Loop(node) => self.turns(node, earlier),
            StmtKind::Scope(block) => {
                let before = self.written.clone();
                self.block(block);
                self.written = before;
                self.forget(&changed(block));
            }
            StmtKind::Map(inner) => self.map(inner),
            StmtKind::Prim(call) => {
                self.prim(call);
                self.forget(&changed(&Block { stmts: vec![stmt.clone()] }));
                if let Some(Target::Element(place)) = &call.result {
                    self.written.push(element(place));
                }
            }
            StmtKind::Call { callee, args } => {
                self.call(*callee, args);
                self.forget(&changed(&Block { stmts: vec![stmt.clone()] }));
            }
            StmtKind::Return(value) => self.expr(value),
            StmtKind::Require { cond, values, .. } => {
                self.expr(cond);
                values.iter().for_each(|(_, value)| self.expr(value));
            }
            StmtKind::Declare { var, .. } => self.forget(&[*var]),
            StmtKind::Swap(a, b) => {
                self.reads.extend([*a, *b]);
                self.written.retain(|written| written.array != *a && written.array != *b);
                self.forget(&[*a, *b]);
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Leave => {}
        }
    }

    /// What both ways write is written.
    fn branches(&mut self, then: &Block, otherwise: &Block) {
        let before = self.written.clone();
        self.block(then);
        let after_then = std::mem::replace(&mut self.written, before);
        self.block(otherwise);
        self.written.retain(|written| written.is_in(&after_then));
    }

    fn turns(&mut self, node: &Loop, earlier: &[Stmt]) {
        let mut changed = changed(&node.body);
        let fixed = |iter: &Iter| !changed.iter().any(|var| shape::mentions(&iter.hi, *var));
        let iter = turns::of(node, earlier).filter(fixed);
        changed.extend(self::changed(&node.step));
        self.forget(&changed);
        let before = self.written.clone();
        self.expr(&node.cond);
        self.iters.extend(iter.clone());
        self.block(&node.body);
        self.iters.truncate(self.iters.len() - usize::from(iter.is_some()));
        let body = std::mem::replace(&mut self.written, before);
        self.block(&node.step);
        self.learn(iter.iter().flat_map(|iter| body.iter().filter_map(|written| written.after(iter))));
        self.forget(&changed);
    }

    /// Leaves what all iterations have written.
    fn map(&mut self, map: &Map) {
        for iter in &map.iters {
            [&iter.lo, &iter.hi, &iter.step].into_iter().for_each(|bound| self.expr(bound));
        }
        let outside = self.iters.len();
        self.forget(&changed(&map.body));
        let before = self.written.clone();
        self.iters.extend(map.iters.iter().cloned());
        self.block(&map.body);
        self.iters.truncate(outside);
        let body = std::mem::replace(&mut self.written, before);
        let iters: Vec<&Iter> = map.iters.iter().collect();
        self.learn(body.iter().filter_map(|written| after_all(written, &iters)));
        map.folds.iter().for_each(|fold| self.fold(fold, &iters));
    }

    fn fold(&mut self, fold: &Fold, iters: &[&Iter]) {
        fold.op.neutral.iter().for_each(|neutral| self.expr(neutral));
        let place = match &fold.target {
            Target::Scalar(var) => return self.forget(&[*var]),
            Target::Element(place) => place,
        };
        place.index.iter().for_each(|index| self.expr(index));
        self.forget(&[place.array]);
        let free: Vec<&Iter> = match fold.kind {
            FoldKind::Reduce => iters.iter().copied().filter(|iter| !fold.over.contains(&iter.var)).collect(),
            FoldKind::Scan | FoldKind::Exscan => iters.to_vec(),
        };
        let whole = place.path.is_empty().then(|| element(place));
        self.written.extend(whole.and_then(|target| after_all(&target, &free)));
    }

    fn prim(&mut self, call: &PrimCall) {
        let block = Block { stmts: vec![Stmt { kind: StmtKind::Prim(Box::new(call.clone())), span: call.span }] };
        let mut places = Vec::new();
        visit::walk_places(&block, |place, role| {
            if matches!(role, Role::Read | Role::Update) {
                places.push(element(place));
            }
        });
        places.iter().for_each(|place| self.read(place));
        let updated = call.output.as_ref().filter(|_| call.prim == Prim::Histogram);
        let values = call.values.as_ref().map(|(values, _)| values);
        for array in [Some(&call.input), values, updated].into_iter().flatten() {
            self.read(&part(array));
        }
    }

    /// What a call is given but does not only write.
    fn call(&mut self, callee: FuncId, args: &[CallArg]) {
        for (position, arg) in args.iter().enumerate() {
            let direction = self.sections.map(|program| effects::argument_direction(program, callee, position));
            let reads = direction != Some(Some(Direction::Output));
            match arg {
                CallArg::Value(value) => self.expr(value),
                CallArg::Scalar(_) => {}
                CallArg::Array(array) => self.reads.extend(reads.then_some(*array)),
                CallArg::Element(place) => {
                    place.index.iter().for_each(|index| self.expr(index));
                    if reads {
                        self.read(&element(place));
                    }
                }
                CallArg::Section(section) => {
                    self.reads.extend(reads.then_some(section.array));
                    section.dims.iter().for_each(|dim| reads_of_dim(dim, &mut self.reads));
                }
            }
        }
    }
}
