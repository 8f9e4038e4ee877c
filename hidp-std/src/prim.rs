//! The primitives of HiDP as functions on slices, vectors and `ndarray` views: no `.hdp` file needed. Cargo feature `prim`.
//!
//! ```
//! use hidp_std::Context;
//! use hidp_std::prim::{self, Order};
//!
//! # fn main() -> hidp_std::Result {
//! let cx = Context::new()?;
//! let mut keys = vec![3u32, 1, 2];
//! prim::sort(&cx, &mut keys, Order::Ascending)?;
//! assert_eq!(keys, [1, 2, 3]);
//! prim::scan(&cx, &mut keys, prim::Op::Add)?;
//! assert_eq!(keys, [1, 3, 6]);
//! assert_eq!(prim::reduce(&cx, &keys, prim::Op::Add)?, 10);
//! # Ok(())
//! # }
//! ```
//!
//! Functions of this module work on a whole array, those of [`segmented`] on many parts of one at once, those of [`regular`]
//! on parts of one size. All use the threads of the [`Context`] and the same kernels as `.hdp` programs.
//!
//! | | here | [`segmented`] | [`regular`] |
//! |---|---|---|---|
//! | sort | [`sort`], [`sort_by_key`] | [`sort`](segmented::sort), [`sort_by_key`](segmented::sort_by_key) | [`sort`](regular::sort), [`sort_by_key`](regular::sort_by_key) |
//! | prefixes | [`scan`], [`exscan`] | [`scan`](segmented::scan), [`exscan`](segmented::exscan) | [`scan`](regular::scan), [`exscan`](regular::exscan) |
//! | folds | [`reduce`], [`min`], [`max`] | [`reduce`](segmented::reduce) | [`reduce`](regular::reduce) |
//! | partition | [`partition`] | [`partition`](segmented::partition) | [`partition`](regular::partition) |
//! | reversal | [`reverse`] | [`reverse`](segmented::reverse) | [`reverse`](regular::reverse) |
//! | histogram | [`histogram`] | | |
//!
//! Elements are the scalar types of [`Element`]. Scans, folds and histograms take an [`Op`], for integers also a [`BitOp`]. Integers wrap. Floats
//! sort in IEEE 754's total order (-NaN, -∞ … -0, +0 … +∞, NaN); `min` and `max` ignore NaN; sums have the same bits on every
//! run with the same number of elements. Arrays may have more than 2^32 elements.
//!
//! # Errors
//! All functions return an [`Error`](crate::Error) if an array is not contiguous or memory runs out. Further errors are listed with each
//! function.

mod by_key;
mod element;
mod operator;
mod whole;

pub mod regular;
pub mod segmented;

pub use by_key::sort_by_key;
pub use element::{Element, Integer};
pub use operator::{BitOp, Op, Operator};
pub use whole::{exscan, histogram, max, min, partition, reduce, reverse, scan, sort};

/// Direction of a sort. Sorts are stable in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Smallest first.
    #[default]
    Ascending,
    /// Greatest first.
    Descending,
}

impl Order {
    /// As the language has it.
    fn dir(self) -> i32 {
        match self {
            Order::Ascending => 1,
            Order::Descending => -1,
        }
    }
}

/// Which elements a partition puts in front: those that compare this way with the pivot. A NaN never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Front {
    /// `x < pivot`
    Less,
    /// `x <= pivot`
    LessOrEqual,
    /// `x == pivot`
    Equal,
    /// `x > pivot`
    Greater,
    /// `x >= pivot`
    GreaterOrEqual,
}

impl Front {
    /// As `ordered.hdp` has it: bits for less, equal, greater.
    fn bits(self) -> i32 {
        match self {
            Front::Less => 1,
            Front::Equal => 2,
            Front::LessOrEqual => 3,
            Front::Greater => 4,
            Front::GreaterOrEqual => 6,
        }
    }
}
