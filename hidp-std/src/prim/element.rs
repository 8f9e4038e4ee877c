//! The types of elements, and which kernels are theirs.

use std::marker::PhantomData;

use crate::view::{OnDevice, OnDeviceMut};
use crate::{Context, Result, View, ViewError, ViewMut, kernels};

/// A type of elements that the primitives are compiled for: `i8` to `i64`, `u8` to `u64`, `f32`, `f64`.
pub trait Element: sealed::Kernels + PartialOrd + Send + Sync + 'static {}

impl<T: sealed::Kernels + PartialOrd + Send + Sync + 'static> Element for T {}

/// An [`Element`] that is an integer.
pub trait Integer: Element {}

macro_rules! integers {
    ($($ty:ty)*) => { $(impl Integer for $ty {})* };
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);

/// An argument that is read.
pub(crate) type In<'a, T> = &'a dyn View<T, 1>;
/// An argument that is written.
pub(crate) type Out<'a, T> = &'a mut dyn ViewMut<T, 1>;

/// Parts of an array.
#[derive(Clone, Copy)]
pub enum Segments<'a> {
    /// `[low[i], high[i])`
    Between(In<'a, i64>, In<'a, i64>),
    /// Size and number.
    Regular(i64, i64),
}

/// Whether a key is an unsigned integer, a signed one or a float, as `bits.hdp` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its own image.
    Unsigned = 0,
    /// Two's complement.
    Signed = 1,
    /// IEEE 754.
    Float = 2,
}

pub(super) mod sealed {
    use std::cmp::Ordering;

    use super::*;

    /// The kernels of a type: those that compare elements.
    pub trait Kernels: Copy {
        /// Of its size and valid for all bits: adds and multiplies in its place.
        type Sums: Sums + Kernels;
        /// Of its size: works on its bits.
        type Bits: Bits + Kernels;
        const KIND: Kind;

        /// A sum of such elements.
        fn from_sum(sum: Self::Sums) -> Self;
        /// An element of these bits.
        fn from_bits(bits: Self::Bits) -> Self;
        /// The order of sorts.
        fn total_order(&self, other: &Self) -> Ordering;
        fn sort(cx: &Context, a: Out<'_, Self>, parts: Option<Segments<'_>>, dir: i32) -> Result;
        fn most_scan(
            cx: &Context,
            a: Out<'_, Self>,
            parts: Option<Segments<'_>>,
            least: bool,
            exclusive: bool,
        ) -> Result;
        fn most_reduce(cx: &Context, a: In<'_, Self>, least: bool) -> Result<Self>;
        fn most_reduce_parts(
            cx: &Context,
            a: In<'_, Self>,
            segments: Segments<'_>,
            least: bool,
            out: Out<'_, Self>,
        ) -> Result;
        fn most_histogram(
            cx: &Context,
            keys: In<'_, u32>,
            values: In<'_, Self>,
            least: bool,
            bins: Out<'_, Self>,
        ) -> Result;
        fn partition(cx: &Context, a: In<'_, Self>, pivot: Self, front: i32, b: Out<'_, Self>) -> Result<i64>;
        fn partition_parts(
            cx: &Context,
            a: In<'_, Self>,
            pivots: In<'_, Self>,
            bounds: [In<'_, i64>; 2],
            front: i32,
            b: Out<'_, Self>,
            middle: Out<'_, i64>,
        ) -> Result;
        fn partition_regular(
            cx: &Context,
            a: In<'_, Self>,
            pivots: In<'_, Self>,
            size: i64,
            front: i32,
            b: Out<'_, Self>,
            middle: Out<'_, i64>,
        ) -> Result;
    }

    /// Kernels that add and multiply.
    pub trait Sums: Copy {
        fn scan(cx: &Context, a: Out<'_, Self>, parts: Option<Segments<'_>>, product: bool, exclusive: bool) -> Result;
        fn reduce(cx: &Context, a: In<'_, Self>, product: bool) -> Result<Self>;
        fn reduce_parts(
            cx: &Context,
            a: In<'_, Self>,
            segments: Segments<'_>,
            product: bool,
            out: Out<'_, Self>,
        ) -> Result;
        fn histogram(
            cx: &Context,
            keys: In<'_, u32>,
            values: In<'_, Self>,
            product: bool,
            bins: Out<'_, Self>,
        ) -> Result;
    }

    /// Kernels on bits.
    pub trait Bits: Copy {
        fn to_image(cx: &Context, a: Out<'_, Self>, kind: i32) -> Result;
        fn from_image(cx: &Context, a: Out<'_, Self>, kind: i32) -> Result;
        fn sort_order(
            cx: &Context,
            a: Out<'_, Self>,
            order: Out<'_, u32>,
            parts: Option<Segments<'_>>,
            dir: i32,
        ) -> Result;
        fn scan(cx: &Context, a: Out<'_, Self>, parts: Option<Segments<'_>>, op: i32, exclusive: bool) -> Result;
        fn reduce(cx: &Context, a: In<'_, Self>, op: i32) -> Result<Self>;
        fn reduce_parts(cx: &Context, a: In<'_, Self>, segments: Segments<'_>, op: i32, out: Out<'_, Self>) -> Result;
        fn histogram(cx: &Context, keys: In<'_, u32>, values: In<'_, Self>, op: i32, bins: Out<'_, Self>) -> Result;
        fn reverse(cx: &Context, a: Out<'_, Self>, parts: Option<Segments<'_>>) -> Result;
    }
}

/// A view of elements of another type of the same size.
pub(super) struct As<V, T>(V, PhantomData<T>);

/// The array with elements that are other numbers of the same size.
pub(super) fn cast<T>(view: In<'_, T>) -> As<In<'_, T>, T> {
    As(view, PhantomData)
}

/// The same for an array that is written.
pub(super) fn cast_mut<T>(view: Out<'_, T>) -> As<Out<'_, T>, T> {
    As(view, PhantomData)
}

impl<T: sealed::Kernels, U: sealed::Kernels> View<U, 1> for As<In<'_, T>, T> {
    fn elements(&self) -> std::result::Result<(&[U], [usize; 1]), ViewError> {
        let (elements, shape) = self.0.elements()?;
        const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>()) };
        // SAFETY: `T` and `U` are integers or floats of one size, the only types with kernels; all bits are valid for them.
        Ok((unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), elements.len()) }, shape))
    }
    fn on_device(&self) -> Option<OnDevice<'_, U, 1>> {
        self.0.on_device().map(|array| OnDevice::new(array.away, array.shape))
    }
}

impl<T: sealed::Kernels, U: sealed::Kernels> ViewMut<U, 1> for As<Out<'_, T>, T> {
    fn elements_mut(&mut self) -> std::result::Result<(&mut [U], [usize; 1]), ViewError> {
        let (elements, shape) = self.0.elements_mut()?;
        const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>()) };
        // SAFETY: as above; the slice is borrowed for as long as the result.
        Ok((unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), elements.len()) }, shape))
    }
    fn on_device_mut(&mut self) -> Option<OnDeviceMut<'_, U, 1>> {
        let OnDeviceMut { array, .. } = self.0.on_device_mut()?;
        Some(OnDeviceMut::new(OnDevice::new(array.away, array.shape)))
    }
}

/// Calls the kernel of the whole array or of its parts.
macro_rules! for_parts {
    ($parts:expr, $cx:expr, [$($array:expr),+], [$($option:expr),*], $whole:path, $between:path, $regular:path) => {
        match $parts {
            None => $whole($cx, $($array,)+ $($option),*),
            Some(Segments::Between(low, high)) => $between($cx, $($array,)+ low, high, $($option),*),
            Some(Segments::Regular(size, count)) => $regular($cx, $($array,)+ size, count, $($option),*),
        }
    };
}

macro_rules! ordered {
    ($($ty:ty, $module:ident, $sums:ty, $bits:ty, $kind:ident, $order:path;)*) => {$(
        impl sealed::Kernels for $ty {
            type Sums = $sums;
            type Bits = $bits;
            const KIND: Kind = Kind::$kind;

            fn from_sum(sum: $sums) -> Self {
                <$ty>::from_ne_bytes(sum.to_ne_bytes())
            }
            fn from_bits(bits: $bits) -> Self {
                <$ty>::from_ne_bytes(bits.to_ne_bytes())
            }
            fn total_order(&self, other: &Self) -> std::cmp::Ordering {
                $order(self, other)
            }
            fn sort(cx: &Context, a: Out<'_, Self>, parts: Option<Segments<'_>>, dir: i32) -> Result {
                use kernels::$module::{regular_sort, segmented_sort, sort_all};
                for_parts!(parts, cx, [a], [dir], sort_all, segmented_sort, regular_sort)
            }
            fn most_scan(
                cx: &Context,
                a: Out<'_, Self>,
                parts: Option<Segments<'_>>,
                least: bool,
                exclusive: bool,
            ) -> Result {
                use kernels::$module::{most_scan, regular_most_scan, segmented_most_scan};
                for_parts!(parts, cx, [a], [least, exclusive], most_scan, segmented_most_scan, regular_most_scan)
            }
            fn most_reduce(cx: &Context, a: In<'_, Self>, least: bool) -> Result<Self> {
                kernels::$module::most_reduce(cx, a, least)
            }
            fn most_reduce_parts(
                cx: &Context,
                a: In<'_, Self>,
                segments: Segments<'_>,
                least: bool,
                out: Out<'_, Self>,
            ) -> Result {
                match segments {
                    Segments::Between(low, high) => {
                        kernels::$module::segmented_most_reduce(cx, a, low, high, out, least)
                    }
                    Segments::Regular(size, _) => kernels::$module::regular_most_reduce(cx, a, size, out, least),
                }
            }
            fn most_histogram(
                cx: &Context,
                keys: In<'_, u32>,
                values: In<'_, Self>,
                least: bool,
                bins: Out<'_, Self>,
            ) -> Result {
                kernels::$module::histogram_most(cx, keys, values, bins, least)
            }
            fn partition(cx: &Context, a: In<'_, Self>, pivot: Self, front: i32, b: Out<'_, Self>) -> Result<i64> {
                kernels::$module::partition_all(cx, a, pivot, front, b)
            }
            fn partition_parts(
                cx: &Context,
                a: In<'_, Self>,
                pivots: In<'_, Self>,
                [low, high]: [In<'_, i64>; 2],
                front: i32,
                b: Out<'_, Self>,
                middle: Out<'_, i64>,
            ) -> Result {
                kernels::$module::segmented_partition(cx, a, pivots, low, high, front, b, middle)
            }
            fn partition_regular(
                cx: &Context,
                a: In<'_, Self>,
                pivots: In<'_, Self>,
                size: i64,
                front: i32,
                b: Out<'_, Self>,
                middle: Out<'_, i64>,
            ) -> Result {
                kernels::$module::regular_partition(cx, a, pivots, size, front, b, middle)
            }
        }
    )*};
}

ordered! {
    i8, i8s, u8, u8, Signed, Ord::cmp;
    i16, i16s, u16, u16, Signed, Ord::cmp;
    i32, i32s, u32, u32, Signed, Ord::cmp;
    i64, i64s, u64, u64, Signed, Ord::cmp;
    u8, u8s, u8, u8, Unsigned, Ord::cmp;
    u16, u16s, u16, u16, Unsigned, Ord::cmp;
    u32, u32s, u32, u32, Unsigned, Ord::cmp;
    u64, u64s, u64, u64, Unsigned, Ord::cmp;
    f32, f32s, f32, u32, Float, f32::total_cmp;
    f64, f64s, f64, u64, Float, f64::total_cmp;
}

macro_rules! sums {
    ($($ty:ty, $module:ident;)*) => {$(
        impl sealed::Sums for $ty {
            fn scan(
                cx: &Context,
                a: Out<'_, Self>,
                parts: Option<Segments<'_>>,
                product: bool,
                exclusive: bool,
            ) -> Result {
                use kernels::$module::{regular_sum_scan, segmented_sum_scan, sum_scan};
                for_parts!(parts, cx, [a], [product, exclusive], sum_scan, segmented_sum_scan, regular_sum_scan)
            }
            fn reduce(cx: &Context, a: In<'_, Self>, product: bool) -> Result<Self> {
                kernels::$module::sum_reduce(cx, a, product)
            }
            fn reduce_parts(
                cx: &Context,
                a: In<'_, Self>,
                segments: Segments<'_>,
                product: bool,
                out: Out<'_, Self>,
            ) -> Result {
                match segments {
                    Segments::Between(low, high) => {
                        kernels::$module::segmented_sum_reduce(cx, a, low, high, out, product)
                    }
                    Segments::Regular(size, _) => kernels::$module::regular_sum_reduce(cx, a, size, out, product),
                }
            }
            fn histogram(
                cx: &Context,
                keys: In<'_, u32>,
                values: In<'_, Self>,
                product: bool,
                bins: Out<'_, Self>,
            ) -> Result {
                kernels::$module::histogram_sum(cx, keys, values, bins, product)
            }
        }
    )*};
}

sums! { u8, u8s; u16, u16s; u32, u32s; u64, u64s; f32, f32s; f64, f64s; }

macro_rules! bits {
    ($($ty:ty, $module:ident;)*) => {$(
        impl sealed::Bits for $ty {
            fn to_image(cx: &Context, a: Out<'_, Self>, kind: i32) -> Result {
                kernels::$module::to_image(cx, a, kind)
            }
            fn from_image(cx: &Context, a: Out<'_, Self>, kind: i32) -> Result {
                kernels::$module::from_image(cx, a, kind)
            }
            fn sort_order(
                cx: &Context,
                a: Out<'_, Self>,
                order: Out<'_, u32>,
                parts: Option<Segments<'_>>,
                dir: i32,
            ) -> Result {
                use kernels::$module::{regular_sort_order, segmented_sort_order, sort_order};
                for_parts!(parts, cx, [a, order], [dir], sort_order, segmented_sort_order, regular_sort_order)
            }
            fn scan(cx: &Context, a: Out<'_, Self>, parts: Option<Segments<'_>>, op: i32, exclusive: bool) -> Result {
                use kernels::$module::{bit_scan, regular_bit_scan, segmented_bit_scan};
                for_parts!(parts, cx, [a], [op, exclusive], bit_scan, segmented_bit_scan, regular_bit_scan)
            }
            fn reduce(cx: &Context, a: In<'_, Self>, op: i32) -> Result<Self> {
                kernels::$module::bit_reduce(cx, a, op)
            }
            fn reduce_parts(
                cx: &Context,
                a: In<'_, Self>,
                segments: Segments<'_>,
                op: i32,
                out: Out<'_, Self>,
            ) -> Result {
                match segments {
                    Segments::Between(low, high) => {
                        kernels::$module::segmented_bit_reduce(cx, a, low, high, out, op)
                    }
                    Segments::Regular(size, _) => kernels::$module::regular_bit_reduce(cx, a, size, out, op),
                }
            }
            fn histogram(
                cx: &Context,
                keys: In<'_, u32>,
                values: In<'_, Self>,
                op: i32,
                bins: Out<'_, Self>,
            ) -> Result {
                kernels::$module::histogram_bits(cx, keys, values, bins, op)
            }
            fn reverse(cx: &Context, a: Out<'_, Self>, parts: Option<Segments<'_>>) -> Result {
                use kernels::$module::{regular_reverse, reverse_all, segmented_reverse};
                for_parts!(parts, cx, [a], [], reverse_all, segmented_reverse, regular_reverse)
            }
        }
    )*};
}

bits! { u8, u8s; u16, u16s; u32, u32s; u64, u64s; }
