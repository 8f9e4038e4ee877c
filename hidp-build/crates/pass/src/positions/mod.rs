//! `positions`: prefix sums of stored flags become sums of what sets the flags, so that what they place can be packed.
//!
//! ```text
//! map { i := [0:N); flag[i] = c ? 1 : 0; }                map { i := [0:N); _f = c ? 1 : 0; } exscan("+", at[i], _f, i := [*]);
//! exscan("+", flag, at, N);                         →     map { i := [0:N); _g = c ? 1 : 0; if (c) y[at[i]] = x[i]; }
//! map { i := [0:N); if (flag[i] == 1) y[at[i]] = x[i]; }      reduce("+", total, _g, i := [*]);
//! count = at[N-1] + flag[N-1];                            count = total;
//! ```
//!
//! Nothing else may use the flags or the positions. Where the last element may not be there, its test is kept.

mod totals;

use hidp_ir::par::effects::{Effects, expr_may_fault, has_sure_extents, may_fault, may_jump};
use hidp_ir::par::visit::{self, child_blocks_mut};
use hidp_ir::par::{
    Access, BinOp, Block, Directives, Expr, ExprKind, Extent, Fold, FoldFn, FoldKind, FoldOp, Func, FuncId, Iter, Map,
    Place, PrimCall, Program, Stmt, StmtKind, Target, Var, VarId, VarKind, same,
};
use hidp_syntax::index::Arena;
use hidp_syntax::prim::Prim;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::Pass;
use totals::{Totals, converted, is_total};

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "positions",
    about: "sums what sets stored flags, where only a map that places by the prefix sums uses them",
    run,
};

fn run(program: &mut Program) {
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for id in funcs {
        let whole = program.funcs[id].clone();
        let mut vars = whole.vars.clone();
        let mut body = whole.body.clone();
        Positions { program, whole: &whole, vars: &mut vars }.block(&mut body);
        program.funcs[id] = Func { vars, body, ..whole };
    }
}

struct Positions<'a> {
    program: &'a Program,
    /// The function as it was.
    whole: &'a Func,
    vars: &'a mut Arena<VarId, Var>,
}

/// The prefix sum of flags by a primitive.
struct Sum {
    flag: VarId,
    places: VarId,
    size: Expr,
    op: FoldOp,
    exclusive: bool,
    span: Span,
}

/// What sets a flag in an iteration.
struct Flags {
    iter: VarId,
    cond: Expr,
    value: Expr,
}

impl Positions<'_> {
    fn block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            if !matches!(stmt.kind, StmtKind::Map(_)) {
                child_blocks_mut(stmt).into_iter().for_each(|child| self.block(child));
            }
        }
        let mut from = 0;
        while let Some(at) = (from..block.stmts.len()).find(|at| self.sum(&block.stmts[*at]).is_some()) {
            from = at + 1;
            if let Some(stmts) = self.rewritten(&block.stmts, at) {
                block.stmts = stmts;
            }
        }
    }

    /// The statements of a block with sums of conditions in place of the primitive at `at`, if that is all that its flags and places are for.
    fn rewritten(&mut self, stmts: &[Stmt], at: usize) -> Option<Vec<Stmt>> {
        let sum = self.sum(&stmts[at])?;
        let setting = stmts[..at].iter().rposition(|stmt| !matches!(stmt.kind, StmtKind::Declare { .. }))?;
        let flags = self.flags(&stmts[setting], &sum)?;
        let behind = stmts[at + 1..].iter().position(|stmt| matches!(stmt.kind, StmtKind::Map(_)))?;
        let placing = at + 1 + behind;
        let between = &stmts[at + 1..placing];
        let total = self.local("total", sum.op.ty, sum.span);
        let mut totals = Totals { sum: &sum, total, known: 0 };
        let later: Vec<Stmt> =
            between.iter().chain(&stmts[placing + 1..]).flat_map(|stmt| totals.of_stmt(stmt)).collect();
        let known = totals.known;
        let mut next = self.placed(&stmts[placing], &sum, &flags)?;
        let used = Uses::of(&stmts[placing], &sum);
        // Each total reads both, or the last position; beside that they are declared, written and summed up.
        let all = Uses::of_block(&self.whole.body, &sum);
        let flag_reads = if sum.exclusive { known } else { 0 };
        let good = used.flag == 1 && used.places > 0;
        if !good || all.flag != 4 + flag_reads || all.places != 2 + used.places + known {
            return None;
        }
        let can_wait = between.iter().all(|stmt| self.can_wait(stmt, &stmts[placing], &sum));
        if !can_wait {
            return None;
        }
        let mut result = stmts[..setting].to_vec();
        result.extend(stmts[setting + 1..at].iter().cloned());
        if known > 0 {
            result.push(Stmt { kind: StmtKind::Declare { var: total, zero: true }, span: sum.span });
            self.count(&mut next, &sum, &flags, total);
        }
        result.push(self.summed(&sum, &flags));
        result.push(Stmt { kind: StmtKind::Map(next), span: stmts[placing].span });
        result.extend(later);
        Some(result)
    }

    /// Whether a statement in front of a map can run behind it. A total that is not there is no total of a map that runs.
    fn can_wait(&self, stmt: &Stmt, map: &Stmt, sum: &Sum) -> bool {
        let effects = |stmt: &Stmt| Effects::of_stmt(self.program, &self.whole.vars, stmt);
        let faults = || may_fault(self.program, &self.whole.vars, &Block { stmts: vec![stmt.clone()] });
        let kind = match &stmt.kind {
            StmtKind::Assign { value, .. } => is_total(converted(value), sum).is_some() || !faults(),
            StmtKind::Declare { .. } | StmtKind::If { .. } => {
                !faults() && !may_jump(&Block { stmts: vec![stmt.clone()] })
            }
            StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => false,
        };
        kind && effects(stmt).independent_of(&effects(map))
    }

    fn sum(&self, stmt: &Stmt) -> Option<Sum> {
        let StmtKind::Prim(call) = &stmt.kind else { return None };
        let exclusive = match call.prim {
            Prim::Exscan => true,
            Prim::Scan => false,
            Prim::Min
            | Prim::Max
            | Prim::Reduce
            | Prim::Sort
            | Prim::Partition
            | Prim::Reverse
            | Prim::ReverseInplace
            | Prim::Histogram => return None,
        };
        let (Extent::Whole { size }, Some(op), Some(output)) = (&call.extent, &call.op, &call.output) else {
            return None;
        };
        let (flag, places) = (call.input.array, output.array);
        let counts = op.func == FoldFn::Add && matches!(op.ty, Ty::Scalar(Scalar::I64 | Scalar::I32));
        let good = counts && flag != places && is_plain(call) && call.directives == Directives::default();
        let own = |var: VarId| {
            let array = &self.whole.vars[var];
            let whole = matches!(&array.shape[..], [extent] if same::expr(extent, size));
            let typed = array.ty == op.ty && array.kind == VarKind::Local;
            whole && typed && has_sure_extents(&self.whole.vars, var)
        };
        (good && own(flag) && own(places)).then(|| Sum {
            flag,
            places,
            size: size.clone(),
            op: op.clone(),
            exclusive,
            span: call.span,
        })
    }

    /// What sets the flags that are summed up, if a statement does nothing else.
    fn flags(&self, stmt: &Stmt, sum: &Sum) -> Option<Flags> {
        let StmtKind::Map(map) = &stmt.kind else { return None };
        let iter = over(map, sum)?;
        let [Stmt { kind: StmtKind::Store { place, value }, .. }] = &map.body.stmts[..] else { return None };
        let cond = value.as_flag()?;
        let good = is_at(place, sum.flag, iter)
            && map.folds.is_empty()
            && map.directives == Directives::default()
            && !expr_may_fault(self.program, cond)
            && !Effects::of_expr(cond).contains(&sum.places);
        good.then(|| Flags { iter, cond: cond.clone(), value: value.clone() })
    }

    /// The map that places, with the condition in place of the flag.
    fn placed(&self, stmt: &Stmt, sum: &Sum, flags: &Flags) -> Option<Map> {
        let StmtKind::Map(map) = &stmt.kind else { return None };
        // What is asked of the map was not asked of one that adds up.
        if map.directives != Directives::default() {
            return None;
        }
        let iter = over(map, sum)?;
        let effects = Effects::of_stmt(self.program, &self.whole.vars, stmt);
        let kept = Effects::of_expr(&flags.cond).is_disjoint(&effects.outer_writes());
        let mut map = map.clone();
        let test = map.body.stmts.iter_mut().find_map(|stmt| match &mut stmt.kind {
            StmtKind::If { cond, .. } if is_set(cond, sum.flag, iter) => Some(cond),
            _ => None,
        })?;
        *test = in_iteration(&flags.cond, flags.iter, iter);
        kept.then_some(map)
    }

    /// `map { i := [0:N); _f = c ? 1 : 0; } exscan("+", at[i], _f, i := [*])`
    fn summed(&mut self, sum: &Sum, flags: &Flags) -> Stmt {
        let span = sum.span;
        let iter = self.vars.push(Var { kind: VarKind::Iter, ..self.new_var("i", Ty::LONG, span) });
        let value = self.local("flag", sum.op.ty, span);
        let target = Target::Element(Place {
            array: sum.places,
            index: vec![Expr::read(iter, Ty::LONG, span)],
            path: Vec::new(),
            unproved: 0,
            access: Access::Exclusive,
            span,
        });
        let kind = if sum.exclusive { FoldKind::Exscan } else { FoldKind::Scan };
        let map = Map {
            iters: vec![Iter {
                var: iter,
                lo: Expr::int(0, span),
                hi: sum.size.clone(),
                step: Expr::int(1, span),
                span,
            }],
            body: Block { stmts: set(value, in_iteration(&flags.value, flags.iter, iter), span) },
            folds: vec![Fold { kind, op: sum.op.clone(), target, value, over: vec![iter], span }],
            directives: Directives::default(),
        };
        Stmt { kind: StmtKind::Map(map), span }
    }

    /// Adds up the flags in the map that places.
    fn count(&mut self, map: &mut Map, sum: &Sum, flags: &Flags, total: VarId) {
        let iter = map.iters[0].var;
        let value = self.local("flag", sum.op.ty, sum.span);
        map.body.stmts.splice(0..0, set(value, in_iteration(&flags.value, flags.iter, iter), sum.span));
        let target = Target::Scalar(total);
        map.folds.push(Fold {
            kind: FoldKind::Reduce,
            op: sum.op.clone(),
            target,
            value,
            over: vec![iter],
            span: sum.span,
        });
    }

    fn local(&mut self, name: &str, ty: Ty, span: Span) -> VarId {
        let var = self.new_var(name, ty, span);
        self.vars.push(var)
    }

    fn new_var(&self, name: &str, ty: Ty, span: Span) -> Var {
        Var { name: name.into(), ty, shape: Vec::new(), kind: VarKind::Local, span }
    }
}

/// Whether a primitive takes whole arrays of one dimension.
fn is_plain(call: &PrimCall) -> bool {
    let whole = |array: &hidp_ir::par::ArrayRef| array.prefix.is_empty() && array.offset.as_int() == Some(0);
    whole(&call.input) && call.output.as_ref().is_some_and(whole)
}

/// The iterator of a map over all flags.
fn over(map: &Map, sum: &Sum) -> Option<VarId> {
    let [iter] = &map.iters[..] else { return None };
    let whole = iter.lo.as_int() == Some(0) && iter.step.as_int() == Some(1) && same::expr(&iter.hi, &sum.size);
    whole.then_some(iter.var)
}

/// Whether a place is an iteration's own element of an array.
fn is_at(place: &Place, array: VarId, iter: VarId) -> bool {
    let own = matches!(&place.index[..], [index] if index.kind == ExprKind::Read(iter));
    own && place.array == array && place.unproved == 0 && place.path.is_empty()
}

/// Whether a condition asks for the flag of an iteration.
fn is_set(cond: &Expr, flag: VarId, iter: VarId) -> bool {
    let ExprKind::Binary { op, left, right, .. } = &cond.kind else { return false };
    let own = matches!(&left.kind, ExprKind::Load(place) if is_at(place, flag, iter));
    let value = match op {
        BinOp::Eq => 1,
        BinOp::Ne | BinOp::Gt => 0,
        _ => return false,
    };
    own && right.as_int() == Some(value)
}

/// An expression of one iterator, in an iteration of another.
fn in_iteration(expr: &Expr, own: VarId, iter: VarId) -> Expr {
    let mut expr = expr.clone();
    visit::rename_expr_vars(&mut expr, |var| if var == own { iter } else { var });
    expr
}

/// `_f = value;`
fn set(var: VarId, value: Expr, span: Span) -> Vec<Stmt> {
    vec![
        Stmt { kind: StmtKind::Declare { var, zero: false }, span },
        Stmt { kind: StmtKind::Assign { var, value }, span },
    ]
}

/// How often flags and positions are mentioned.
#[derive(Default)]
struct Uses {
    flag: usize,
    places: usize,
}

impl Uses {
    fn of(stmt: &Stmt, sum: &Sum) -> Uses {
        let mut uses = Uses::default();
        visit::walk_stmt_vars(stmt, |var, _| uses.note(var, sum));
        uses
    }

    fn of_block(block: &Block, sum: &Sum) -> Uses {
        let mut uses = Uses::default();
        visit::walk_vars(block, |var, _| uses.note(var, sum));
        uses
    }

    fn note(&mut self, var: VarId, sum: &Sum) {
        self.flag += usize::from(var == sum.flag);
        self.places += usize::from(var == sum.places);
    }
}
