//! Statements, places, maps and folds.

use super::{Const, Expr, FaultKind, FuncId, Pin, PrimCall, ScalarFnId, VarId};
use hidp_syntax::ast::{Level, PieceWay};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

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
    /// One of the pieces into which the dimension is cut.
    Piece(Piece),
}

/// A piece of a dimension of N elements. Behind the last piece, and of an empty dimension, pieces are empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// How the dimension is cut. Adjacent pieces hold `[at * q, at * q + q)`, as far as there are elements; strided ones `at`, `at + p`, …
    pub way: PieceWay,
    /// Number of the piece, from 0: an iterator that begins there.
    pub at: Expr,
    /// Whether `length` is q, the elements of a piece, rather than p, the number of pieces. Then q is N / p, rounded up.
    pub by: bool,
    /// Below 1 it is a fault.
    pub length: Expr,
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
    /// Variable of kind [`super::VarKind::Iter`].
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

impl FoldFn {
    /// The neutral element of a built-in operator.
    pub fn neutral(self, scalar: Scalar) -> Option<Const> {
        let range = scalar.integer_range();
        let of_integer = |value: i128| match scalar {
            Scalar::Bool => Const::Bool(value != 0),
            Scalar::F32 | Scalar::F64 => Const::Float(value as f64),
            _ => Const::Int(value),
        };
        // All bits: the largest value, or -1.
        let all = range.map_or(1, |(low, high)| if low == 0 { high } else { -1 });
        Some(match (self, range) {
            (FoldFn::Add | FoldFn::Or | FoldFn::Xor, _) => of_integer(0),
            (FoldFn::Mul, _) => of_integer(1),
            (FoldFn::Min, Some((_, high))) => of_integer(high),
            (FoldFn::Max, Some((low, _))) => of_integer(low),
            (FoldFn::Min, None) => Const::Float(f64::INFINITY),
            (FoldFn::Max, None) => Const::Float(f64::NEG_INFINITY),
            (FoldFn::And, _) => of_integer(all),
            (FoldFn::Fn(_), _) => return None,
        })
    }
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
    /// What is pinned of the mapping.
    pub pins: Vec<Pin>,
    /// Where the others stand.
    pub spans: DirectiveSpans,
}

/// Where directives stand. Two that ask for the same are equal wherever they do.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectiveSpans {
    /// The first word that names a level.
    pub level: Option<Span>,
    /// `block(n)`
    pub block: Option<Span>,
    /// `unroll(n)`
    pub unroll: Option<Span>,
}

impl PartialEq for DirectiveSpans {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
