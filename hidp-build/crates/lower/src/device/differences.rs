//! Sums of absolute differences of narrow integers: devices subtract, take the absolute value and add in one instruction.

use std::mem;

use super::super::make;
use hidp_ir::imp::visit::{
    accessed, child_blocks_mut, each_expr, each_stmt, operands_mut, overwritten, stmt_exprs_mut,
};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Stmt, Var, VarId, VarKind};
use hidp_ir::par::{BinOp, MathFn};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::{Scalar, Ty};

const INT: Ty = Ty::Scalar(Scalar::I32);

/// Lowest and highest value.
type Range = (i128, i128);

/// Makes them of differences that cannot wrap, whose absolute values are used for nothing but sums.
pub(super) fn summed(function: &mut Function) {
    let mut any = false;
    each_expr(&function.body, &mut |expr| any |= matches!(expr.kind, ExprKind::Math(MathFn::Abs, _)) && expr.ty == INT);
    if any {
        let known = Known::of(&function.body);
        in_sums(&mut function.body.stmts, &mut |expr| known.difference(expr));
        in_block(&mut function.body, &known, &mut function.vars);
    }
}

/// What is known of the variables of a function.
#[derive(Default)]
struct Known {
    /// Ranges of those that get nothing but what is narrow by itself.
    ranges: OrdMap<VarId, Option<Range>>,
    /// How often they are overwritten.
    writes: OrdMap<VarId, usize>,
    /// How often they are named, but where they are written.
    uses: OrdMap<VarId, usize>,
}

impl Known {
    fn of(body: &Block) -> Known {
        let mut known = Known::default();
        each_stmt(body, &mut |stmt| {
            overwritten(stmt).into_iter().for_each(|var| *known.writes.entry(var).or_default() += 1);
            accessed(stmt).into_iter().for_each(|var| *known.uses.entry(var).or_default() += 1);
            match stmt {
                Stmt::Let { var, init: Some(value) } | Stmt::Set { var, value, .. } => {
                    known.gets(*var, by_itself(value))
                }
                Stmt::Let { var, init: None } => known.gets(*var, Some((0, 0))),
                _ => overwritten(stmt).into_iter().for_each(|var| known.gets(var, None)),
            }
        });
        each_expr(body, &mut |expr| {
            if let ExprKind::Var(var) = expr.kind {
                *known.uses.entry(var).or_default() += 1;
            }
        });
        known
    }

    fn gets(&mut self, var: VarId, range: Option<Range>) {
        let all = self.ranges.entry(var).or_insert(range);
        *all = all.zip(range).map(|((low, high), (lower, higher))| (low.min(lower), high.max(higher)));
    }

    fn range(&self, expr: &Expr) -> Option<Range> {
        match expr.kind {
            ExprKind::Var(var) => self.ranges.get(&var).copied().flatten(),
            _ => by_itself(expr),
        }
    }

    /// The operands of a difference that does not wrap, of which an expression is the absolute value.
    fn difference(&self, expr: &Expr) -> Option<(Expr, Expr)> {
        let ExprKind::Math(MathFn::Abs, args) = &expr.kind else { return None };
        let ExprKind::Binary(BinOp::Sub, left, right) = &args.first()?.kind else { return None };
        let ((low, high), (lower, higher)) = self.range(left).zip(self.range(right))?;
        let most = (high - lower).max(higher - low);
        (expr.ty == INT && most <= i128::from(i32::MAX)).then(|| ((**left).clone(), (**right).clone()))
    }
}

/// The range of an `int` that comes from a narrower type, or is a constant.
fn by_itself(expr: &Expr) -> Option<Range> {
    match &expr.kind {
        ExprKind::Int(value) => Some((*value, *value)),
        ExprKind::Cast(from) if expr.ty == INT => {
            let (low, high) = from.ty.scalar()?.integer_range()?;
            (i128::from(i32::MIN) <= low && high <= i128::from(i32::MAX)).then_some((low, high))
        }
        _ => None,
    }
}

/// Such a value's operands, if an expression is one.
type Parts<'a> = dyn FnMut(&Expr) -> Option<(Expr, Expr)> + 'a;

/// Asks for the addends of all sums of different ones, and makes those that have parts sums of differences.
fn in_sums(stmts: &mut [Stmt], parts: &mut Parts<'_>) {
    for stmt in stmts {
        stmt_exprs_mut(stmt).into_iter().for_each(|expr| in_expr(expr, parts));
        child_blocks_mut(stmt).into_iter().for_each(|child| in_sums(&mut child.stmts, parts));
    }
}

fn in_expr(expr: &mut Expr, parts: &mut Parts<'_>) {
    operands_mut(expr).into_iter().for_each(|operand| in_expr(operand, parts));
    let ExprKind::Binary(BinOp::Add, first, second) = &mut expr.kind else { return };
    if expr.ty != INT || first == second {
        return;
    }
    let found = match parts(second) {
        Some(found) => Some((found, first)),
        None => parts(first).map(|found| (found, second)),
    };
    if let Some(((left, right), other)) = found {
        let other = mem::replace(&mut **other, make::long(0));
        expr.kind = ExprKind::AbsDiffAdd(Box::new(left), Box::new(right), Box::new(other));
    }
}

fn in_block(block: &mut Block, known: &Known, vars: &mut Arena<VarId, Var>) {
    for at in (0..block.stmts.len()).rev() {
        if let Some(right) = by_variable(&mut block.stmts[at..], known, vars) {
            block.stmts.insert(at + 1, right);
        }
    }
    for stmt in &mut block.stmts {
        child_blocks_mut(stmt).into_iter().for_each(|child| in_block(child, known, vars));
    }
}

/// Where the first statement gives a variable such a value, and all that uses the variable are sums behind it: the variable gets the left operand, and
/// the sums do the rest. Introduces the right operand.
fn by_variable(stmts: &mut [Stmt], known: &Known, vars: &mut Arena<VarId, Var>) -> Option<Stmt> {
    let (first, behind) = stmts.split_first_mut()?;
    let (of, value, writes) = match first {
        Stmt::Let { var, init: Some(value) } => (*var, value, None),
        Stmt::Set { var, value, .. } => (*var, value, Some(&1)),
        _ => return None,
    };
    let (left, right) = known.difference(value)?;
    let is_it = |expr: &Expr| matches!(expr.kind, ExprKind::Var(var) if var == of);
    let mut sums = 0;
    in_sums(behind, &mut |expr| {
        sums += usize::from(is_it(expr));
        None
    });
    if known.writes.get(&of) != writes || known.uses.get(&of) != Some(&sums) {
        return None;
    }
    let var = vars.push(Var { name: "right".to_owned(), kind: VarKind::Value(INT) });
    let operands = (make::var(of, INT), make::var(var, INT));
    in_sums(behind, &mut |expr| is_it(expr).then(|| operands.clone()));
    *value = left;
    Some(Stmt::Let { var, init: Some(right) })
}
