//! Operators of scans and folds.

use super::element::sealed::{Bits, Kernels, Sums};
use super::element::{In, Out, Segments, cast, cast_mut};
use super::{Element, Integer};
use crate::{Context, Result};

/// The operator of a scan or a fold, for every element type; see [`BitOp`] for integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Sum; neutral element 0.
    Add,
    /// Product; neutral element 1.
    Mul,
    /// Minimum; neutral element: the greatest value of the type (for floats, ∞).
    Min,
    /// Maximum; neutral element: the smallest value of the type (for floats, -∞).
    Max,
}

/// A bitwise operator of a scan or a fold of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// Bitwise and; neutral element: all bits set.
    And,
    /// Bitwise or; neutral element: no bit set.
    Or,
    /// Bitwise exclusive or; neutral element: no bit set.
    Xor,
}

/// An operator for elements of type `T`: an [`Op`], or for integers a [`BitOp`].
pub trait Operator<T>: sealed::Apply<T> + Copy {}

impl<T: Element> Operator<T> for Op {}
impl<T: Integer> Operator<T> for BitOp {}

pub(super) mod sealed {
    use super::*;

    /// Which kernels an operator calls.
    pub trait Apply<T> {
        fn scan(self, cx: &Context, data: Out<'_, T>, parts: Option<Segments<'_>>, exclusive: bool) -> Result;
        fn reduce(self, cx: &Context, data: In<'_, T>) -> Result<T>;
        fn reduce_parts(self, cx: &Context, data: In<'_, T>, segments: Segments<'_>, out: Out<'_, T>) -> Result;
        fn histogram(self, cx: &Context, keys: In<'_, u32>, values: In<'_, T>, bins: Out<'_, T>) -> Result;
    }
}

impl<T: Element> sealed::Apply<T> for Op {
    fn scan(self, cx: &Context, data: Out<'_, T>, parts: Option<Segments<'_>>, exclusive: bool) -> Result {
        match self {
            Op::Add => <T as Kernels>::Sums::scan(cx, &mut cast_mut(data), parts, false, exclusive),
            Op::Mul => <T as Kernels>::Sums::scan(cx, &mut cast_mut(data), parts, true, exclusive),
            Op::Min => T::most_scan(cx, data, parts, true, exclusive),
            Op::Max => T::most_scan(cx, data, parts, false, exclusive),
        }
    }
    fn reduce(self, cx: &Context, data: In<'_, T>) -> Result<T> {
        match self {
            Op::Add => <T as Kernels>::Sums::reduce(cx, &cast(data), false).map(T::from_sum),
            Op::Mul => <T as Kernels>::Sums::reduce(cx, &cast(data), true).map(T::from_sum),
            Op::Min => T::most_reduce(cx, data, true),
            Op::Max => T::most_reduce(cx, data, false),
        }
    }
    fn reduce_parts(self, cx: &Context, data: In<'_, T>, segments: Segments<'_>, out: Out<'_, T>) -> Result {
        match self {
            Op::Add => <T as Kernels>::Sums::reduce_parts(cx, &cast(data), segments, false, &mut cast_mut(out)),
            Op::Mul => <T as Kernels>::Sums::reduce_parts(cx, &cast(data), segments, true, &mut cast_mut(out)),
            Op::Min => T::most_reduce_parts(cx, data, segments, true, out),
            Op::Max => T::most_reduce_parts(cx, data, segments, false, out),
        }
    }
    fn histogram(self, cx: &Context, keys: In<'_, u32>, values: In<'_, T>, bins: Out<'_, T>) -> Result {
        match self {
            Op::Add => <T as Kernels>::Sums::histogram(cx, keys, &cast(values), false, &mut cast_mut(bins)),
            Op::Mul => <T as Kernels>::Sums::histogram(cx, keys, &cast(values), true, &mut cast_mut(bins)),
            Op::Min => T::most_histogram(cx, keys, values, true, bins),
            Op::Max => T::most_histogram(cx, keys, values, false, bins),
        }
    }
}

impl BitOp {
    /// As `bits.hdp` has it.
    fn number(self) -> i32 {
        match self {
            BitOp::And => 0,
            BitOp::Or => 1,
            BitOp::Xor => 2,
        }
    }
}

impl<T: Integer> sealed::Apply<T> for BitOp {
    fn scan(self, cx: &Context, data: Out<'_, T>, parts: Option<Segments<'_>>, exclusive: bool) -> Result {
        <T as Kernels>::Bits::scan(cx, &mut cast_mut(data), parts, self.number(), exclusive)
    }
    fn reduce(self, cx: &Context, data: In<'_, T>) -> Result<T> {
        <T as Kernels>::Bits::reduce(cx, &cast(data), self.number()).map(T::from_bits)
    }
    fn reduce_parts(self, cx: &Context, data: In<'_, T>, segments: Segments<'_>, out: Out<'_, T>) -> Result {
        <T as Kernels>::Bits::reduce_parts(cx, &cast(data), segments, self.number(), &mut cast_mut(out))
    }
    fn histogram(self, cx: &Context, keys: In<'_, u32>, values: In<'_, T>, bins: Out<'_, T>) -> Result {
        <T as Kernels>::Bits::histogram(cx, keys, &cast(values), self.number(), &mut cast_mut(bins))
    }
}
