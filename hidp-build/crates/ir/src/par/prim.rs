//! Calls of primitives.

use super::{Access, Directives, Expr, FoldOp, ScalarFnId, Target, VarId};
use hidp_syntax::prim::{Form, Prim};
use hidp_syntax::source::Span;

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
    /// Values in and out of sort and partition; `vals` of histogram (no output), which counts without them.
    pub values: Option<(ArrayRef, Option<ArrayRef>)>,
    /// Scalar result: whole or in-map reduce, min, max; `count` of partition.
    pub result: Option<Target>,
    /// `new_low`, `new_high` of segmented partition.
    pub new_bounds: Option<(VarId, VarId)>,
    /// Whether iterations of a map around may write elements of each other's segments, which is a fault.
    pub access: Access,
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
