//! Reads of an iteration that its own earlier writes do not explain.

use hidp_ir::par::effects;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{
    Block, CallArg, Expr, ExprKind, Fold, FoldKind, Func, FuncId, Iter, Loop, Map, PrimCall, Program, Stmt, StmtKind,
    Target, VarId,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::prim::Prim;

use super::elements::{Indices, Written, after_all, element, part};
use super::reads_of_dim;
use crate::shape;
use crate::turns::{self, Turns, changed};

/// What a map does to arrays.
pub(super) struct Done {
    /// Arrays of which iterations read elements that they have not written themselves before.
    pub unexplained: Vec<VarId>,
    /// Arrays of which all elements are written.
    pub full: Vec<VarId>,
}

/// With `sections`, the program, sections that are written by calls count as no reads.
pub(super) fn done(func: &Func, sections: Option<&Program>, map: &Map) -> Done {
    let mut own = Own { func, sections, iters: Vec::new(), written: Vec::new(), reads: Vec::new() };
    own.map(map);
    own.done()
}

/// The same of the statements of a function that does not end early.
pub(super) fn done_by(func: &Func, sections: Option<&Program>) -> Done {
    let mut own = Own { func, sections, iters: Vec::new(), written: Vec::new(), reads: Vec::new() };
    own.block(&func.body);
    own.done()
}

/// Whether `a` is certainly more than `b` by at least so much.
fn least(a: &Expr, b: &Expr, by: i128) -> bool {
    shape::difference(a, b).is_some_and(|more| more >= by)
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
    fn done(self) -> Done {
        let full = self.written.iter().filter(|written| written.is_all(&self.func.vars[written.array].shape));
        Done { full: full.map(|written| written.array).collect(), unexplained: self.reads }
    }

    fn expr(&mut self, expr: &Expr) {
        shape::walk(expr, &mut |e| {
            if let ExprKind::Load(place) = &e.kind {
                self.read(element(place));
            }
        });
    }

    fn read(&mut self, elements: Written) {
        let elements = self.plain(elements);
        if !self.written.iter().any(|written| self.holds(written, &elements)) {
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
        let (all_below, all_above) = (low.as_int() == Some(0), shape::same(high, extent));
        match read {
            Indices::Range(first, behind) => {
                (all_below || least(first, low, 0)) && (all_above || least(high, behind, 0))
            }
            Indices::One(at) => {
                (all_below || self.reaches(at, &|at| least(at, low, 0), &|iter| &iter.lo, 0))
                    && (all_above || self.reaches(at, &|at| least(high, at, 1), &|iter| &iter.hi, -1))
            }
        }
    }

    /// Whether an index, or what it is at an end of the iterators around, is as it should be.
    fn reaches(&self, at: &Expr, fits: &dyn Fn(&Expr) -> bool, end: &dyn Fn(&Iter) -> &Expr, more: i64) -> bool {
        let mut at = at.clone();
        let mut found = fits(&at);
        for iter in self.iters.iter().rev() {
            let var = turns::read(iter.var, at.span);
            if let Some(by) = shape::difference(&at, &var).and_then(|by| i64::try_from(by).ok()) {
                at = shape::add(end(iter), &Expr::int(by + more, at.span));
                found |= fits(&at);
            }
        }
        found
    }

    /// With sums of `long` for those of counting variables.
    fn plain(&self, mut elements: Written) -> Written {
        elements.change(&|at| self.sum(at));
        elements
    }

    fn sum(&self, at: &Expr) -> Expr {
        turns::sum(at, &|var| self.iters.iter().any(|iter| iter.var == var))
    }

    fn counting(&self, iter: &Iter) -> Iter {
        Iter { lo: self.sum(&iter.lo), hi: self.sum(&iter.hi), ..iter.clone() }
    }

    /// Forgets elements that are named by something that gets another value.
    fn forget(&mut self, changed: &[VarId]) {
        self.written.retain(|written| !changed.iter().any(|var| written.mentions(*var)));
    }

    fn learn(&mut self, more: Vec<Written>) {
        more.into_iter().for_each(|written| self.add(written));
    }

    /// Notes elements, and the ranges that they make longer.
    fn add(&mut self, written: Written) {
        if !written.is_in(&self.written) {
            let longer: Vec<Written> = self.written.iter().filter_map(|other| written.joined(other)).collect();
            self.written.push(written);
            self.learn(longer);
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
                    self.add(self.plain(element(place)));
                }
            }
            StmtKind::Atomic { place, value, .. } => {
                place.index.iter().for_each(|index| self.expr(index));
                self.expr(value);
                self.read(element(place));
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
                    self.add(self.plain(element(place)));
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
        let turns = turns::of(node, earlier).map(|turns| Turns { iter: self.counting(&turns.iter), ..turns });
        let mut changed = changed(&node.body);
        changed.extend(turns::changed(&node.step));
        self.forget(&changed);
        let before = self.written.clone();
        self.expr(&node.cond);
        let reads = self.reads.len();
        let mut body = self.turn(&node.body, turns.as_ref());
        if let Some(turns) = turns.as_ref().filter(|_| self.reads.len() > reads) {
            // What this turn writes, turns before it have written at their values.
            let others: Vec<VarId> = changed.iter().copied().filter(|var| *var != turns.iter.var).collect();
            let known = body.iter().filter(|written| !others.iter().any(|var| written.mentions(*var)));
            self.learn(known.filter_map(|written| written.until(turns)).collect());
            self.reads.truncate(reads);
            body = self.turn(&node.body, Some(turns));
        }
        self.written = before;
        self.block(&node.step);
        self.learn(
            turns.iter().flat_map(|turns| body.iter().filter_map(|written| written.after(&turns.iter))).collect(),
        );
        self.forget(&changed);
    }

    /// What is written after a turn.
    fn turn(&mut self, body: &Block, turns: Option<&Turns>) -> Vec<Written> {
        let before = self.written.clone();
        self.iters.extend(turns.map(|turns| turns.iter.clone()));
        self.block(body);
        self.iters.truncate(self.iters.len() - usize::from(turns.is_some()));
        std::mem::replace(&mut self.written, before)
    }

    /// Leaves what all iterations have written.
    fn map(&mut self, map: &Map) {
        for iter in &map.iters {
            [&iter.lo, &iter.hi, &iter.step].into_iter().for_each(|bound| self.expr(bound));
        }
        let outside = self.iters.len();
        self.forget(&changed(&map.body));
        let before = self.written.clone();
        for iter in &map.iters {
            self.iters.push(self.counting(iter));
        }
        self.block(&map.body);
        self.iters.truncate(outside);
        let body = std::mem::replace(&mut self.written, before);
        let iters: Vec<Iter> = map.iters.iter().map(|iter| self.counting(iter)).collect();
        let iters: Vec<&Iter> = iters.iter().collect();
        self.learn(body.iter().filter_map(|written| after_all(written, &iters)).collect());
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
        let whole = place.path.is_empty().then(|| self.plain(element(place)));
        self.learn(whole.and_then(|target| after_all(&target, &free)).into_iter().collect());
    }

    fn prim(&mut self, call: &PrimCall) {
        let block = Block { stmts: vec![Stmt { kind: StmtKind::Prim(Box::new(call.clone())), span: call.span }] };
        let mut places = Vec::new();
        visit::walk_places(&block, |place, role| {
            if matches!(role, Role::Read | Role::Update) {
                places.push(element(place));
            }
        });
        places.into_iter().for_each(|place| self.read(place));
        let updated = call.output.as_ref().filter(|_| call.prim == Prim::Histogram);
        let values = call.values.as_ref().map(|(values, _)| values);
        for array in [Some(&call.input), values, updated].into_iter().flatten() {
            self.read(part(array));
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
                        self.read(element(place));
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
