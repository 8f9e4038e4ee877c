//! Values while they are checked: literals keep no type until something gives them one.

use hidp_ir::par::{BinOp, Expr, MathFn, UnOp};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

/// A checked expression.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// Built from literals alone: takes its type from where it stands.
    Untyped(Untyped),
    /// Has its type.
    Typed {
        /// The expression.
        expr: Expr,
        /// A `long` made of dimension names, iterators and literals only: narrows implicitly, with a range check.
        dimension: bool,
    },
}

impl Val {
    pub(super) fn typed(expr: Expr) -> Val {
        Val::Typed { expr, dimension: false }
    }

    pub(super) fn span(&self) -> Span {
        match self {
            Val::Untyped(untyped) => untyped.span,
            Val::Typed { expr, .. } => expr.span,
        }
    }

    /// The type it has, or takes when nothing else decides.
    pub(super) fn default_ty(&self) -> Ty {
        match self {
            Val::Untyped(untyped) => untyped.default_scalar().into(),
            Val::Typed { expr, .. } => expr.ty,
        }
    }
}

/// A value without a type.
#[derive(Clone, Debug)]
pub(super) struct Untyped {
    pub(super) kind: UntypedKind,
    pub(super) span: Span,
}

/// What an untyped value is made of.
#[derive(Clone, Debug)]
pub(super) enum UntypedKind {
    /// An integer; sums, differences and products of literals are folded into one.
    Int(i128),
    /// `'c'`
    Char(u8),
    /// Digits with `.` or exponent.
    Float(String),
    /// `INFINITY`
    Infinity,
    /// `NAN`
    Nan,
    /// `-a` or `~a`
    Unary(UnOp, Box<Untyped>),
    /// Arithmetic; never a comparison.
    Binary(BinOp, Box<Untyped>, Box<Untyped>),
    /// A shift, whose right side has its own type.
    Shift(BinOp, Box<Untyped>, Box<Expr>),
    /// `c ? a : b`
    Select(Box<Expr>, Box<Untyped>, Box<Untyped>),
    /// A maths function of untyped operands.
    Math(MathFn, Vec<Untyped>),
}

impl Untyped {
    /// Whether it is a number with a fraction.
    pub(super) fn is_float(&self) -> bool {
        match &self.kind {
            UntypedKind::Int(_) | UntypedKind::Char(_) => false,
            UntypedKind::Float(_) | UntypedKind::Infinity | UntypedKind::Nan => true,
            UntypedKind::Unary(_, operand) => operand.is_float(),
            UntypedKind::Binary(_, left, right) => left.is_float() || right.is_float(),
            UntypedKind::Shift(..) => false,
            UntypedKind::Select(_, then, otherwise) => then.is_float() || otherwise.is_float(),
            UntypedKind::Math(function, args) => !works_on_integers(*function) || args.iter().any(Untyped::is_float),
        }
    }

    /// Whether the operation at the top works on integers only, so that it is done before a conversion to a float type.
    pub(super) fn is_integer_operation(&self) -> bool {
        match &self.kind {
            UntypedKind::Unary(op, _) => *op == UnOp::BitNot,
            UntypedKind::Binary(op, ..) => matches!(op, BinOp::Rem | BinOp::And | BinOp::Or | BinOp::Xor),
            UntypedKind::Shift(..) => true,
            UntypedKind::Int(_)
            | UntypedKind::Char(_)
            | UntypedKind::Float(_)
            | UntypedKind::Infinity
            | UntypedKind::Nan
            | UntypedKind::Select(..)
            | UntypedKind::Math(..) => false,
        }
    }

    /// The type it takes when nothing else decides.
    pub(super) fn default_scalar(&self) -> Scalar {
        if self.is_float() { Scalar::F64 } else { self.default_integer() }
    }

    fn default_integer(&self) -> Scalar {
        match &self.kind {
            UntypedKind::Char(_) => Scalar::I8,
            UntypedKind::Int(value) => int_type(*value),
            UntypedKind::Unary(_, operand) => operand.default_integer(),
            UntypedKind::Shift(_, left, _) => wider(left.default_integer(), Scalar::I8),
            UntypedKind::Binary(_, left, right) | UntypedKind::Select(_, left, right) => {
                wider(left.default_integer(), right.default_integer())
            }
            UntypedKind::Math(_, args) => {
                args.iter().map(Untyped::default_integer).reduce(wider).unwrap_or(Scalar::I32)
            }
            UntypedKind::Float(_) | UntypedKind::Infinity | UntypedKind::Nan => Scalar::I32,
        }
    }
}

fn int_type(value: i128) -> Scalar {
    [Scalar::I32, Scalar::I64].into_iter().find(|ty| fits(value, *ty)).unwrap_or(Scalar::U64)
}

fn wider(a: Scalar, b: Scalar) -> Scalar {
    a.meet(b).unwrap_or(Scalar::U64)
}

/// Whether an integer is a value of the type; floats hold all.
pub(super) fn fits(value: i128, ty: Scalar) -> bool {
    ty.integer_range().is_none_or(|(low, high)| low <= value && value <= high)
}

/// Whether a maths function takes integers too.
pub(super) fn works_on_integers(function: MathFn) -> bool {
    matches!(function, MathFn::Abs | MathFn::Min | MathFn::Max)
}

/// Whether a maths function gives a truth value.
pub(super) fn is_predicate(function: MathFn) -> bool {
    matches!(function, MathFn::Isnan | MathFn::Isinf | MathFn::Isfinite)
}
