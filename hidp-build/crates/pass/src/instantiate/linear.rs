//! `long` expressions as polynomials, to see that two of them are equal and to solve for a dimension.

use hidp_ir::par::{BinOp, Expr, ExprKind, UnOp, VarId};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;

/// A sum of products of variables; the empty product is the constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Polynomial {
    terms: OrdMap<Vec<VarId>, i128>,
}

impl Polynomial {
    fn of(expr: &Expr) -> Option<Polynomial> {
        match &expr.kind {
            ExprKind::Const(_) => Some(Polynomial::term(Vec::new(), expr.as_int()?)),
            ExprKind::Read(var) => Some(Polynomial::term(vec![*var], 1)),
            ExprKind::Unary(UnOp::Neg, operand) => Polynomial::of(operand)?.scaled(-1),
            ExprKind::Binary { op: BinOp::Add, left, right, .. } => Polynomial::of(left)?.plus(&Polynomial::of(right)?),
            ExprKind::Binary { op: BinOp::Sub, left, right, .. } => {
                Polynomial::of(left)?.plus(&Polynomial::of(right)?.scaled(-1)?)
            }
            ExprKind::Binary { op: BinOp::Mul, left, right, .. } => {
                Polynomial::of(left)?.times(&Polynomial::of(right)?)
            }
            ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        }
    }

    fn term(product: Vec<VarId>, factor: i128) -> Polynomial {
        let mut polynomial = Polynomial::default();
        if factor != 0 {
            polynomial.terms.insert(product, factor);
        }
        polynomial
    }

    fn add_term(&mut self, product: Vec<VarId>, factor: i128) -> Option<()> {
        let sum = self.terms.entry(product).or_insert(0);
        *sum = sum.checked_add(factor)?;
        Some(())
    }

    fn cleaned(mut self) -> Polynomial {
        self.terms.retain(|_, factor| *factor != 0);
        self
    }

    fn plus(mut self, other: &Polynomial) -> Option<Polynomial> {
        for (product, factor) in &other.terms {
            self.add_term(product.clone(), *factor)?;
        }
        Some(self.cleaned())
    }

    fn scaled(mut self, by: i128) -> Option<Polynomial> {
        for factor in self.terms.values_mut() {
            *factor = factor.checked_mul(by)?;
        }
        Some(self)
    }

    fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut result = Polynomial::default();
        for (left, left_factor) in &self.terms {
            for (right, right_factor) in &other.terms {
                let mut product: Vec<VarId> = left.iter().chain(right).copied().collect();
                product.sort();
                result.add_term(product, left_factor.checked_mul(*right_factor)?)?;
            }
        }
        Some(result.cleaned())
    }
}

/// Whether two expressions are equal for all values of their variables. Both wrap alike, so overflow does not matter.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    same_form(a, b) || matches!((Polynomial::of(a), Polynomial::of(b)), (Some(a), Some(b)) if a == b)
}

/// Whether two expressions are alike but for positions.
fn same_form(a: &Expr, b: &Expr) -> bool {
    let plain = |expr: &Expr| {
        let mut expr = expr.clone();
        hidp_ir::par::visit::map_subexprs(&mut expr, |inner| inner.span = a.span);
        expr
    };
    plain(a) == plain(b)
}

/// `factor · unknown + rest`, both free of `unknown`.
pub(super) struct Linear {
    pub(super) factor: Expr,
    pub(super) rest: Expr,
}

/// The expression as a linear function of `unknown`, if it is built as one. The twin of the interpreter's.
pub(super) fn linear(expr: &Expr, unknown: VarId) -> Option<Linear> {
    let span = expr.span;
    if !mentions(expr, unknown) {
        return Some(Linear { factor: Expr::int(0, span), rest: expr.clone() });
    }
    match &expr.kind {
        ExprKind::Read(_) => Some(Linear { factor: Expr::int(1, span), rest: Expr::int(0, span) }),
        ExprKind::Convert { operand, mode: _ } => linear(operand, unknown),
        ExprKind::Unary(UnOp::Neg, operand) => {
            let of = linear(operand, unknown)?;
            let zero = || Expr::int(0, span);
            Some(Linear { factor: sub(zero(), of.factor, span), rest: sub(zero(), of.rest, span) })
        }
        ExprKind::Binary { op, left, right, checked: _ } => {
            let (left, right) = (linear(left, unknown)?, linear(right, unknown)?);
            let product = |a: &Expr, b: &Expr| mul(a.clone(), b.clone(), span);
            match op {
                BinOp::Add => Some(Linear {
                    factor: add(left.factor, right.factor, span),
                    rest: add(left.rest, right.rest, span),
                }),
                BinOp::Sub => Some(Linear {
                    factor: sub(left.factor, right.factor, span),
                    rest: sub(left.rest, right.rest, span),
                }),
                BinOp::Mul if left.factor.as_int() == Some(0) => {
                    Some(Linear { factor: product(&left.rest, &right.factor), rest: product(&left.rest, &right.rest) })
                }
                BinOp::Mul if right.factor.as_int() == Some(0) => {
                    Some(Linear { factor: product(&left.factor, &right.rest), rest: product(&left.rest, &right.rest) })
                }
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
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

fn mentions(expr: &Expr, var: VarId) -> bool {
    let mut found = false;
    hidp_ir::par::visit::walk_expr_vars(expr, |read, _| found |= read == var);
    found
}

/// `a + b`, folded where it is simple.
pub(super) fn add(a: Expr, b: Expr, span: Span) -> Expr {
    match (a.as_int(), b.as_int()) {
        (Some(0), _) => b,
        (_, Some(0)) => a,
        (Some(x), Some(y)) => Expr::int((x as i64).wrapping_add(y as i64), span),
        (Some(_), None) | (None, _) => Expr { span, ..Expr::long(BinOp::Add, a, b) },
    }
}

/// `a - b`, folded where it is simple.
pub(super) fn sub(a: Expr, b: Expr, span: Span) -> Expr {
    match (a.as_int(), b.as_int()) {
        (_, Some(0)) => a,
        (Some(x), Some(y)) => Expr::int((x as i64).wrapping_sub(y as i64), span),
        (Some(_), None) | (None, _) => Expr { span, ..Expr::long(BinOp::Sub, a, b) },
    }
}

/// `a * b`, folded where it is simple.
pub(super) fn mul(a: Expr, b: Expr, span: Span) -> Expr {
    match (a.as_int(), b.as_int()) {
        (Some(1), _) => b,
        (_, Some(1)) => a,
        (Some(x), Some(y)) => Expr::int((x as i64).wrapping_mul(y as i64), span),
        (Some(0), None) => a,
        (None, Some(0)) => b,
        (Some(_), None) | (None, _) => Expr { span, ..Expr::long(BinOp::Mul, a, b) },
    }
}
