//! How many elements an array has at most, by its extents and by the conditions under which it is declared.

use hidp_ir::par::visit::child_blocks;
use hidp_ir::par::{BinOp, Block, Const, Expr, ExprKind, Func, StmtKind, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::OrdMap;

/// The smallest and the largest value.
type Range = (i128, i128);

/// A larger bound is none: it comes of a type.
const MOST_ELEMENTS: u32 = 1 << 20;
/// No dimension is larger.
const MOST_EXTENT: i128 = 1 << 56;

/// The number of elements of an array, or a bound of it.
pub(super) fn most_elements(func: &Func, array: VarId) -> Option<u32> {
    let ranges = Ranges::around(func, array)?;
    func.vars[array].shape.iter().try_fold(1u32, |count, extent| {
        let (_, most) = ranges.of(extent);
        count.checked_mul(u32::try_from(most.max(0)).ok()?).filter(|count| *count <= MOST_ELEMENTS)
    })
}

/// The largest value that an integer may have where an array is declared.
pub(super) fn most(func: &Func, array: VarId, value: &Expr) -> Option<i128> {
    Ranges::around(func, array).map(|ranges| ranges.of(value).1)
}

/// The conditions of the branches around an array's declaration, and whether they hold there; `false` if it is declared elsewhere.
fn conditions<'f>(block: &'f Block, array: VarId, around: &mut Vec<(&'f Expr, bool)>) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Declare { var, .. } => *var == array,
        StmtKind::If { cond, then, otherwise } => {
            [(then, true), (otherwise, false)].into_iter().any(|(side, holds)| {
                around.push((cond, holds));
                let found = conditions(side, array, around);
                if !found {
                    around.pop();
                }
                found
            })
        }
        StmtKind::Loop(_) | StmtKind::Scope(_) | StmtKind::Map(_) => {
            child_blocks(stmt).into_iter().any(|inner| conditions(inner, array, around))
        }
        StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => false,
    })
}

/// What is known of dimensions and scalar inputs, which never change.
struct Ranges<'f> {
    func: &'f Func,
    known: OrdMap<VarId, Range>,
}

impl<'f> Ranges<'f> {
    /// What is known where an array is declared.
    fn around(func: &'f Func, array: VarId) -> Option<Self> {
        let mut around = Vec::new();
        if !conditions(&func.body, array, &mut around) {
            return None;
        }
        let mut ranges = Ranges { func, known: OrdMap::new() };
        for (condition, holds) in around {
            ranges.learn(condition, holds);
        }
        Some(ranges)
    }

    fn learn(&mut self, condition: &Expr, holds: bool) {
        match &condition.kind {
            ExprKind::Lazy { and, left, right } if *and == holds => {
                self.learn(left, holds);
                self.learn(right, holds);
            }
            ExprKind::Binary { op, left, right, .. } if op.is_comparison() => {
                let op = if holds { *op } else { op.negated() };
                self.narrow(left, op, right);
                self.narrow(right, op.mirrored(), left);
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => {}
        }
    }

    /// `value op other`, of a value that never changes.
    fn narrow(&mut self, value: &Expr, op: BinOp, other: &Expr) {
        let ExprKind::Read(var) = value.kind else { return };
        let fixed = matches!(self.func.vars[var].kind, VarKind::Dim | VarKind::Param(Direction::Input));
        let integers = [value, other].iter().all(|side| side.ty.scalar().is_some_and(|ty| ty.is_integer()));
        if fixed && integers {
            let ((least, most), (low, high)) = (self.of(value), self.of(other));
            let range = match op {
                BinOp::Lt => (least, most.min(high - 1)),
                BinOp::Le => (least, most.min(high)),
                BinOp::Gt => (least.max(low + 1), most),
                BinOp::Ge => (least.max(low), most),
                BinOp::Eq => (least.max(low), most.min(high)),
                BinOp::Ne
                | BinOp::Add
                | BinOp::Sub
                | BinOp::Mul
                | BinOp::Div
                | BinOp::Rem
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::Shl
                | BinOp::Shr => return,
            };
            self.known.insert(var, range);
        }
    }

    /// The values that an integer may have.
    fn of(&self, value: &Expr) -> Range {
        let of_type = value.ty.scalar().and_then(|ty| ty.integer_range()).unwrap_or((i64::MIN.into(), u64::MAX.into()));
        // What wraps may be anything.
        self.exact(value).filter(|range| of_type.0 <= range.0 && range.1 <= of_type.1).unwrap_or(of_type)
    }

    fn exact(&self, value: &Expr) -> Option<Range> {
        match &value.kind {
            ExprKind::Const(Const::Int(constant)) => Some((*constant, *constant)),
            ExprKind::Read(var) => {
                let dimension = self.func.vars[*var].kind == VarKind::Dim;
                self.known.get(var).copied().or_else(|| dimension.then_some((0, MOST_EXTENT)))
            }
            ExprKind::Binary { op, left, right, .. } => {
                let (a, b) = (self.of(left), self.of(right));
                match op {
                    BinOp::Add => Some((a.0 + b.0, a.1 + b.1)),
                    BinOp::Sub => Some((a.0 - b.1, a.1 - b.0)),
                    BinOp::Mul if a.0 >= 0 && b.0 >= 0 => Some((a.0.checked_mul(b.0)?, a.1.checked_mul(b.1)?)),
                    BinOp::Mul
                    | BinOp::Div
                    | BinOp::Rem
                    | BinOp::And
                    | BinOp::Or
                    | BinOp::Xor
                    | BinOp::Shl
                    | BinOp::Shr
                    | BinOp::Lt
                    | BinOp::Le
                    | BinOp::Gt
                    | BinOp::Ge
                    | BinOp::Eq
                    | BinOp::Ne => None,
                }
            }
            ExprKind::Const(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::most_elements;
    use crate::testing::checked;

    /// The bound of the array `a`.
    fn most(body: &str) -> Option<u32> {
        let program = checked(&format!("function f input int x[M][N], c; output int y[M]; {{ {body} }}"));
        let func = &program.funcs[program.entries[0]];
        let (array, _) = func.vars.iter().find(|(_, var)| var.name == "a").expect("an array `a`");
        most_elements(func, array)
    }

    #[test]
    fn conditions_bound_arrays() {
        let declared = |condition: &str, extents: &str| {
            most(&format!(
                "map {{ m := [0:M); if ({condition}) {{ int a{extents}; a[0] = x[m][0]; y[m] = a[0]; }} else {{ y[m] = 0; }} }}"
            ))
        };
        assert_eq!(declared("N <= 48", "[N]"), Some(48));
        assert_eq!(declared("c > 2 && 48 > N", "[N + 1]"), Some(48));
        assert_eq!(declared("N == 5", "[2 * N]"), Some(10));
        assert_eq!(declared("N < 6 && N >= 5", "[N - 1]"), Some(4));
        let otherwise =
            "map { m := [0:M); if (N >= 48 || c > 2) { y[m] = 0; } else { int a[N]; a[0] = x[m][0]; y[m] = a[0]; } }";
        assert_eq!(most(otherwise), Some(47));
        // Nothing holds on the other side, for elements, or where it is not that dimension.
        assert_eq!(declared("N >= 48", "[N]"), None);
        assert_eq!(declared("N <= 48 || c > 2", "[N]"), None);
        assert_eq!(declared("M <= 48", "[N]"), None);
        assert_eq!(declared("x[m][0] <= 48", "[x[m][0]]"), None);
        assert_eq!(most("if (N > 8) { y = 0; } map { m := [0:M); int a[N]; a[0] = x[m][0]; y[m] = a[0]; }"), None);
        // Other expressions are variables that are computed before.
        assert_eq!(declared("N < 48", "[N / 2]"), None);
    }
}
