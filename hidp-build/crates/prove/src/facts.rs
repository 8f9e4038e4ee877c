//! Questions that other modules ask about expressions of a function.

use std::ops::RangeInclusive;

use hidp_ir::par::{Expr, ExprKind, Func, Place, StmtKind, VarId, VarKind};
use hidp_syntax::ordered::OrdSet;

use super::context::{Context, SPLITS};
use super::linear::Lin;
use super::written;

/// What is known wherever control is in a function: dimensions and extents of parameters are not negative.
#[derive(Clone, Debug)]
pub struct Facts<'f> {
    func: &'f Func,
    context: Context<'f>,
    /// Scalars whose value changes, or that come to life more than once.
    unstable: OrdSet<VarId>,
}

impl<'f> Facts<'f> {
    /// What is known of `func`, an entry.
    pub fn new(func: &'f Func) -> Self {
        let mut context = Context::new(&func.vars);
        // Values of variables count as they are where an expression stands, so what a test taught is not used.
        context.map_depth = 1;
        context.enter_params(&OrdSet::new(), true);
        Facts { func, context, unstable: unstable_scalars(func) }
    }

    /// Whether `a <= b` whenever both are evaluated at the same point. Both are integers.
    pub fn proves_le(&self, a: &Expr, b: &Expr) -> bool {
        let mut context = self.context.clone();
        let (a, b) = (context.lin(a), context.lin(b));
        context.proves_le(&a, &b)
    }

    /// Whether `a == b` whenever both are evaluated at the same point. Both are integers.
    pub fn proves_eq(&self, a: &Expr, b: &Expr) -> bool {
        let mut context = self.context.clone();
        let (a, b) = (context.lin(a), context.lin(b));
        context.proves_eq(&a, &b)
    }

    /// Whether `a` and `b` have the same value wherever in the function each is evaluated: only dimensions, constants and
    /// scalars that never change occur in them.
    pub fn same_extent(&self, a: &Expr, b: &Expr) -> bool {
        self.is_stable(a) && self.is_stable(b) && self.proves_eq(a, b)
    }

    /// Whether `condition` holds in no call, whatever values in these ranges the variables have.
    pub fn never(&self, condition: &Expr, ranges: &[(VarId, RangeInclusive<i64>)]) -> bool {
        if let ExprKind::Lazy { and: false, left, right } = &condition.kind {
            return self.never(left, ranges) && self.never(right, ranges);
        }
        let mut context = self.context.clone();
        for (var, range) in ranges {
            let value = context.value(*var);
            context.fact_opt(value.offset(-i128::from(*range.start())));
            context.fact_opt(Lin::constant(i128::from(*range.end())).sub(&value));
        }
        let before = context.facts.len();
        context.assume(condition, true);
        let assumed = context.facts[before..].to_vec();
        assumed.into_iter().any(|fact| context.refutes(&[fact], SPLITS))
    }

    /// Whether `expr` has one value throughout a call of the function.
    pub fn is_stable(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(_) => true,
            ExprKind::Read(var) => {
                matches!(self.func.vars[*var].kind, VarKind::Dim | VarKind::Param(_) | VarKind::Local)
                    && !self.unstable.contains(var)
            }
            ExprKind::Load(Place { .. }) => false,
            ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => {
                self.is_stable(operand)
            }
            ExprKind::Binary { left, right, .. } | ExprKind::Lazy { left, right, .. } => {
                self.is_stable(left) && self.is_stable(right)
            }
            ExprKind::Select { cond, then, otherwise } => {
                self.is_stable(cond) && self.is_stable(then) && self.is_stable(otherwise)
            }
            ExprKind::Math(_, operands) | ExprKind::Call(_, operands) | ExprKind::Struct(_, operands) => {
                operands.iter().all(|operand| self.is_stable(operand))
            }
        }
    }
}

/// Every scalar that is assigned, except locals that the function's outermost block declares and at once initialises.
fn unstable_scalars(func: &Func) -> OrdSet<VarId> {
    let mut assigned = written::scalars_with_repetition(&func.body);
    for pair in func.body.stmts.windows(2) {
        if let (StmtKind::Declare { var: declared, .. }, StmtKind::Assign { var, .. }) = (&pair[0].kind, &pair[1].kind)
        {
            // Two of them: the declaration and its initialiser.
            if declared == var && assigned.iter().filter(|other| *other == var).count() == 2 {
                assigned.retain(|other| other != var);
            }
        }
    }
    assigned.into_iter().collect()
}
