//! The primitives as functions, against the standard library.
#![cfg(feature = "prim")]

use hidp_std::prim::{self, BitOp, Element, Front, Integer, Op, Operator, Order, regular, segmented};
use hidp_std::{Context, Error, FaultKind, Isa};
use ndarray::{Array1, Array2, s};

/// Numbers that are the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = self.0 ^ (self.0 >> 29);
        mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (mixed >> 32)
    }
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

const SIZES: &[usize] =
    &[0, 1, 2, 3, 24, 25, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 1729, 16383, 16384, 16385, 70_001];

fn context() -> Context {
    Context::cpu().expect("a CPU context")
}

/// Keys of several distributions.
fn inputs<T: Copy>(from: impl Fn(u64) -> T, compare: impl Fn(&T, &T) -> std::cmp::Ordering) -> Vec<Vec<T>> {
    let mut random = Random(7);
    let mut found = Vec::new();
    for &n in SIZES {
        let uniform: Vec<T> = (0..n).map(|_| from(random.next())).collect();
        let mut sorted = uniform.clone();
        sorted.sort_by(&compare);
        let reversed = sorted.iter().rev().copied().collect();
        let few = (0..n).map(|_| from(random.next() % 3)).collect();
        let equal = vec![from(42); n];
        found.extend([uniform, sorted, reversed, few, equal]);
    }
    found
}

fn sorts<T: Element + PartialEq + std::fmt::Debug>(
    from: impl Fn(u64) -> T,
    compare: impl Fn(&T, &T) -> std::cmp::Ordering + Copy,
    bits: impl Fn(T) -> u64 + Copy,
) {
    let cx = context();
    for input in inputs(from, compare) {
        for order in [Order::Ascending, Order::Descending] {
            let compare = |a: &T, b: &T| match order {
                Order::Ascending => compare(a, b),
                Order::Descending => compare(b, a),
            };
            let mut expected: Vec<(T, usize)> = input.iter().copied().zip(0..).collect();
            expected.sort_by(|a, b| compare(&a.0, &b.0));
            let mut found = input.clone();
            prim::sort(&cx, &mut found, order).unwrap();
            assert!(found.iter().zip(&expected).all(|(f, e)| bits(*f) == bits(e.0)), "{} keys", input.len());
            let (mut keys, mut values): (Vec<T>, Vec<usize>) = input.iter().copied().zip(0..).unzip();
            prim::sort_by_key(&cx, &mut keys, &mut values, order).unwrap();
            assert!(keys.iter().zip(&values).zip(&expected).all(|((k, v), e)| bits(*k) == bits(e.0) && *v == e.1));
        }
    }
}

#[test]
fn integers_sort_as_in_std() {
    sorts(|bits| bits as u8, u8::cmp, u64::from);
    sorts(|bits| bits as i16, i16::cmp, |key| key as u64);
    sorts(|bits| bits as u32, u32::cmp, u64::from);
    sorts(|bits| bits as i64, i64::cmp, |key| key as u64);
}

#[test]
fn floats_sort_in_total_order() {
    sorts(|bits| f32::from_bits(bits as u32), f32::total_cmp, |key| u64::from(key.to_bits()));
    sorts(|bits| f64::from_bits(bits.rotate_left(11)), f64::total_cmp, f64::to_bits);
    let mut special = [f32::NAN, 0.0, -0.0, f32::INFINITY, -f32::NAN, f32::MIN_POSITIVE / 2.0, f32::NEG_INFINITY, -1.0];
    let mut expected = special;
    expected.sort_by(f32::total_cmp);
    prim::sort(&context(), &mut special, Order::Ascending).unwrap();
    assert!(special.iter().zip(expected).all(|(found, expected)| found.to_bits() == expected.to_bits()));
}

#[test]
fn folds_and_scans_agree_with_plain_loops() {
    let cx = context();
    let mut random = Random(3);
    for &n in SIZES {
        let input: Vec<i32> = (0..n).map(|_| random.next() as i32).collect();
        for (op, join, nothing) in [
            (Op::Add, i32::wrapping_add as fn(i32, i32) -> i32, 0),
            (Op::Min, |a: i32, b: i32| a.min(b), i32::MAX),
            (Op::Max, |a: i32, b: i32| a.max(b), i32::MIN),
        ] {
            let total = input.iter().fold(nothing, |a, &b| join(a, b));
            assert_eq!(prim::reduce(&cx, &input, op).unwrap(), total, "{op:?} of {n}");
            let mut so_far = nothing;
            let (before, after): (Vec<i32>, Vec<i32>) = input
                .iter()
                .map(|&element| {
                    let before = so_far;
                    so_far = join(so_far, element);
                    (before, so_far)
                })
                .unzip();
            let (mut inclusive, mut exclusive) = (input.clone(), input.clone());
            prim::scan(&cx, &mut inclusive, op).unwrap();
            prim::exscan(&cx, &mut exclusive, op).unwrap();
            assert!(inclusive == after && exclusive == before, "{op:?} of {n}");
        }
        assert_eq!(prim::min(&cx, &input).unwrap(), input.iter().copied().min());
        assert_eq!(prim::max(&cx, &input).unwrap(), input.iter().copied().max());
        let mut turned = input.clone();
        prim::reverse(&cx, &mut turned).unwrap();
        assert!(turned.iter().eq(input.iter().rev()));
    }
}

#[test]
fn partitions_are_stable() {
    let cx = context();
    let mut random = Random(5);
    for &n in SIZES {
        let input: Vec<f64> = (0..n).map(|_| random.below(9) as f64).collect();
        for (front, holds) in [
            (Front::Less, (|x, p| x < p) as fn(f64, f64) -> bool),
            (Front::LessOrEqual, |x, p| x <= p),
            (Front::Equal, |x, p| x == p),
            (Front::Greater, |x, p| x > p),
            (Front::GreaterOrEqual, |x, p| x >= p),
        ] {
            let (mut expected, others): (Vec<f64>, Vec<f64>) = input.iter().partition(|x| holds(**x, 4.0));
            let kept = expected.len();
            expected.extend(others);
            let mut output = vec![0.0; n];
            let found = prim::partition(&cx, &input, &mut output, front, 4.0).unwrap();
            assert!(found == kept && output == expected, "{front:?} of {n}");
        }
    }
}

#[test]
fn histograms_add_to_what_is_there() {
    let cx = context();
    let mut random = Random(9);
    for (&n, bins) in SIZES.iter().zip([1usize, 2, 256, 100_000].into_iter().cycle()) {
        let keys: Vec<u32> = (0..n).map(|_| random.below(bins) as u32).collect();
        let values: Vec<i64> = (0..n).map(|_| random.next() as i64).collect();
        let mut found: Vec<i64> = (0..bins as i64).collect();
        let mut expected = found.clone();
        keys.iter().zip(&values).for_each(|(&key, value)| {
            expected[key as usize] = expected[key as usize].wrapping_add(*value);
        });
        prim::histogram(&cx, &keys, &values, Op::Add, &mut found).unwrap();
        assert!(found == expected, "{n} keys, {bins} bins");
    }
    let error = prim::histogram(&cx, &[0, 3], &[1, 1], Op::Add, &mut [0, 0, 0]).unwrap_err();
    assert!(matches!(&error, Error::Fault(fault) if fault.kind() == FaultKind::HistogramKey), "{error}");
}

/// Segments of random length with gaps, shuffled; some empty, some that end before they start.
fn segments(random: &mut Random, n: usize, longest: usize) -> (Vec<i64>, Vec<i64>) {
    let mut all = Vec::new();
    let mut at = 0;
    while at < n {
        let length = random.below(longest + 1).min(n - at);
        all.push((at as i64, (at + length) as i64));
        at += length + random.below(5);
        if random.below(7) == 0 {
            all.push((at as i64, at as i64 - 3));
        }
    }
    for last in (1..all.len()).rev() {
        all.swap(last, random.below(last + 1));
    }
    all.into_iter().unzip()
}

fn each_segment<T>(data: &mut [T], low: &[i64], high: &[i64], mut change: impl FnMut(&mut [T])) {
    low.iter().zip(high).filter(|(low, high)| low < high).for_each(|(&low, &high)| {
        change(&mut data[low as usize..high as usize]);
    });
}

fn add_up(part: &mut [i32]) {
    let mut sum = 0i32;
    part.iter_mut().for_each(|element| {
        sum = sum.wrapping_add(*element);
        *element = sum;
    });
}

#[test]
fn segments_agree_with_slices() {
    let cx = context();
    let mut random = Random(11);
    for (n, longest) in
        [(0, 1), (1, 1), (50, 3), (1000, 40), (5000, 1), (70_001, 300), (70_001, 60_000), (200_000, 200_000)]
    {
        let (low, high) = segments(&mut random, n, longest);
        let input: Vec<i32> = (0..n).map(|_| random.next() as i32).collect();
        let check = |name: &str, found: Vec<i32>, change: &mut dyn FnMut(&mut [i32])| {
            let mut expected = input.clone();
            each_segment(&mut expected, &low, &high, change);
            assert!(found == expected, "{name} of {n} in segments of up to {longest}");
        };
        let mut data = input.clone();
        segmented::sort(&cx, &mut data, &low, &high, Order::Ascending).unwrap();
        check("sort", data, &mut |part| part.sort());
        let mut data = input.clone();
        segmented::reverse(&cx, &mut data, &low, &high).unwrap();
        check("reverse", data, &mut |part| part.reverse());
        let mut data = input.clone();
        segmented::scan(&cx, &mut data, &low, &high, Op::Add).unwrap();
        check("scan", data, &mut add_up);
        let mut data = input.clone();
        segmented::exscan(&cx, &mut data, &low, &high, Op::Add).unwrap();
        check("exscan", data, &mut |part| {
            add_up(part);
            part.rotate_right(1);
            part[0] = 0;
        });
        let mut sums = vec![7; low.len()];
        segmented::reduce(&cx, &input, &low, &high, Op::Max, &mut sums).unwrap();
        let expected = low.iter().zip(&high).map(|(&low, &high)| {
            if low < high { *input[low as usize..high as usize].iter().max().unwrap() } else { i32::MIN }
        });
        assert!(sums.into_iter().eq(expected));
    }
}

#[test]
fn regular_segments_agree_with_chunks() {
    let cx = context();
    let mut random = Random(13);
    for (size, count) in [(0, 0), (0, 5), (5, 0), (1, 1000), (2, 3), (16, 5000), (33, 100), (1000, 70), (70_000, 2)] {
        let input: Vec<i32> = (0..size * count + 3).map(|_| random.next() as i32).collect();
        let (part, rest) = input.split_at(size * count);
        let expected = |change: fn(&mut [i32])| {
            let mut data = part.to_vec();
            data.chunks_mut(size.max(1)).for_each(change);
            [&data[..], rest].concat()
        };
        let mut data = input.clone();
        regular::sort(&cx, &mut data, size, count, Order::Ascending).unwrap();
        assert!(data == expected(<[i32]>::sort), "sort {size} x {count}");
        let mut data = input.clone();
        regular::reverse(&cx, &mut data, size, count).unwrap();
        assert!(data == expected(<[i32]>::reverse), "reverse {size} x {count}");
        let mut data = input.clone();
        regular::scan(&cx, &mut data, size, count, Op::Add).unwrap();
        assert!(data == expected(add_up), "scan {size} x {count}");
        let mut sums = vec![7; count];
        regular::reduce(&cx, &input, size, Op::Add, &mut sums).unwrap();
        let sum = |at: usize| input[at * size..][..size].iter().fold(0i32, |a, &b| a.wrapping_add(b));
        assert!(sums.into_iter().eq((0..count).map(sum)), "sums {size} x {count}");
    }
}

/// Whether elements are equal; between segments there may be NaN.
fn same<T: PartialEq>(a: &[T], b: &[T]) -> bool {
    #[allow(clippy::eq_op)]
    a.iter().zip(b).all(|(a, b)| a == b || (a != a && b != b))
}

/// An operator, what it does to two elements, and the fold of nothing.
type Operation<T, O> = (O, fn(T, T) -> T, T);

/// Scans and folds with every operator, on the whole array, on segments and on chunks.
fn operators<T: Element + PartialEq + std::fmt::Debug, O: Operator<T> + std::fmt::Debug>(
    from: impl Fn(u64) -> T,
    operations: &[Operation<T, O>],
) {
    let cx = context();
    let mut random = Random(17);
    for &(op, join, nothing) in operations {
        for n in [0usize, 1, 5, 100, 1029, 70_001] {
            let input: Vec<T> = (0..n).map(|_| from(random.next())).collect();
            let (low, high) = segments(&mut random, n, 1 + n / 3);
            let whole = (vec![0], vec![n as i64]);
            let size = n / 3;
            let chunks = ((0..3).map(|i| (i * size) as i64).collect(), (1..4).map(|i| (i * size) as i64).collect());
            for (form, (low, high)) in [whole, (low, high), chunks].iter().enumerate() {
                let (mut inclusive, mut exclusive) = (input.clone(), input.clone());
                let mut folds: Vec<T> = vec![nothing; low.len()];
                match form {
                    0 => {
                        prim::scan(&cx, &mut inclusive, op).unwrap();
                        prim::exscan(&cx, &mut exclusive, op).unwrap();
                        folds[0] = prim::reduce(&cx, &input, op).unwrap();
                    }
                    1 => {
                        segmented::scan(&cx, &mut inclusive, low, high, op).unwrap();
                        segmented::exscan(&cx, &mut exclusive, low, high, op).unwrap();
                        segmented::reduce(&cx, &input, low, high, op, &mut folds).unwrap();
                    }
                    _ => {
                        regular::scan(&cx, &mut inclusive, size, 3, op).unwrap();
                        regular::exscan(&cx, &mut exclusive, size, 3, op).unwrap();
                        regular::reduce(&cx, &input, size, op, &mut folds).unwrap();
                    }
                }
                let (mut after, mut before) = (input.clone(), input.clone());
                for (&low, &high) in low.iter().zip(high).filter(|(low, high)| low < high) {
                    let mut sum = nothing;
                    for at in low as usize..high as usize {
                        before[at] = sum;
                        sum = join(sum, input[at]);
                        after[at] = sum;
                    }
                }
                let name = format!("{op:?} of {n}, form {form}, {}", std::any::type_name::<T>());
                assert!(same(&inclusive, &after), "scan {name}");
                assert!(same(&exclusive, &before), "exscan {name}");
                let expected = low
                    .iter()
                    .zip(high)
                    .map(|(&low, &high)| (low..high).fold(nothing, |sum, at| join(sum, input[at as usize])));
                assert!(folds.into_iter().eq(expected), "reduce {name}");
            }
        }
    }
}

macro_rules! integer_operators {
    ($($ty:ty)*) => {$({
        let from = |bits: u64| bits as $ty;
        operators::<$ty, Op>(from, &[
            (Op::Add, <$ty>::wrapping_add, 0),
            (Op::Mul, <$ty>::wrapping_mul, 1),
            (Op::Min, |a, b| a.min(b), <$ty>::MAX),
            (Op::Max, |a, b| a.max(b), <$ty>::MIN),
        ]);
        operators::<$ty, BitOp>(from, &[
            (BitOp::And, |a, b| a & b, !0),
            (BitOp::Or, |a, b| a | b, 0),
            (BitOp::Xor, |a, b| a ^ b, 0),
        ]);
    })*};
}

#[test]
fn every_operator_on_every_integer() {
    integer_operators!(i8 u8 i16 u16 i32 u32 i64 u64);
}

#[test]
fn every_operator_on_floats() {
    // Sums and products that are exact in any order.
    operators::<f32, Op>(|bits| (bits % 5) as f32 - 2.0, &[(Op::Add, |a, b| a + b, 0.0)]);
    operators::<f64, Op>(
        |bits| (bits % 1000) as f64,
        &[(Op::Add, |a, b| a + b, 0.0), (Op::Min, f64::min, f64::INFINITY), (Op::Max, f64::max, -f64::INFINITY)],
    );
    operators::<f64, Op>(|bits| [1.0, -1.0][bits as usize % 2], &[(Op::Mul, |a, b| a * b, 1.0)]);
    operators::<f32, Op>(
        |bits| if bits % 7 == 0 { f32::NAN } else { bits as i32 as f32 },
        &[(Op::Min, f32::min, f32::INFINITY), (Op::Max, f32::max, -f32::INFINITY)],
    );
}

/// Keys with values of several sizes, in segments and in chunks.
fn sorts_by_key<T: Element + PartialEq + std::fmt::Debug>(from: impl Fn(u64) -> T, bits: impl Fn(T) -> u64) {
    let cx = context();
    let mut random = Random(19);
    for (n, longest) in [(0, 1), (1, 1), (50, 3), (1000, 40), (70_001, 30_000)] {
        let input: Vec<T> = (0..n).map(|_| from(random.next() % 97)).collect();
        let between = segments(&mut random, n, longest);
        let (size, count) = (n / 4, 4);
        let regular: (Vec<i64>, Vec<i64>) = (0..count as i64).map(|i| (i * size as i64, (i + 1) * size as i64)).unzip();
        for (form, (low, high)) in [between, regular].iter().enumerate() {
            for order in [Order::Ascending, Order::Descending] {
                let (mut keys, mut values) = (input.clone(), (0..n).map(|i| [i, i, i]).collect::<Vec<_>>());
                let (mut expected, mut moved) = (keys.clone(), values.clone());
                if form == 0 {
                    segmented::sort_by_key(&cx, &mut keys, &mut values, low, high, order).unwrap();
                } else {
                    regular::sort_by_key(&cx, &mut keys, &mut values, size, count, order).unwrap();
                }
                for (&low, &high) in low.iter().zip(high).filter(|(low, high)| low < high) {
                    let mut at: Vec<usize> = (low as usize..high as usize).collect();
                    at.sort_by(|&a, &b| {
                        let ordering = input[a].partial_cmp(&input[b]).unwrap();
                        if order == Order::Ascending { ordering } else { ordering.reverse() }
                    });
                    for (to, from) in (low as usize..).zip(at) {
                        (expected[to], moved[to]) = (input[from], [from; 3]);
                    }
                }
                let same = keys.iter().zip(&expected).all(|(a, b)| bits(*a) == bits(*b));
                assert!(same && values == moved, "{n} keys {}, form {form}", std::any::type_name::<T>());
            }
        }
    }
}

#[test]
fn values_follow_the_keys_of_their_segment() {
    sorts_by_key(|bits| bits as u8, u64::from);
    sorts_by_key(|bits| bits as i8 - 50, |key| key as u64);
    sorts_by_key(|bits| bits as i16 - 50, |key| key as u64);
    sorts_by_key(|bits| bits as u32, u64::from);
    sorts_by_key(|bits| bits as i64 - 50, |key| key as u64);
    sorts_by_key(|bits| bits as f32 - 50.5, |key| u64::from(key.to_bits()));
    sorts_by_key(|bits| 50.5 - bits as f64, f64::to_bits);
}

#[test]
fn sorts_by_key_report_what_does_not_fit() {
    let cx = context();
    let (mut keys, mut values) = (vec![3.0f32, -1.0, 2.0, -5.0], vec!['a', 'b', 'c', 'd']);
    let error = prim::sort_by_key(&cx, &mut keys, &mut values[1..], Order::Ascending).unwrap_err();
    assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
    let mut matrix = Array2::from_elem((4, 2), 'x');
    let error = prim::sort_by_key(&cx, &mut keys, &mut matrix.column_mut(1), Order::Ascending).unwrap_err();
    assert!(matches!(error, Error::View { .. }), "{error}");
    let (low, high) = ([0, 1], [2, 4]);
    let error = segmented::sort_by_key(&cx, &mut keys, &mut values, &low, &high, Order::Ascending).unwrap_err();
    assert!(matches!(&error, Error::Fault(fault) if fault.kind() == FaultKind::SegmentOverlap), "{error}");
    let error = regular::sort_by_key(&cx, &mut keys, &mut values, 3, 2, Order::Ascending).unwrap_err();
    assert!(matches!(&error, Error::Fault(fault) if fault.kind() == FaultKind::Segment), "{error}");
    // What failed left the keys alone.
    assert_eq!(keys, [3.0, -1.0, 2.0, -5.0]);
    assert_eq!(values, ['a', 'b', 'c', 'd']);
}

fn partitions_of_parts<T: Element + PartialEq>(from: impl Fn(u64) -> T) {
    let cx = context();
    let mut random = Random(23);
    for (n, longest) in [(0, 1), (1, 1), (50, 3), (1000, 40), (70_001, 60_000)] {
        let input: Vec<T> = (0..n).map(|_| from(random.next() % 9)).collect();
        let between = segments(&mut random, n, longest);
        let size = n / 5;
        let regular: (Vec<i64>, Vec<i64>) = (0..5).map(|i| (i * size as i64, (i + 1) * size as i64)).unzip();
        for (form, (low, high)) in [between, regular].iter().enumerate() {
            let pivots: Vec<T> = low.iter().map(|_| from(random.next() % 9)).collect();
            for (front, holds) in [
                (Front::Less, (|x: &T, p: &T| x < p) as fn(&T, &T) -> bool),
                (Front::LessOrEqual, |x, p| x <= p),
                (Front::Equal, |x, p| x == p),
                (Front::Greater, |x, p| x > p),
                (Front::GreaterOrEqual, |x, p| x >= p),
            ] {
                let (mut output, mut middle) = (vec![from(5); n], vec![-7; low.len()]);
                let (mut expected, mut at) = (output.clone(), middle.clone());
                if form == 0 {
                    segmented::partition(&cx, &input, &mut output, low, high, front, &pivots, &mut middle).unwrap();
                } else {
                    regular::partition(&cx, &input, &mut output, size, front, &pivots, &mut middle).unwrap();
                }
                for (i, (&low, &high)) in low.iter().zip(high).enumerate() {
                    at[i] = low;
                    if low < high {
                        let part = &input[low as usize..high as usize];
                        let (mut kept, others): (Vec<T>, Vec<T>) = part.iter().partition(|x| holds(x, &pivots[i]));
                        at[i] += kept.len() as i64;
                        kept.extend(others);
                        expected[low as usize..high as usize].copy_from_slice(&kept);
                    } else {
                        // Of an empty segment only that its parts are empty.
                        at[i] = middle[i];
                    }
                }
                assert!(output == expected && middle == at, "{front:?} of {n}, form {form}");
            }
        }
    }
}

#[test]
fn parts_are_partitioned_by_their_own_pivots() {
    partitions_of_parts(|bits| bits as i32 - 4);
    partitions_of_parts(|bits| bits);
    partitions_of_parts(|bits| bits as f32 - 4.0);
    let (mut output, mut middle) = ([0.0; 3], [0]);
    regular::partition(&context(), &[f64::NAN, 1.0, 2.0], &mut output, 3, Front::GreaterOrEqual, &[1.0], &mut middle)
        .unwrap();
    assert!(output[..2] == [1.0, 2.0] && output[2].is_nan() && middle == [2]);
    let error = regular::partition(&context(), &[1, 2], &mut [0, 0], usize::MAX, Front::Less, &[1, 2], &mut [0, 0])
        .unwrap_err();
    assert!(matches!(&error, Error::Fault(fault) if fault.kind() == FaultKind::Segment), "{error}");
}

/// The unsigned kernels do the signed types' sums and all types' reversals.
#[test]
fn every_type_is_reversed_and_counted() {
    fn one<T: Element + PartialEq + std::fmt::Debug>(from: impl Fn(u64) -> T) {
        let cx = context();
        let input: Vec<T> = (0..1000).map(&from).collect();
        let mut data = input.clone();
        prim::reverse(&cx, &mut data).unwrap();
        segmented::reverse(&cx, &mut data, &[0, 500], &[500, 1000]).unwrap();
        regular::reverse(&cx, &mut data, 500, 2).unwrap();
        assert!(data.iter().eq(input.iter().rev()));
        let mut bins = [from(0), from(1)];
        prim::histogram(&cx, &[1, 0, 1], &[from(2), from(3), from(4)], Op::Add, &mut bins).unwrap();
        assert_eq!(bins, [from(3), from(7)]);
    }
    fn integer<T: Integer>(_: T) {}
    one(|bits| bits as i8);
    one(|bits| bits as u8);
    one(|bits| bits as i16);
    one(|bits| bits as u16);
    one(|bits| bits as i32);
    one(|bits| bits as u32);
    one(|bits| bits as i64);
    one(|bits| bits);
    one(|bits| bits as f32);
    one(|bits| bits as f64);
    integer(1u8);
}

#[test]
fn wrong_segments_are_faults() {
    let cx = context();
    let mut data: Vec<i32> = (0..100).collect();
    let mut kind = |low: &[i64], high: &[i64]| match segmented::sort(&cx, &mut data, low, high, Order::Ascending) {
        Err(Error::Fault(fault)) => Some(fault.kind()),
        _ => None,
    };
    assert_eq!(kind(&[0, 50], &[50, 100]), None);
    assert_eq!(kind(&[0, 50], &[50, 101]), Some(FaultKind::Segment));
    assert_eq!(kind(&[-1], &[5]), Some(FaultKind::Segment));
    assert_eq!(kind(&[50, 0], &[100, 51]), Some(FaultKind::SegmentOverlap));
    assert_eq!(kind(&[0, i64::MIN], &[i64::MAX, 3]), Some(FaultKind::Segment));
    assert!(matches!(
        segmented::sort(&cx, &mut data, &[0, 1], &[1], Order::Ascending),
        Err(Error::ShapeMismatch { .. })
    ));
    assert!(matches!(regular::sort(&cx, &mut data, usize::MAX, 2, Order::Ascending), Err(Error::Fault(_))));
}

#[test]
fn views_of_ndarray_are_taken() {
    let cx = context();
    let mut whole = Array1::from(vec![3.0f32, 1.0, 2.0]);
    prim::sort(&cx, &mut whole, Order::Ascending).unwrap();
    prim::sort(&cx, &mut whole.slice_mut(s![1..]), Order::Descending).unwrap();
    assert_eq!(whole.to_vec(), [1.0, 3.0, 2.0]);
    let mut matrix = Array2::from_shape_fn((3, 3), |(i, j)| (i * 3 + j) as u32);
    assert_eq!(prim::reduce(&cx, &matrix.row(1), Op::Add).unwrap(), 12);
    let error = prim::sort(&cx, &mut matrix.column_mut(1), Order::Ascending).unwrap_err();
    assert!(matches!(error, Error::View { .. }), "{error}");
}

/// Lengths of segments that follow one another, and some that are empty with bounds anywhere.
fn neighbours(random: &mut Random, count: usize, longest: usize, even: bool) -> (Vec<i64>, Vec<i64>) {
    let mut at = 0;
    let bounds = (0..count).map(|number| {
        if !even && number % 37 == 36 {
            return (1_000_000, -5);
        }
        let low = at;
        at += if even { longest } else { random.below(longest + 1) } as i64;
        (low, at)
    });
    bounds.unzip()
}

#[test]
fn neighbouring_segments_fold_as_each_alone() {
    let mut random = Random(23);
    let isas = [Isa::V2, Isa::V3, Isa::V4];
    let mut seen = 0;
    for isa in isas.into_iter().filter(|isa| *isa <= Isa::detect()) {
        let cx = Context::builder().cpu().isa(isa).build().unwrap();
        // A build for this machine alone has not all of them.
        if let Err(Error::NoCode { .. }) = segmented::reduce(&cx, &[1u32], &[0], &[1], Op::Add, &mut [0]) {
            continue;
        }
        seen += 1;
        for (longest, even) in [0, 1, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 200, 5000]
            .into_iter()
            .flat_map(|longest| [(longest, false), (longest, true)])
        {
            let (low, high) = neighbours(&mut random, if longest > 1000 { 40 } else { 300 }, longest, even);
            let n = high.iter().copied().max().unwrap_or(0) as usize;
            let x: Vec<u32> = (0..n).map(|_| random.next() as u32).collect();
            let odd = |bits: u64| if bits.is_multiple_of(11) { f32::NAN } else { (bits % 2001) as f32 / 7.0 - 100.0 };
            let v: Vec<f32> = (0..n).map(|_| odd(random.next())).collect();
            let w: Vec<f64> = v.iter().map(|v| if v.is_nan() { -0.0 } else { f64::from(*v) / 3.0 }).collect();
            let (mut sums, mut least, mut folds) = (vec![1; low.len()], vec![1.0; low.len()], vec![1.0; low.len()]);
            segmented::reduce(&cx, &x, &low, &high, Op::Add, &mut sums).unwrap();
            segmented::reduce(&cx, &v, &low, &high, Op::Min, &mut least).unwrap();
            segmented::reduce(&cx, &w, &low, &high, Op::Add, &mut folds).unwrap();
            for (number, (&low, &high)) in low.iter().zip(&high).enumerate() {
                let range = low.min(high.max(0)) as usize..high.max(0) as usize;
                let name = format!("segment {number} of {longest}, {range:?}, even {even}, {isa:?}");
                let sum = x[range.clone()].iter().fold(0, |sum: u32, x| sum.wrapping_add(*x));
                assert_eq!(sums[number], sum, "{name}");
                assert_eq!(least[number], v[range.clone()].iter().copied().fold(f32::INFINITY, f32::min), "{name}");
                let mut alone = [1.0];
                segmented::reduce(&cx, &w, &[low], &[high], Op::Add, &mut alone).unwrap();
                assert_eq!(f64::to_bits(folds[number]), f64::to_bits(alone[0]), "{name}: {} {alone:?}", folds[number]);
            }
        }
    }
    assert!(seen > 0);
}
