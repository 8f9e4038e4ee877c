//! Extents as linear forms: symbolic equality, known differences, and the text that messages show.

use hidp_ir::par::{BinOp, Const, Expr, ExprKind, MathFn, Place, UnOp, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

type Vars = Arena<VarId, Var>;

/// The most terms that a product may have.
const MOST_TERMS: usize = 64;

/// `constant + Σ factor · product`, where products are keyed by their text, which names variables by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Linear {
    constant: i128,
    terms: OrdMap<Vec<String>, Term>,
}

#[derive(Clone, Debug)]
struct Term {
    factor: i128,
    product: Vec<Expr>,
}

impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        self.factor == other.factor
    }
}

impl Linear {
    fn constant(constant: i128) -> Self {
        Linear { constant, terms: OrdMap::new() }
    }

    fn atom(expr: &Expr) -> Self {
        let term = Term { factor: 1, product: vec![expr.clone()] };
        Linear { constant: 0, terms: OrdMap::from([(vec![key(expr)], term)]) }
    }

    /// The form of a `long` expression; what is not linear counts as an atom. Arithmetic that leaves `i128` gives an atom too.
    pub(super) fn of(expr: &Expr) -> Self {
        Self::try_of(expr).unwrap_or_else(|| Self::atom(expr))
    }

    fn try_of(expr: &Expr) -> Option<Self> {
        match &expr.kind {
            ExprKind::Const(Const::Int(value)) => Some(Self::constant(*value)),
            ExprKind::Unary(UnOp::Neg, operand) if expr.ty == Ty::LONG => Self::of(operand).scale(-1),
            ExprKind::Binary { op, left, right, .. } if expr.ty == Ty::LONG => match op {
                BinOp::Add => Self::of(left).plus(&Self::of(right), 1),
                BinOp::Sub => Self::of(left).plus(&Self::of(right), -1),
                BinOp::Mul => Self::of(left).times(&Self::of(right)),
                _ => None,
            },
            _ => None,
        }
    }

    fn scale(mut self, by: i128) -> Option<Self> {
        self.constant = self.constant.checked_mul(by)?;
        for term in self.terms.values_mut() {
            term.factor = term.factor.checked_mul(by)?;
        }
        Some(self)
    }

    fn plus(mut self, other: &Self, sign: i128) -> Option<Self> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(sign)?)?;
        for (product, term) in &other.terms {
            let add = term.factor.checked_mul(sign)?;
            let entry = self.terms.entry(product.clone()).or_insert(Term { factor: 0, ..term.clone() });
            entry.factor = entry.factor.checked_add(add)?;
        }
        self.terms.retain(|_, term| term.factor != 0);
        Some(self)
    }

    fn times(self, other: &Self) -> Option<Self> {
        // Products of long sums would grow without bound; they count as atoms.
        if (self.terms.len() + 1) * (other.terms.len() + 1) > MOST_TERMS {
            return None;
        }
        let mut sum = other.clone().scale(self.constant)?;
        for (left_keys, left) in &self.terms {
            let scaled = Linear { constant: 0, terms: OrdMap::from([(left_keys.clone(), left.clone())]) };
            sum = sum.plus(&scaled.scale(other.constant)?, 1)?;
            for (right_keys, right) in &other.terms {
                let mut factors: Vec<(String, Expr)> = left_keys
                    .iter()
                    .chain(right_keys)
                    .cloned()
                    .zip(left.product.iter().chain(&right.product).cloned())
                    .collect();
                factors.sort_by(|a, b| a.0.cmp(&b.0));
                let (keys, product) = factors.into_iter().unzip();
                let factor = left.factor.checked_mul(right.factor)?;
                let one = Linear { constant: 0, terms: OrdMap::from([(keys, Term { factor, product })]) };
                sum = sum.plus(&one, 1)?;
            }
        }
        // Products that were there with factor 0 (a constant of 0) are gone again.
        sum.terms.retain(|_, term| term.factor != 0);
        Some(sum)
    }

    /// `self - other`.
    pub(super) fn minus(&self, other: &Self) -> Option<Self> {
        self.clone().plus(other, -1)
    }

    /// The value if there is no variable in it.
    pub(super) fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Whether `var` occurs, and if so only as a factor of degree one.
    pub(super) fn is_linear_in(&self, var: VarId) -> bool {
        let name = var_key(var);
        let mut found = false;
        for (keys, term) in &self.terms {
            let degree = keys.iter().filter(|k| **k == name).count();
            let hidden = keys.iter().zip(&term.product).any(|(k, e)| *k != name && mentions(e, var));
            if degree > 1 || hidden {
                return false;
            }
            found |= degree == 1;
        }
        found
    }

    /// The expression again, shortest form first: terms in order, then the constant.
    pub(super) fn to_expr(&self, span: Span) -> Expr {
        let mut sum: Option<Expr> = None;
        for term in self.terms.values() {
            let mut product = term.product.iter().cloned();
            let first = product.next().expect("a product has a factor");
            let mut value = product.fold(first, |a, b| Expr::long(BinOp::Mul, a, b));
            let magnitude = i64::try_from(term.factor.unsigned_abs()).unwrap_or(i64::MAX);
            if magnitude != 1 {
                value = Expr::long(BinOp::Mul, Expr::int(magnitude, span), value);
            }
            sum = Some(match (sum, term.factor < 0) {
                (None, false) => value,
                (None, true) => Expr::long(BinOp::Sub, Expr::int(0, span), value),
                (Some(sum), false) => Expr::long(BinOp::Add, sum, value),
                (Some(sum), true) => Expr::long(BinOp::Sub, sum, value),
            });
        }
        let magnitude = Expr::int(i64::try_from(self.constant.unsigned_abs()).unwrap_or(i64::MAX), span);
        let mut expr = match (sum, self.constant) {
            (Some(sum), 0) => sum,
            (Some(sum), c) if c < 0 => Expr::long(BinOp::Sub, sum, magnitude),
            (Some(sum), _) => Expr::long(BinOp::Add, sum, magnitude),
            (None, c) => Expr::int(i64::try_from(c).unwrap_or(i64::MAX), span),
        };
        expr.span = span;
        expr
    }

    fn fits(&self) -> bool {
        let fits = |v: i128| i64::try_from(v).is_ok() && v != i128::from(i64::MIN);
        fits(self.constant) && self.terms.values().all(|t| fits(t.factor))
    }
}

/// `a - b` if that is a known number.
pub(super) fn difference(a: &Expr, b: &Expr) -> Option<i128> {
    Linear::of(a).minus(&Linear::of(b))?.as_constant()
}

/// Whether both have the same value for every value of their variables.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    difference(a, b) == Some(0)
}

/// The same value in the shortest form that is known.
pub(super) fn simplified(expr: Expr) -> Expr {
    let linear = Linear::of(&expr);
    if linear.fits() { linear.to_expr(expr.span) } else { expr }
}

/// `a + b`, simplified.
pub(super) fn add(a: &Expr, b: &Expr) -> Expr {
    simplified(Expr::long(BinOp::Add, a.clone(), b.clone()))
}

/// `a - b`, simplified.
pub(super) fn sub(a: &Expr, b: &Expr) -> Expr {
    simplified(Expr::long(BinOp::Sub, a.clone(), b.clone()))
}

/// Calls `visit` on every subexpression, `expr` included, outermost first.
pub(super) fn walk(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Read(_) => {}
        ExprKind::Load(place) => place.index.iter().for_each(|e| walk(e, visit)),
        ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => {
            walk(operand, visit)
        }
        ExprKind::Binary { left, right, .. } | ExprKind::Lazy { left, right, .. } => {
            walk(left, visit);
            walk(right, visit);
        }
        ExprKind::Select { cond, then, otherwise } => {
            walk(cond, visit);
            walk(then, visit);
            walk(otherwise, visit);
        }
        ExprKind::Math(_, args) | ExprKind::Call(_, args) | ExprKind::Struct(_, args) => {
            args.iter().for_each(|e| walk(e, visit))
        }
    }
}

/// Whether `var` is read in `expr`, as a scalar or as an array.
pub(super) fn mentions(expr: &Expr, var: VarId) -> bool {
    let mut found = false;
    walk(expr, &mut |e| match &e.kind {
        ExprKind::Read(v) => found |= *v == var,
        ExprKind::Load(place) => found |= place.array == var,
        _ => {}
    });
    found
}

fn var_key(var: VarId) -> String {
    format!("{var:?}")
}

/// A text that two expressions share exactly if they compute the same from the same variables in the same way.
pub(super) fn key(expr: &Expr) -> String {
    write_expr(expr, &|var| var_key(var), true)
}

/// The text of an expression with the user's names.
pub(super) fn show(expr: &Expr, vars: &Vars) -> String {
    write_expr(expr, &|var| vars[var].name.clone(), false)
}

/// `[M][N+1]`
pub(super) fn show_shape<'a>(extents: impl IntoIterator<Item = &'a Expr>, vars: &Vars) -> String {
    extents.into_iter().map(|extent| format!("[{}]", show(extent, vars))).collect()
}

type Namer<'a> = &'a dyn Fn(VarId) -> String;

fn write_expr(expr: &Expr, name: Namer<'_>, exact: bool) -> String {
    let sub = |e: &Expr| write_expr(e, name, exact);
    let operand = |e: &Expr| match &e.kind {
        ExprKind::Binary { .. } | ExprKind::Lazy { .. } | ExprKind::Select { .. } => format!("({})", sub(e)),
        _ => sub(e),
    };
    let list = |items: &[Expr]| items.iter().map(&sub).collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ExprKind::Const(value) => write_const(*value, expr.ty, exact),
        ExprKind::Read(var) => name(*var),
        ExprKind::Load(place) => write_place(place, name, exact),
        ExprKind::Unary(op, inner) => format!("{}{}", un_op(*op), operand(inner)),
        ExprKind::Binary { op, left, right, .. } => {
            // Sums on the left need no parentheses: a chain of + and - reads from left to right.
            let chain = matches!(op, BinOp::Add | BinOp::Sub)
                && matches!(&left.kind, ExprKind::Binary { op: BinOp::Add | BinOp::Sub | BinOp::Mul, .. });
            let left = if chain && !exact { sub(left) } else { operand(left) };
            let product = matches!(&right.kind, ExprKind::Binary { op: BinOp::Mul, .. });
            let plain = matches!(op, BinOp::Add | BinOp::Sub) && product && !exact;
            let right = if plain { sub(right) } else { operand(right) };
            format!("{left}{}{right}", bin_op(*op))
        }
        ExprKind::Lazy { and, left, right } => {
            format!("{}{}{}", operand(left), if *and { "&&" } else { "||" }, operand(right))
        }
        ExprKind::Select { cond, then, otherwise } => {
            format!("{} ? {} : {}", operand(cond), operand(then), operand(otherwise))
        }
        ExprKind::Convert { operand: inner, mode } => {
            if exact {
                format!("{:?}<{:?}>({})", mode, expr.ty, sub(inner))
            } else {
                operand(inner)
            }
        }
        ExprKind::Math(function, args) => math(*function, &list(args)),
        ExprKind::Call(function, args) => format!("{function:?}({})", list(args)),
        ExprKind::Field(base, field) => format!("{}.{field}", operand(base)),
        ExprKind::Struct(id, args) => format!("{id:?}{{{}}}", list(args)),
    }
}

fn math(function: MathFn, args: &str) -> String {
    format!("{}({args})", function.name())
}

fn write_place(place: &Place, name: Namer<'_>, exact: bool) -> String {
    let mut text = name(place.array);
    for index in &place.index {
        text += &format!("[{}]", write_expr(index, name, exact));
    }
    for field in &place.path {
        text += &format!(".{field}");
    }
    text
}

fn write_const(value: Const, ty: Ty, exact: bool) -> String {
    let plain = match value {
        Const::Int(value) => value.to_string(),
        Const::Float(value) => format!("{value:?}"),
        Const::Bool(value) => value.to_string(),
    };
    match ty {
        Ty::Scalar(Scalar::I64) => plain,
        _ if exact => format!("{plain}:{ty:?}"),
        _ => plain,
    }
}

fn un_op(op: UnOp) -> &'static str {
    match op {
        UnOp::Neg => "-",
        UnOp::Not => "!",
        UnOp::BitNot => "~",
    }
}

/// The operator as HiDP writes it.
pub(super) fn bin_op(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Rem => "%",
        BinOp::And => "&",
        BinOp::Or => "|",
        BinOp::Xor => "^",
        BinOp::Shl => "<<",
        BinOp::Shr => ">>",
        BinOp::Lt => "<",
        BinOp::Le => "<=",
        BinOp::Gt => ">",
        BinOp::Ge => ">=",
        BinOp::Eq => "==",
        BinOp::Ne => "!=",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_syntax::index::Id;
    use hidp_syntax::source::FileId;

    fn span() -> Span {
        Span::new(FileId::new(0), 0, 0)
    }
    fn var(n: usize) -> Expr {
        Expr::read(VarId::new(n), Ty::LONG, span())
    }
    fn int(n: i64) -> Expr {
        Expr::int(n, span())
    }

    #[test]
    fn sums_in_another_order_are_the_same() {
        let a = Expr::long(BinOp::Add, var(0), Expr::long(BinOp::Add, var(1), int(1)));
        let b = Expr::long(BinOp::Add, Expr::long(BinOp::Add, int(1), var(1)), var(0));
        assert!(same(&a, &b));
        assert_eq!(difference(&a, &Expr::long(BinOp::Add, var(0), var(1))), Some(1));
        assert_eq!(difference(&a, &var(0)), None);
    }

    #[test]
    fn products_distribute() {
        // (n + 1) * (n - 1) = n * n - 1
        let a = Expr::long(BinOp::Mul, Expr::long(BinOp::Add, var(0), int(1)), Expr::long(BinOp::Sub, var(0), int(1)));
        let b = Expr::long(BinOp::Sub, Expr::long(BinOp::Mul, var(0), var(0)), int(1));
        assert!(same(&a, &b));
    }

    #[test]
    fn differences_cancel() {
        let n1 = Expr::long(BinOp::Add, var(0), int(1));
        assert_eq!(sub(&n1, &n1).as_int(), Some(0));
        assert!(matches!(sub(&n1, &int(1)).kind, ExprKind::Read(_)));
    }

    #[test]
    fn linear_in_one_variable() {
        let n = VarId::new(0);
        let two_n = Expr::long(BinOp::Mul, int(2), var(0));
        assert!(Linear::of(&two_n).is_linear_in(n));
        assert!(!Linear::of(&Expr::long(BinOp::Mul, var(0), var(0))).is_linear_in(n));
        assert!(!Linear::of(&var(1)).is_linear_in(n));
    }
}
