//! Extents of parameters as the postfix programs that the run time evaluates.

use hidp_ir::par::{BinOp, Const, Expr, ExprKind, Func, MathFn, UnOp, VarId};
use hidp_plan::Dispatch;
use hidp_syntax::ty::Scalar;

/// The steps that compute `extent`, as variants of `hidp_std::rt::entry::Op`. `None` for what headers cannot hold.
pub(super) fn program(func: &Func, extent: &Expr) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    push(func, extent, &mut steps)?;
    Some(steps)
}

/// Scalar parameters that extents and measures use.
pub(super) fn sizes(func: &Func, dispatch: &Dispatch) -> Vec<VarId> {
    let extents = func.params.iter().flat_map(|&param| &func.vars[param].shape);
    let mut used = Vec::new();
    for expr in extents.chain(dispatch.measures.iter().map(|measure| &measure.value)) {
        hidp_ir::par::visit::walk_expr_vars(expr, |var, _| used.push(var));
    }
    used
}

fn push(func: &Func, expr: &Expr, steps: &mut Vec<String>) -> Option<()> {
    match &expr.kind {
        ExprKind::Const(Const::Int(value)) => {
            steps.push(format!("Const({})", i64::try_from(*value).ok()?));
            return Some(());
        }
        ExprKind::Read(var) => {
            steps.push(read(func, *var)?);
            return Some(());
        }
        ExprKind::Unary(UnOp::Neg, operand) => {
            push(func, operand, steps)?;
            steps.push("Neg".into());
        }
        ExprKind::Binary { op, left, right, checked: _ } => {
            push(func, left, steps)?;
            push(func, right, steps)?;
            steps.push(binary(*op)?.into());
        }
        ExprKind::Math(function @ (MathFn::Min | MathFn::Max), operands) => {
            operands.iter().try_for_each(|operand| push(func, operand, steps))?;
            steps.push(if *function == MathFn::Min { "Min".into() } else { "Max".into() });
        }
        ExprKind::Convert { operand, mode: _ } => push(func, operand, steps)?,
        ExprKind::Const(Const::Float(_) | Const::Bool(_))
        | ExprKind::Load(_)
        | ExprKind::Unary(UnOp::Not | UnOp::BitNot, _)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => return None,
    }
    in_range(expr.ty.scalar()?, steps)
}

fn read(func: &Func, var: VarId) -> Option<String> {
    if let Some(number) = func.dims.iter().position(|&dim| dim == var) {
        return Some(format!("Dim({number})"));
    }
    func.vars[var].ty.scalar().filter(|scalar| scalar.is_integer())?;
    func.params.iter().position(|&param| param == var).map(|number| format!("Scalar({number})"))
}

/// The kernel wraps where a narrower type does not hold the value; the run time refuses it instead.
fn in_range(scalar: Scalar, steps: &mut Vec<String>) -> Option<()> {
    let (low, high) = scalar.integer_range()?;
    if scalar != Scalar::I64 {
        steps.push(format!("InRange({low}, {})", high.min(i64::MAX.into())));
    }
    Some(())
}

fn binary(op: BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add => "Add",
        BinOp::Sub => "Sub",
        BinOp::Mul => "Mul",
        BinOp::Div => "Div",
        BinOp::Rem => "Rem",
        BinOp::And => "And",
        BinOp::Or => "Or",
        BinOp::Xor => "Xor",
        BinOp::Shl => "Shl",
        BinOp::Shr => "Shr",
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => return None,
    })
}
