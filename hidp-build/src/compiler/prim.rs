//! THE primitive table: one row for each primitive, from which checking, planning and emission are driven.

/// A primitive of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prim {
    /// Smallest element.
    Min,
    /// Largest element.
    Max,
    /// Fold of a segment.
    Reduce,
    /// Inclusive prefix fold.
    Scan,
    /// Exclusive prefix fold.
    Exscan,
    /// Stable sort, with or without values.
    Sort,
    /// Stable partition by a predicate and a pivot.
    Partition,
    /// Reversal.
    Reverse,
    /// Reversal in place.
    ReverseInplace,
    /// `out[keys[i]] op= vals[i]`.
    Histogram,
}

/// Where the segments of a primitive come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// One segment `[0, size)`.
    Whole,
    /// One segment `[low, high)` an instance inside a map; with vectors outside a map, segment i is `[low[i], high[i])`.
    Segments,
    /// `num_seg` segments of `seg_size` each, one after the other.
    Regular,
}
