//! The types of elements, and which kernels are theirs.

use super::{Front, Op, kernels};
use crate::{Context, Result, View, ViewMut};

/// A type of elements that the primitives are compiled for: `i8` to `i64`, `u8` to `u64`, `f32`, `f64`.
pub trait Element: sealed::Kernels + Copy + PartialOrd + Send + Sync + 'static {}

impl<T: sealed::Kernels + Copy + PartialOrd + Send + Sync + 'static> Element for T {}

pub(super) mod sealed {
    use super::*;

    /// The kernels of a type.
    pub trait Kernels: Sized {
        fn sort(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), dir: i32) -> Result;
        fn sort_order(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), order: &mut [u32], dir: i32) -> Result;
        fn scan(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), op: Op) -> Result;
        fn exscan(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), op: Op) -> Result;
        fn reduce(cx: &Context, a: &(impl View<Self, 1> + ?Sized), op: Op) -> Result<Self>;
        fn reverse(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized)) -> Result;
        fn partition(
            cx: &Context,
            a: &(impl View<Self, 1> + ?Sized),
            b: &mut (impl ViewMut<Self, 1> + ?Sized),
            front: Front,
            pivot: Self,
        ) -> Result<i64>;
        fn histogram(
            cx: &Context,
            keys: &(impl View<u32, 1> + ?Sized),
            values: &(impl View<Self, 1> + ?Sized),
            bins: &mut (impl ViewMut<Self, 1> + ?Sized),
        ) -> Result;

        fn segmented_sort(
            cx: &Context,
            a: &mut (impl ViewMut<Self, 1> + ?Sized),
            low: &(impl View<i64, 1> + ?Sized),
            high: &(impl View<i64, 1> + ?Sized),
            dir: i32,
        ) -> Result;
        fn segmented_scan(
            cx: &Context,
            a: &mut (impl ViewMut<Self, 1> + ?Sized),
            low: &(impl View<i64, 1> + ?Sized),
            high: &(impl View<i64, 1> + ?Sized),
        ) -> Result;
        fn segmented_exscan(
            cx: &Context,
            a: &mut (impl ViewMut<Self, 1> + ?Sized),
            low: &(impl View<i64, 1> + ?Sized),
            high: &(impl View<i64, 1> + ?Sized),
        ) -> Result;
        fn segmented_reduce(
            cx: &Context,
            a: &(impl View<Self, 1> + ?Sized),
            low: &(impl View<i64, 1> + ?Sized),
            high: &(impl View<i64, 1> + ?Sized),
            op: Op,
            out: &mut (impl ViewMut<Self, 1> + ?Sized),
        ) -> Result;
        fn segmented_reverse(
            cx: &Context,
            a: &mut (impl ViewMut<Self, 1> + ?Sized),
            low: &(impl View<i64, 1> + ?Sized),
            high: &(impl View<i64, 1> + ?Sized),
        ) -> Result;

        fn regular_sort(
            cx: &Context,
            a: &mut (impl ViewMut<Self, 1> + ?Sized),
            size: i64,
            count: i64,
            dir: i32,
        ) -> Result;
        fn regular_scan(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), size: i64, count: i64) -> Result;
        fn regular_exscan(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), size: i64, count: i64) -> Result;
        fn regular_reduce(
            cx: &Context,
            a: &(impl View<Self, 1> + ?Sized),
            size: i64,
            op: Op,
            out: &mut (impl ViewMut<Self, 1> + ?Sized),
        ) -> Result;
        fn regular_reverse(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), size: i64, count: i64) -> Result;
    }
}

macro_rules! elements {
    ($($element:ty => $module:ident),* $(,)?) => {
        $(impl sealed::Kernels for $element {
            fn sort(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), dir: i32) -> Result {
                kernels::$module::sort_all(cx, a, dir)
            }
            fn sort_order(
                cx: &Context,
                a: &mut (impl ViewMut<Self, 1> + ?Sized),
                order: &mut [u32],
                dir: i32,
            ) -> Result {
                kernels::$module::sort_order(cx, a, order, dir)
            }
            fn scan(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), op: Op) -> Result {
                match op {
                    Op::Add => kernels::$module::scan_add(cx, a),
                    Op::Min => kernels::$module::scan_min(cx, a),
                    Op::Max => kernels::$module::scan_max(cx, a),
                }
            }
            fn exscan(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), op: Op) -> Result {
                match op {
                    Op::Add => kernels::$module::exscan_add(cx, a),
                    Op::Min => kernels::$module::exscan_min(cx, a),
                    Op::Max => kernels::$module::exscan_max(cx, a),
                }
            }
            fn reduce(cx: &Context, a: &(impl View<Self, 1> + ?Sized), op: Op) -> Result<Self> {
                match op {
                    Op::Add => kernels::$module::reduce_add(cx, a),
                    Op::Min => kernels::$module::reduce_min(cx, a),
                    Op::Max => kernels::$module::reduce_max(cx, a),
                }
            }
            fn reverse(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized)) -> Result {
                kernels::$module::reverse_all(cx, a)
            }
            fn partition(
                cx: &Context,
                a: &(impl View<Self, 1> + ?Sized),
                b: &mut (impl ViewMut<Self, 1> + ?Sized),
                front: Front,
                pivot: Self,
            ) -> Result<i64> {
                match front {
                    Front::Less => kernels::$module::partition_less(cx, a, pivot, b),
                    Front::LessOrEqual => kernels::$module::partition_less_or_equal(cx, a, pivot, b),
                    Front::Greater => kernels::$module::partition_greater(cx, a, pivot, b),
                    Front::GreaterOrEqual => kernels::$module::partition_greater_or_equal(cx, a, pivot, b),
                }
            }
            fn histogram(
                cx: &Context,
                keys: &(impl View<u32, 1> + ?Sized),
                values: &(impl View<Self, 1> + ?Sized),
                bins: &mut (impl ViewMut<Self, 1> + ?Sized),
            ) -> Result {
                kernels::$module::histogram_add(cx, keys, values, bins)
            }

            fn segmented_sort(
                cx: &Context,
                a: &mut (impl ViewMut<Self, 1> + ?Sized),
                low: &(impl View<i64, 1> + ?Sized),
                high: &(impl View<i64, 1> + ?Sized),
                dir: i32,
            ) -> Result {
                kernels::$module::segmented_sort(cx, a, low, high, dir)
            }
            fn segmented_scan(
                cx: &Context,
                a: &mut (impl ViewMut<Self, 1> + ?Sized),
                low: &(impl View<i64, 1> + ?Sized),
                high: &(impl View<i64, 1> + ?Sized),
            ) -> Result {
                kernels::$module::segmented_scan_add(cx, a, low, high)
            }
            fn segmented_exscan(
                cx: &Context,
                a: &mut (impl ViewMut<Self, 1> + ?Sized),
                low: &(impl View<i64, 1> + ?Sized),
                high: &(impl View<i64, 1> + ?Sized),
            ) -> Result {
                kernels::$module::segmented_exscan_add(cx, a, low, high)
            }
            fn segmented_reduce(
                cx: &Context,
                a: &(impl View<Self, 1> + ?Sized),
                low: &(impl View<i64, 1> + ?Sized),
                high: &(impl View<i64, 1> + ?Sized),
                op: Op,
                out: &mut (impl ViewMut<Self, 1> + ?Sized),
            ) -> Result {
                match op {
                    Op::Add => kernels::$module::segmented_add(cx, a, low, high, out),
                    Op::Min => kernels::$module::segmented_min(cx, a, low, high, out),
                    Op::Max => kernels::$module::segmented_max(cx, a, low, high, out),
                }
            }
            fn segmented_reverse(
                cx: &Context,
                a: &mut (impl ViewMut<Self, 1> + ?Sized),
                low: &(impl View<i64, 1> + ?Sized),
                high: &(impl View<i64, 1> + ?Sized),
            ) -> Result {
                kernels::$module::segmented_reverse(cx, a, low, high)
            }

            fn regular_sort(
                cx: &Context,
                a: &mut (impl ViewMut<Self, 1> + ?Sized),
                size: i64,
                count: i64,
                dir: i32,
            ) -> Result {
                kernels::$module::regular_sort(cx, a, size, count, dir)
            }
            fn regular_scan(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), size: i64, count: i64) -> Result {
                kernels::$module::regular_scan_add(cx, a, size, count)
            }
            fn regular_exscan(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), size: i64, count: i64) -> Result {
                kernels::$module::regular_exscan_add(cx, a, size, count)
            }
            fn regular_reduce(
                cx: &Context,
                a: &(impl View<Self, 1> + ?Sized),
                size: i64,
                op: Op,
                out: &mut (impl ViewMut<Self, 1> + ?Sized),
            ) -> Result {
                match op {
                    Op::Add => kernels::$module::regular_add(cx, a, size, out),
                    Op::Min => kernels::$module::regular_min(cx, a, size, out),
                    Op::Max => kernels::$module::regular_max(cx, a, size, out),
                }
            }
            fn regular_reverse(cx: &Context, a: &mut (impl ViewMut<Self, 1> + ?Sized), size: i64, count: i64) -> Result {
                kernels::$module::regular_reverse(cx, a, size, count)
            }
        })*
    };
}

elements! {
    i8 => i8s, u8 => u8s, i16 => i16s, u16 => u16s, i32 => i32s, u32 => u32s, i64 => i64s, u64 => u64s, f32 => f32s, f64 => f64s,
}
