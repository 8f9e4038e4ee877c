//! Expressions.

use super::{Place, ScalarFnId, VarId};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, StructId, Ty};

/// An expression without side effects. It may fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Type of the value.
    pub ty: Ty,
    /// Where it comes from.
    pub span: Span,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant of the expression's type.
    Const(Const),
    /// Value of a scalar variable, dimension or iterator.
    Read(VarId),
    /// An element (or field of one).
    Load(Place),
    /// `-a` (wraps), `!a`, `~a`.
    Unary(UnOp, Box<Expr>),
    /// `a op b`.
    Binary {
        /// Operator.
        op: BinOp,
        /// Left.
        left: Box<Expr>,
        /// Right.
        right: Box<Expr>,
        /// For integer `/ %` and shifts: whether the fault must still be tested for. `false` on all others.
        checked: bool,
    },
    /// `a && b`, `a || b`: right evaluated only if needed.
    Lazy {
        /// `&&` rather than `||`.
        and: bool,
        /// Left.
        left: Box<Expr>,
        /// Right.
        right: Box<Expr>,
    },
    /// `c ? a : b`: only one evaluated.
    Select {
        /// `bool`.
        cond: Box<Expr>,
        /// When true.
        then: Box<Expr>,
        /// When false.
        otherwise: Box<Expr>,
    },
    /// Conversion between scalar types.
    Convert {
        /// Operand.
        operand: Box<Expr>,
        /// How.
        mode: ConvertMode,
    },
    /// A maths function.
    Math(MathFn, Vec<Expr>),
    /// A scalar function.
    Call(ScalarFnId, Vec<Expr>),
    /// A field of a struct value.
    Field(Box<Expr>, u32),
    /// A struct value, all fields in order.
    Struct(StructId, Vec<Expr>),
}

/// How a conversion treats values that do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertMode {
    /// As Rust's `as`: wraps integers, rounds floats, saturates float to integer, NaN gives 0; to `bool`: not equal to 0.
    Cast,
    /// Integer to narrower integer: a fault if it does not fit (implicit narrowing of dimension expressions).
    Checked,
}

/// A constant. Its type is the expression's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Const {
    /// Any integer type; the value fits it.
    Int(i128),
    /// `double`, or `float` exactly representable.
    Float(f64),
    /// `bool`
    Bool(bool),
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnOp {
    /// Wrapping on integers.
    Neg,
    /// `bool`
    Not,
    /// Integers.
    BitNot,
}

/// Infix operators on operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    /// Truncates. Integer `MIN / -1` wraps to `MIN`, `MIN % -1` is 0.
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

impl BinOp {
    /// Whether the result is `bool` rather than the operands' type.
    pub const fn is_comparison(self) -> bool {
        matches!(self, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne)
    }
    /// The comparison that holds where this one does not; any other operator as it is.
    pub const fn negated(self) -> BinOp {
        match self {
            BinOp::Lt => BinOp::Ge,
            BinOp::Le => BinOp::Gt,
            BinOp::Gt => BinOp::Le,
            BinOp::Ge => BinOp::Lt,
            BinOp::Eq => BinOp::Ne,
            BinOp::Ne => BinOp::Eq,
            BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Rem
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Shr => self,
        }
    }
    /// The comparison with its operands exchanged; any other operator as it is.
    pub const fn mirrored(self) -> BinOp {
        match self {
            BinOp::Lt => BinOp::Gt,
            BinOp::Le => BinOp::Ge,
            BinOp::Gt => BinOp::Lt,
            BinOp::Ge => BinOp::Le,
            BinOp::Eq
            | BinOp::Ne
            | BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Rem
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Shr => self,
        }
    }
}

macro_rules! math_fns {
    ($($variant:ident $name:literal $arity:literal;)*) => {
        /// A maths function. Works in its operands' one type; `Abs`, `Min`, `Max` also on integers (`abs` wraps), all others on floats.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        pub enum MathFn { $($variant,)* }

        impl MathFn {
            /// Every maths function.
            pub const ALL: &'static [MathFn] = &[$(MathFn::$variant),*];
            /// Its name in HiDP, which is C's name for `double`.
            pub const fn name(self) -> &'static str { match self { $(MathFn::$variant => $name,)* } }
            /// Number of operands.
            pub const fn arity(self) -> usize { match self { $(MathFn::$variant => $arity,)* } }
        }
    };
}

math_fns! {
    Abs "abs" 1; Min "min" 2; Max "max" 2; Fma "fma" 3;
    Sqrt "sqrt" 1; Cbrt "cbrt" 1; Hypot "hypot" 2;
    Exp "exp" 1; Exp2 "exp2" 1; Expm1 "expm1" 1; Log "log" 1; Log2 "log2" 1; Log10 "log10" 1; Log1p "log1p" 1; Pow "pow" 2;
    Sin "sin" 1; Cos "cos" 1; Tan "tan" 1; Asin "asin" 1; Acos "acos" 1; Atan "atan" 1; Atan2 "atan2" 2;
    Sinh "sinh" 1; Cosh "cosh" 1; Tanh "tanh" 1; Asinh "asinh" 1; Acosh "acosh" 1; Atanh "atanh" 1;
    Floor "floor" 1; Ceil "ceil" 1; Trunc "trunc" 1; Round "round" 1; Rint "rint" 1; Fmod "fmod" 2; Copysign "copysign" 2;
    Erf "erf" 1; Erfc "erfc" 1; Tgamma "tgamma" 1; Lgamma "lgamma" 1; Isnan "isnan" 1; Isinf "isinf" 1; Isfinite "isfinite" 1;
}

impl Expr {
    /// A `long` constant.
    pub fn int(value: i64, span: Span) -> Expr {
        Expr { kind: ExprKind::Const(Const::Int(value.into())), ty: Ty::LONG, span }
    }
    /// Reads a scalar variable of type `ty`.
    pub fn read(var: VarId, ty: Ty, span: Span) -> Expr {
        Expr { kind: ExprKind::Read(var), ty, span }
    }
    /// `left op right` on `long`s that cannot fault (`+ - *` and comparisons).
    pub fn long(op: BinOp, left: Expr, right: Expr) -> Expr {
        let span = left.span;
        let ty = if op.is_comparison() { Ty::BOOL } else { Ty::LONG };
        Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), checked: false }, ty, span }
    }
    /// The value if it is an integer constant.
    pub fn as_int(&self) -> Option<i128> {
        match self.kind {
            ExprKind::Const(Const::Int(value)) => Some(value),
            _ => None,
        }
    }
    /// When this is 1, if it is 0 otherwise.
    pub fn as_flag(&self) -> Option<&Expr> {
        let ExprKind::Select { cond, then, otherwise } = &self.kind else { return None };
        (then.as_int() == Some(1) && otherwise.as_int() == Some(0)).then_some(cond)
    }
    /// The scalar type of a value that is no struct.
    pub fn scalar(&self) -> Scalar {
        self.ty.scalar().expect("a scalar expression")
    }
}
