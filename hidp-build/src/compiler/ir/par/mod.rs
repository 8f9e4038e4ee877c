//! `par`: nested maps and collectives over typed variables with symbolic shapes.
//!
//! `check` builds it from the syntax tree, passes transform it, `lower` turns a planned entry into [`super::imp`]. It is the
//! only place where front and back meet. Its interpreter is the meaning of the language.
//!
//! # Invariants (the verifier checks each after every pass)
//! 1. Every expression carries its exact type; operands of [`BinOp`] arithmetic, comparison and bit operations have one
//!    type (shifts: any integer on the right). Implicit conversions are explicit [`ExprKind::Convert`] nodes. Index and extent
//!    expressions are `long`. Conditions are `bool`.
//! 2. A variable is used only where it is in scope: parameters and dimensions everywhere, locals after their
//!    [`StmtKind::Declare`] in the same or an inner block, iterators inside their map (not in its own bounds).
//! 3. `index.len()` of a load, store or atomic equals the array's rank. Arrays never stand as values.
//! 4. Every fold's value is a scalar declared in the map's body; its `over` are iterators of its own map, without repetition.
//! 5. `Break` and `Continue` are inside a [`Loop`] of the same map level; `Leave` is inside its [`StmtKind::Scope`] and not
//!    across a map boundary.
//! 6. Iterations of a map write no element that another writes or reads unless the access says [`Access::Shared`] (or is atomic).
//! 7. After `instantiate` there is no [`StmtKind::Call`]; after `split`, folds are over all iterators of their map (reduce) or
//!    the map has exactly one iterator more than... each pass documents what it adds.

use crate::compiler::index::Arena;
use crate::compiler::prim::{Form, Prim};
use crate::compiler::source::Span;
use crate::compiler::syntax::ast::{Direction, Level};
use crate::compiler::ty::{Scalar, StructId, Ty};
use crate::define_id;

define_id! {
    /// A variable of one function: parameter, dimension, local, iterator.
    VarId, "v"
}
define_id! {
    /// A function over arrays.
    FuncId, "f"
}
define_id! {
    /// A scalar function.
    ScalarFnId, "s"
}

/// A whole build: all files together.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Struct types.
    pub structs: Arena<StructId, Struct>,
    /// Scalar functions, native ones included. None calls itself, directly or not.
    pub scalar_fns: Arena<ScalarFnId, ScalarFn>,
    /// Functions over arrays. None calls itself, directly or not.
    pub funcs: Arena<FuncId, Func>,
    /// The functions that get a wrapper, in source order.
    pub entries: Vec<FuncId>,
}

/// A struct type.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    /// Name.
    pub name: String,
    /// Fields in order: name and type. A field is a scalar or an earlier struct.
    pub fields: Vec<(String, Ty)>,
    /// Whether a C header defines it.
    pub native: bool,
    /// Comment above it.
    pub doc: Vec<String>,
    /// Declaration.
    pub span: Span,
}

/// A function of scalars. Its parameters and locals are variables of its own arena; its body holds only `Declare` of
/// scalars, `Assign`, `If`, `Loop`, `Break`, `Continue` and `Return`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarFn {
    /// Name.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<VarId>,
    /// Result.
    pub result: Ty,
    /// Variables.
    pub vars: Arena<VarId, Var>,
    /// Body; `None` when a C++ header defines it. Every path ends in `Return`.
    pub body: Option<Block>,
    /// Whether contraction to fused multiply-add is allowed.
    pub contract: bool,
    /// Declaration.
    pub span: Span,
}

/// A function over arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Func {
    /// Name.
    pub name: String,
    /// Comment above it.
    pub doc: Vec<String>,
    /// Parameters in the header's order.
    pub params: Vec<VarId>,
    /// Dimension names in order of first appearance; each is a `long` variable of kind [`VarKind::Dim`].
    pub dims: Vec<VarId>,
    /// Variables.
    pub vars: Arena<VarId, Var>,
    /// Body.
    pub body: Block,
    /// Whether contraction to fused multiply-add is allowed.
    pub contract: bool,
    /// Set by `unchecked`: bounds checks are dropped and the wrapper is `unsafe`.
    pub unchecked: bool,
    /// Name in the header.
    pub span: Span,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// Name as the user knows it; compiler-made ones describe their role and need not be unique.
    pub name: String,
    /// Type of the value or of the elements.
    pub ty: Ty,
    /// Extents, outermost first; empty for scalars. Expressions over dimensions, scalar parameters and constants
    /// (parameters), or over anything in scope at the declaration (locals; evaluated there, once).
    pub shape: Vec<Expr>,
    /// What it is.
    pub kind: VarKind,
    /// Where it was declared.
    pub span: Span,
}

impl Var {
    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        !self.shape.is_empty()
    }
}

/// What a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarKind {
    /// A dimension name: a `long` that the arguments' shapes bind.
    Dim,
    /// A parameter. An `output` that is not provably written in full keeps its old contents elsewhere.
    Param(Direction),
    /// A local of the host level or of a map's body, or a temporary of the compiler.
    Local,
    /// An iterator of a map: a `long`, never assigned.
    Iter,
}

/// Statements in order. Its locals end with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it comes from.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// A local comes to life. Arrays: extents are evaluated (a negative one, or a product that does not fit, is a fault). All zero.
    Declare {
        /// The local.
        var: VarId,
        /// Whether zeros must really be there; cleared by the pass that proves every element is written before it is read.
        zero: bool,
    },
    /// `var = value`, a scalar.
    Assign {
        /// Local, or scalar parameter.
        var: VarId,
        /// Value of the variable's type.
        value: Expr,
    },
    /// `var.path = value`, a field of a scalar of struct type.
    AssignField {
        /// Local, or scalar parameter.
        var: VarId,
        /// Field positions, outermost first; not empty.
        path: Vec<u32>,
        /// Value of the field's type.
        value: Expr,
    },
    /// `array[index].path = value`.
    Store {
        /// Target.
        place: Place,
        /// Value of the element's or field's type.
        value: Expr,
    },
    /// `place op= value`, indivisibly.
    Atomic {
        /// Target.
        place: Place,
        /// `+ * min max & | ^`.
        op: FoldOp,
        /// Value of the element's type.
        value: Expr,
    },
    /// Branch.
    If {
        /// `bool`.
        cond: Expr,
        /// When true.
        then: Block,
        /// When false.
        otherwise: Block,
    },
    /// `while (cond) { body } step`.
    Loop(Loop),
    /// Leaves the innermost loop.
    Break,
    /// Goes to the step of the innermost loop.
    Continue,
    /// A block that [`StmtKind::Leave`] leaves; made from inlined calls whose body returns early.
    Scope(Block),
    /// Leaves the innermost `Scope`, or the function where there is none (`return;`).
    Leave,
    /// `return value` of a scalar function.
    Return(Expr),
    /// A map.
    Map(Map),
    /// A primitive.
    Prim(Box<PrimCall>),
    /// Two host-level arrays of one type and shape exchange names.
    Swap(VarId, VarId),
    /// Inlined by `instantiate`.
    Call {
        /// The function.
        callee: FuncId,
        /// One argument a parameter.
        args: Vec<CallArg>,
    },
    /// A fault with this position unless `cond` holds.
    Require {
        /// Must be true.
        cond: Expr,
        /// Which fault it is otherwise.
        fault: FaultKind,
        /// What the message shows: a text and the `long` value beside it.
        values: Vec<(String, Expr)>,
    },
}

/// A sequential loop. `for` is a block of its initialiser and this.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Tested before each iteration.
    pub cond: Expr,
    /// Body.
    pub body: Block,
    /// Runs after the body and after `continue`.
    pub step: Block,
}

/// An element of an array, or a field of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The array.
    pub array: VarId,
    /// One `long` a dimension.
    pub index: Vec<Expr>,
    /// Field positions, outermost first; empty for the whole element.
    pub path: Vec<u32>,
    /// Bit d: dimension d has not been proved to be inside. Starts with every bit set.
    pub unproved: u32,
    /// Whether other iterations may touch the element at the same time.
    pub access: Access,
    /// Source text position of the access.
    pub span: Span,
}

/// Whether other iterations of an enclosing map may touch the same element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Proved not to be (or all only read). Plain loads and stores, free to vectorise.
    Exclusive,
    /// Perhaps: relaxed atomic loads and stores (per field of a struct).
    Shared,
}

/// An argument of an inlined call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallArg {
    /// Value of a scalar `input`.
    Value(Expr),
    /// Scalar variable passed as `output` or `inout`, or a scalar variable passed as `input`.
    Scalar(VarId),
    /// Array element passed as scalar `output` or `inout`.
    Element(Place),
    /// A whole array.
    Array(VarId),
    /// A section; copied in and out by `instantiate` unless it is a view that can be indexed in place.
    Section(Section),
}

/// A rectangular part of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The array.
    pub array: VarId,
    /// One entry a dimension of the array.
    pub dims: Vec<SectionDim>,
    /// Where it stands.
    pub span: Span,
}

/// One dimension of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionDim {
    /// `[e]`: dropped from the section's rank.
    At(Expr),
    /// `low, low + step, …` below `high` (half-open).
    Range {
        /// First index.
        low: Expr,
        /// One past the last.
        high: Expr,
        /// Positive.
        step: Expr,
    },
}

/// A map over the product of its iterators. Iterations are independent.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Iterators, outermost first. Bounds are evaluated before the map, in order.
    pub iters: Vec<Iter>,
    /// One iteration.
    pub body: Block,
    /// Folds of values that the iterations leave in locals of the body, in order.
    pub folds: Vec<Fold>,
    /// What the user asked of this map.
    pub directives: Directives,
}

/// An iterator: `lo, lo + step, …` below `hi`. Empty if `hi <= lo`.
#[derive(Clone, Debug, PartialEq)]
pub struct Iter {
    /// Variable of kind [`VarKind::Iter`].
    pub var: VarId,
    /// First value, `long`.
    pub lo: Expr,
    /// One past the last, `long`.
    pub hi: Expr,
    /// Stride, `long`; a fault unless positive. [`Expr::int`] 1 if none was written.
    pub step: Expr,
    /// Where it stands.
    pub span: Span,
}

/// What is folded how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldKind {
    /// One result.
    Reduce,
    /// Inclusive prefixes.
    Scan,
    /// Exclusive prefixes.
    Exscan,
}

/// A suffix of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// Which.
    pub kind: FoldKind,
    /// Operator; values convert to `op.ty`, the target's type, and fold in it.
    pub op: FoldOp,
    /// Where results go: a scalar of the enclosing level (reduce over all iterators), or elements indexed by the iterators
    /// that are not folded (reduce) or by all of them (scan), in any order, possibly by outer values too.
    pub target: Target,
    /// A scalar declared in the body, of type `op.ty`, assigned on every path.
    pub value: VarId,
    /// Iterators folded over. `Scan` and `Exscan` have exactly one.
    pub over: Vec<VarId>,
    /// Where it stands.
    pub span: Span,
}

/// Where one result goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A scalar.
    Scalar(VarId),
    /// An element.
    Element(Place),
}

/// The operator of a fold. Associative; only `ordered` ones are folded strictly left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldOp {
    /// Built in or a function.
    pub func: FoldFn,
    /// Type in which it folds: operands and result.
    pub ty: Ty,
    /// Result of an empty fold; `None` makes that a fault. Always there for built-in operators.
    pub neutral: Option<Box<Expr>>,
    /// Fold in iteration order.
    pub ordered: bool,
}

/// The function of a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldFn {
    /// `+`
    Add,
    /// `*`
    Mul,
    /// `min`; as the maths function on floats (a NaN operand gives the other)
    Min,
    /// `max`
    Max,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// A scalar function of two arguments.
    Fn(ScalarFnId),
}

/// What the user asked of a map or primitive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directives {
    /// Execution levels allowed for the first level; empty means any.
    pub levels: Vec<Level>,
    /// `ordered`
    pub ordered: bool,
    /// `unordered`
    pub unordered: bool,
    /// `block(n)`
    pub block: Option<u32>,
    /// `unroll(n)`
    pub unroll: Option<u32>,
}

/// A call of a primitive. Which fields are set follows from `prim` and `form`; the verifier knows the table.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimCall {
    /// Which.
    pub prim: Prim,
    /// Which form.
    pub form: Form,
    /// Segment bounds.
    pub extent: Extent,
    /// Operator of reduce, min, max, scan, exscan, histogram.
    pub op: Option<FoldOp>,
    /// Predicate of partition: `bool f(element, pivot)`.
    pub predicate: Option<ScalarFnId>,
    /// Pivot of partition: a scalar, or outside a map with vectors the array of pivots.
    pub pivot: Option<PrimValue>,
    /// `dir` of sort, `int`: 1 ascending, -1 descending, anything else is a fault.
    pub dir: Option<Expr>,
    /// Input keys; `keys` of histogram; the array of `reverse_inplace`.
    pub input: ArrayRef,
    /// Output keys; `out` of scan, reverse, histogram, regular and segmented reduce. `None` when `result` takes it.
    pub output: Option<ArrayRef>,
    /// Values in and out of sort and partition; `vals` of histogram (no output).
    pub values: Option<(ArrayRef, Option<ArrayRef>)>,
    /// Scalar result: whole or in-map reduce, min, max; `count` of partition.
    pub result: Option<Target>,
    /// `new_low`, `new_high` of segmented partition.
    pub new_bounds: Option<(VarId, VarId)>,
    /// What the user asked of it.
    pub directives: Directives,
    /// The call.
    pub span: Span,
}

/// Segment bounds of a primitive.
#[derive(Clone, Debug, PartialEq)]
pub enum Extent {
    /// `[0, size)`.
    Whole {
        /// `long`.
        size: Expr,
    },
    /// `[low, high)` of this instance.
    Segment {
        /// `long`.
        low: Expr,
        /// `long`.
        high: Expr,
    },
    /// All segments `[low[i], high[i])` at once. Rank-1 integer arrays (or sections) of one length.
    Vectors {
        /// First indices.
        low: ArrayRef,
        /// One past the last indices.
        high: ArrayRef,
    },
    /// `num_seg` segments of `seg_size`.
    Regular {
        /// `long`, not negative.
        seg_size: Expr,
        /// `long`, not negative.
        num_seg: Expr,
    },
}

/// A rank-1 array, or a row of an array: `array[prefix…][*]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayRef {
    /// The array.
    pub array: VarId,
    /// Leading indices, `long`; one fewer than the array's rank.
    pub prefix: Vec<Expr>,
    /// Offset of element 0 within the last dimension (a contiguous section's lower bound), `long`.
    pub offset: Expr,
    /// Number of elements that may be used from there, `long`.
    pub len: Expr,
    /// Where it stands.
    pub span: Span,
}

/// A scalar or an array of scalars.
#[derive(Clone, Debug, PartialEq)]
pub enum PrimValue {
    /// One value.
    Scalar(Expr),
    /// One a segment.
    Array(ArrayRef),
}

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
        matches!(
            self,
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne
        )
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

/// What can go wrong while a program runs. The run time holds the same numbers (`hidp_std::rt::FaultKind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum FaultKind {
    /// Values: index, extent, dimension (from 0).
    Index = 1,
    /// Values: low, high, length of the array.
    Segment = 2,
    /// Values: the two extents.
    Shape = 3,
    /// Values: stride.
    Stride = 4,
    /// Values: the size.
    NegativeSize = 5,
    /// Values: dividend.
    DivisionByZero = 6,
    /// Values: shift count, width in bits.
    Shift = 7,
    /// Values: the value.
    Narrowing = 8,
    /// No values.
    EmptyFold = 9,
    /// Values: bytes asked for.
    Allocation = 10,
    /// Values: the factors.
    SizeOverflow = 11,
    /// Values: key, number of bins.
    HistogramKey = 12,
    /// Values: dir.
    SortDirection = 13,
    /// Values: two segments (linear numbers) whose outputs overlap.
    SegmentOverlap = 14,
}

impl Expr {
    /// A `long` constant.
    pub fn int(value: i64, span: Span) -> Expr {
        Expr {
            kind: ExprKind::Const(Const::Int(value.into())),
            ty: Ty::LONG,
            span,
        }
    }
    /// Reads a scalar variable of type `ty`.
    pub fn read(var: VarId, ty: Ty, span: Span) -> Expr {
        Expr {
            kind: ExprKind::Read(var),
            ty,
            span,
        }
    }
    /// `left op right` on `long`s that cannot fault (`+ - *` and comparisons).
    pub fn long(op: BinOp, left: Expr, right: Expr) -> Expr {
        let span = left.span;
        let ty = if op.is_comparison() {
            Ty::BOOL
        } else {
            Ty::LONG
        };
        Expr {
            kind: ExprKind::Binary {
                op,
                left: Box::new(left),
                right: Box::new(right),
                checked: false,
            },
            ty,
            span,
        }
    }
    /// The value if it is an integer constant.
    pub fn as_int(&self) -> Option<i128> {
        match self.kind {
            ExprKind::Const(Const::Int(value)) => Some(value),
            _ => None,
        }
    }
    /// The scalar type of a value that is no struct.
    pub fn scalar(&self) -> Scalar {
        self.ty.scalar().expect("a scalar expression")
    }
}
