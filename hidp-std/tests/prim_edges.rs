//! Sizes, distributions and segments that have broken other libraries of primitives.
#![cfg(feature = "prim")]

use hidp_std::prim::{self, BitOp, Front, Op, Order, regular, segmented};
use hidp_std::{Context, Error, FaultKind};

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

fn context(threads: u32) -> Context {
    Context::builder().threads(threads).build().expect("a CPU context")
}

/// Around powers of two and of 31 (which are no multiple of any tile), blocks of scans, partitions and sorts, and a few that were bugs
/// elsewhere.
fn sizes() -> Vec<usize> {
    let mut sizes = vec![0, 1, 2, 961, 1729, 10_000, 29_791, 923_521, 1_000_000, 2_000_000];
    for power in [4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 18, 19] {
        sizes.extend([(1 << power) - 1, 1 << power, (1 << power) + 1]);
    }
    sizes
}

fn each_size(check: impl Fn(&Context, usize)) {
    for n in sizes() {
        let threads: &[u32] = if n < 40_000 { &[1, 3] } else { &[3] };
        threads.iter().for_each(|&threads| check(&context(threads), n));
    }
}

#[test]
fn scans_and_folds_of_every_size() {
    each_size(|cx, n| {
        let input: Vec<u32> = (0..n).map(|i| (i as u32).wrapping_mul(2_654_435_761)).collect();
        let (mut sums, mut before, mut products) = (input.clone(), input.clone(), vec![3u32; n]);
        prim::scan(cx, &mut sums, Op::Add).unwrap();
        prim::exscan(cx, &mut before, Op::Add).unwrap();
        prim::scan(cx, &mut products, Op::Mul).unwrap();
        let (mut sum, mut product) = (0u32, 1u32);
        for i in 0..n {
            assert_eq!(before[i], sum, "exscan at {i} of {n}");
            sum = sum.wrapping_add(input[i]);
            product = product.wrapping_mul(3);
            assert!(sums[i] == sum && products[i] == product, "scan at {i} of {n}");
        }
        assert_eq!(prim::reduce(cx, &input, Op::Add).unwrap(), sum);
        assert_eq!(prim::reduce(cx, &input, BitOp::Xor).unwrap(), input.iter().fold(0, |a, b| a ^ b));
        assert_eq!(prim::max(cx, &input).unwrap(), input.iter().copied().max());
    });
}

#[test]
fn sorts_partitions_and_reversals_of_every_size() {
    each_size(|cx, n| {
        let mut random = Random(n as u64);
        let input: Vec<i16> = (0..n).map(|_| random.next() as i16).collect();
        let mut sorted = input.clone();
        prim::sort(cx, &mut sorted, Order::Descending).unwrap();
        let mut expected = input.clone();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        assert!(sorted == expected, "sort of {n}");
        let mut output = vec![0; n];
        let front = prim::partition(cx, &input, &mut output, Front::Less, 100).unwrap();
        let (mut expected, others): (Vec<i16>, Vec<i16>) = input.iter().partition(|x| **x < 100);
        assert_eq!(front, expected.len());
        expected.extend(others);
        assert!(output == expected, "partition of {n}");
        prim::reverse(cx, &mut output).unwrap();
        assert!(output.iter().eq(expected.iter().rev()), "reverse of {n}");
    });
}

/// Keys alone are sorted by networks of many shapes while they are few.
#[test]
fn short_sorts_of_every_length() {
    fn check<T: prim::Element + Copy>(cx: &Context, make: fn(u64) -> T, order: fn(&T, &T) -> std::cmp::Ordering) {
        let sizes = (0..=300)
            .chain([383, 384, 385, 511, 512, 513, 700, 1023, 1024, 1025, 1600, 2047, 2049, 4095, 4096, 4097, 9000]);
        let mut random = Random(43);
        for n in sizes {
            // Every second key is the greatest there is, as the padding of a network.
            let input: Vec<T> = (0..n).map(|i| make(if i % 2 == 0 { random.next() } else { u64::MAX })).collect();
            let (mut up, mut down) = (input.clone(), input.clone());
            prim::sort(cx, &mut up, Order::Ascending).unwrap();
            prim::sort(cx, &mut down, Order::Descending).unwrap();
            let mut expected = input;
            expected.sort_by(order);
            let same = |a: &T, b: &T| order(a, b).is_eq();
            assert!(up.iter().zip(&expected).all(|(a, b)| same(a, b)), "{n} of {}", std::any::type_name::<T>());
            assert!(down.iter().rev().zip(&expected).all(|(a, b)| same(a, b)), "{n} of {}", std::any::type_name::<T>());
        }
    }
    let cx = context(2);
    check(&cx, |bits| bits as u32, u32::cmp);
    check(&cx, |bits| bits as i32, i32::cmp);
    check(&cx, |bits| f32::from_bits(bits as u32), f32::total_cmp);
    check(&cx, |bits| bits, u64::cmp);
    check(&cx, f64::from_bits, f64::total_cmp);
}

/// Nothing is written beside the slice, wherever it starts.
#[test]
fn slices_that_start_anywhere_keep_their_neighbours() {
    const CANARY: u8 = 0xA5;
    let cx = context(2);
    for n in [0usize, 1, 33, 1000, 20_000] {
        for offset in [0usize, 1, 3, 4, 7, 8, 11, 12, 16] {
            let mut buffer = vec![CANARY; offset + n + 64];
            let mut random = Random(n as u64);
            buffer[offset..offset + n].fill_with(|| random.next() as u8);
            let mut expected = buffer[offset..offset + n].to_vec();
            let data = &mut buffer[offset..offset + n];
            prim::sort(&cx, data, Order::Ascending).unwrap();
            prim::reverse(&cx, data).unwrap();
            prim::scan(&cx, data, Op::Add).unwrap();
            regular::exscan(&cx, data, n / 3, 3, Op::Max).unwrap();
            let mut output = vec![CANARY; n + 64 + offset];
            prim::partition(&cx, data, &mut output[offset..offset + n], Front::Less, 128).unwrap();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            let mut sum = 0u8;
            expected.iter_mut().for_each(|element| {
                sum = sum.wrapping_add(*element);
                *element = sum;
            });
            expected[..n / 3 * 3].chunks_mut((n / 3).max(1)).for_each(|chunk| {
                let mut most = 0;
                chunk.iter_mut().for_each(|element| (*element, most) = (most, most.max(*element)));
            });
            assert!(data == expected, "{n} elements from {offset}");
            for buffer in [&buffer, &output] {
                let beside = buffer[..offset].iter().chain(&buffer[offset + n..]);
                assert!(beside.into_iter().all(|byte| *byte == CANARY), "{n} elements from {offset}");
            }
        }
    }
}

/// Names and keys of distributions that sorts find hard.
fn distributions(n: usize) -> Vec<(&'static str, Vec<i32>)> {
    let mut random = Random(29);
    let sorted: Vec<i32> = (0..n as i32).map(|i| i - n as i32 / 2).collect();
    let mut almost = sorted.clone();
    for _ in 0..n.isqrt() {
        almost.swap(random.below(n), random.below(n));
    }
    let mut organ: Vec<i32> = sorted[..n / 2].to_vec();
    organ.extend(sorted[..n - n / 2].iter().rev());
    let mut entropy =
        |ands: u32| (0..n).map(|_| (0..ands).fold(-1i32, |bits, _| bits & random.next() as i32)).collect();
    vec![
        ("few bits", entropy(4)),
        ("hardly any bits", entropy(8)),
        (
            "exponential",
            (0..n).map(|i| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33 >> (i % 31)) as i32).collect(),
        ),
        ("reversed", sorted.iter().rev().copied().collect()),
        ("sorted", sorted),
        ("almost sorted", almost),
        ("organ pipe", organ),
        ("equal", vec![-3; n]),
        ("two values", (0..n).map(|i| [i32::MIN, i32::MAX][i * 7 % 3 % 2]).collect()),
        ("ends", (0..n).map(|i| [i32::MIN, -1, 0, 1, i32::MAX][i * 13 % 5]).collect()),
        ("one is not equal", (0..n).map(|i| i32::from(i == n / 3)).collect()),
    ]
}

#[test]
fn sorts_of_hard_distributions_are_stable() {
    let cx = context(3);
    for n in [100usize, 5000, 16_384, 70_001, 600_000] {
        for (name, input) in distributions(n) {
            for order in [Order::Ascending, Order::Descending] {
                let (mut keys, mut values) = (input.clone(), (0..n as u32).collect::<Vec<u32>>());
                prim::sort_by_key(&cx, &mut keys, &mut values, order).unwrap();
                let mut expected: Vec<u32> = (0..n as u32).collect();
                expected.sort_by(|&a, &b| {
                    let ordering = input[a as usize].cmp(&input[b as usize]);
                    if order == Order::Ascending { ordering } else { ordering.reverse() }
                });
                assert!(values == expected, "{name}, {n} keys, {order:?}: values");
                assert!(keys.iter().zip(&values).all(|(key, value)| *key == input[*value as usize]), "{name} of {n}");
                let mut alone = input.clone();
                prim::sort(&cx, &mut alone, order).unwrap();
                assert!(alone == keys, "{name}, {n} keys, {order:?}");
            }
        }
    }
}

/// A stable sort of `input` by its keys, with their numbers as values: checked in one pass.
fn check_stable<T: prim::Element + Copy>(
    cx: &Context,
    name: &str,
    input: &[T],
    before: impl Fn(&T, &T) -> std::cmp::Ordering,
) {
    for order in [Order::Ascending, Order::Descending] {
        // Neither slice starts at a cache line.
        let mut keys: Vec<T> = input[..1].iter().chain(input).copied().collect();
        let mut values: Vec<u32> = [0, 0, 0].into_iter().chain(0..input.len() as u32).collect();
        prim::sort_by_key(cx, &mut keys[1..], &mut values[3..], order).unwrap();
        let (keys, values) = (&keys[1..], &values[3..]);
        for at in 0..input.len() {
            assert!(before(&keys[at], &input[values[at] as usize]).is_eq(), "{name}, {order:?}: value {at}");
            let ordering = if at == 0 { std::cmp::Ordering::Less } else { before(&keys[at - 1], &keys[at]) };
            let ordering = if order == Order::Ascending { ordering } else { ordering.reverse() };
            assert!(
                at == 0 || ordering.is_lt() || ordering.is_eq() && values[at - 1] < values[at],
                "{name}, {order:?}: {at}"
            );
        }
        let mut alone = input.to_vec();
        prim::sort(cx, &mut alone, order).unwrap();
        assert!(alone.iter().zip(keys).all(|(a, b)| before(a, b).is_eq()), "{name}, {order:?}: keys alone");
    }
}

/// Sorts look at a few keys, evenly spread, to choose how to go on: the others may be quite different.
#[test]
fn keys_that_no_sample_has_seen() {
    const N: usize = 1 << 19;
    let cx = context(2);
    let mut random = Random(31);
    let mut check = |name: &str, seen: &dyn Fn(usize, i32) -> i32, other: &dyn Fn(i32) -> i32| {
        let input: Vec<i32> = (0..N)
            .map(|i| if i % 64 == 0 { seen(i, random.next() as i32) } else { other(random.next() as i32) })
            .collect();
        check_stable(&cx, name, &input, i32::cmp);
    };
    check("few bits seen", &|_, bits| bits & 0xfff, &|bits| bits);
    check("around zero, not seen", &|_, bits| bits >> (bits & 31), &|bits| bits % 7);
    check("one high bit not seen", &|_, bits| (bits & 0xffff) >> (bits & 15), &|bits| bits & 0x0080_000f);
    check("ascending as far as seen", &|i, _| i as i32, &|bits| bits);
    check("descending as far as seen", &|i, _| -(i as i32), &|bits| bits & 0xff);
    check("equal as far as seen", &|_, _| 5, &|bits| bits);
    check("few different ones seen", &|_, bits| bits % 5 * 1000, &|bits| bits % 1000);
}

/// More than the caches hold, written in whole lines.
#[test]
fn sorts_larger_than_caches() {
    let cx = context(2);
    let mut random = Random(37);
    let words: Vec<u64> = (0..(1 << 22) + 77).map(|_| random.next()).collect();
    let narrow: Vec<u32> = words.iter().map(|&word| word as u32).collect();
    check_stable(&cx, "u32", &narrow, u32::cmp);
    check_stable(&cx, "u64", &words[..(1 << 21) + 5], u64::cmp);
    // Most keys in few octaves, but all octaves there.
    let floats: Vec<f32> =
        narrow.iter().map(|&word| (word as f32 - 2.0e9) * if word % 64 == 0 { 1.0e-20 } else { 1.0 }).collect();
    check_stable(&cx, "f32", &floats, f32::total_cmp);
}

/// Bits are kept: zeros of both signs, quiet and signalling NaN with their payloads, denormals.
#[test]
fn floats_keep_their_bits() {
    let cx = context(2);
    let hard = [
        0x0000_0000u32,
        0x8000_0000,
        0x0000_0001,
        0x8000_0001,
        0x007f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7fa0_1234,
        0xffc0_0001,
        0xff80_0001,
        0x7f7f_ffff,
        0x3f80_0000,
    ];
    for n in [13usize, 1000, 40_000] {
        let bits: Vec<u32> = (0..n).map(|i| hard[i * 7 % hard.len()]).collect();
        for order in [Order::Ascending, Order::Descending] {
            let mut expected: Vec<(u32, u32)> = bits.iter().copied().zip(0..).collect();
            expected.sort_by(|a, b| {
                let ordering = f32::from_bits(a.0).total_cmp(&f32::from_bits(b.0));
                if order == Order::Ascending { ordering } else { ordering.reverse() }
            });
            // As `u32`, so that no move can quieten a signalling NaN.
            let mut keys: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
            let mut values: Vec<u32> = (0..n as u32).collect();
            prim::sort_by_key(&cx, &mut keys, &mut values, order).unwrap();
            assert!(
                keys.iter().zip(&values).zip(&expected).all(|((k, v), e)| (k.to_bits(), *v) == *e),
                "{n} {order:?}"
            );
            let mut keys: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
            segmented::sort(&cx, &mut keys, &[0], &[n as i64], order).unwrap();
            assert!(keys.iter().zip(&expected).all(|(k, e)| k.to_bits() == e.0), "{n} {order:?}");
        }
    }
}

/// Cuts between which segments lie.
fn check_cuts(cx: &Context, name: &str, cut: &[i64]) {
    let n = *cut.last().unwrap() as usize;
    let (low, high) = (&cut[..cut.len() - 1], &cut[1..]);
    let input: Vec<u32> = (0..n).map(|i| (i as u32).wrapping_mul(2_654_435_761) >> 5).collect();
    let parts = || low.iter().zip(high).map(|(&low, &high)| low as usize..high as usize);
    let mut sums = vec![1u32; low.len()];
    segmented::reduce(cx, &input, low, high, Op::Add, &mut sums).unwrap();
    assert!(
        sums.into_iter().eq(parts().map(|part| input[part].iter().fold(0u32, |a, b| a.wrapping_add(*b)))),
        "{name}"
    );
    let mut scanned = input.clone();
    segmented::exscan(cx, &mut scanned, low, high, Op::Add).unwrap();
    for part in parts() {
        let mut sum = 0u32;
        for at in part {
            assert_eq!(scanned[at], sum, "{name} at {at}");
            sum = sum.wrapping_add(input[at]);
        }
    }
    let mut sorted = input.clone();
    segmented::sort(cx, &mut sorted, low, high, Order::Ascending).unwrap();
    let mut expected = input.clone();
    parts().for_each(|part| expected[part].sort_unstable());
    assert!(sorted == expected, "{name}");
    segmented::reverse(cx, &mut sorted, low, high).unwrap();
    parts().for_each(|part| expected[part].reverse());
    assert!(sorted == expected, "{name}");
}

fn cuts(lengths: impl IntoIterator<Item = usize>) -> Vec<i64> {
    let mut cut = vec![0];
    cut.extend(lengths.into_iter().scan(0, |at, length| {
        *at += length as i64;
        Some(*at)
    }));
    cut
}

#[test]
fn segments_of_every_shape() {
    let cx = context(3);
    let mut random = Random(31);
    let n = 300_000;
    check_cuts(&cx, "4 million empty ones", &vec![0; (1 << 22) + 1]);
    check_cuts(&cx, "none", &[0]);
    check_cuts(&cx, "one of everything", &[0, n]);
    check_cuts(&cx, "ones", &cuts(vec![1; n as usize]));
    for (least, most) in [(0, 292), (2343, 18_750), (18_750, 300_000)] {
        let lengths: Vec<usize> =
            (0..300_000 / most.max(1) * 2 + 1).map(|_| least + random.below(most - least)).collect();
        check_cuts(&cx, "of one order", &cuts(lengths));
    }
    for size in [1, 2, 7, 31, 32, 33, 1023, 1024, 1025, 16_383, 16_384, 16_385, 32_768] {
        check_cuts(&cx, "of one size", &cuts(vec![size; (200_000 / size).min(5000)]));
    }
    let skewed = (0..2000).map(|i| if i == 777 { 200_000 } else { i % 3 });
    check_cuts(&cx, "one giant among dwarfs", &cuts(skewed));
    check_cuts(&cx, "hardly any", &cuts((0..2000).map(|i| if i % 143 == 0 { 20 } else { 0 })));
    check_cuts(&cx, "more than 65536", &cuts((0..100_000).map(|i| i % 4)));
    check_cuts(&cx, "giants at both ends", &cuts((0..1000).map(|i| if i == 0 || i == 999 { 100_000 } else { 5 })));
}

#[test]
fn rows_of_every_shape() {
    let cx = context(3);
    let n = 10_000;
    let input: Vec<i64> = (0..n as i64).map(|i| i * 7919 % 1009).collect();
    for rows in [1, 10, 100, 1000, 10_000] {
        let size = n / rows;
        let mut sums = vec![-1; rows];
        regular::reduce(&cx, &input, size, Op::Add, &mut sums).unwrap();
        assert!(sums.into_iter().eq(input.chunks(size).map(|row| row.iter().sum::<i64>())), "{rows} rows");
        let mut most = input.clone();
        regular::scan(&cx, &mut most, size, rows, Op::Max).unwrap();
        for (row, found) in input.chunks(size).zip(most.chunks(size)) {
            let expected = row.iter().scan(i64::MIN, |most, &x| {
                *most = x.max(*most);
                Some(*most)
            });
            assert!(found.iter().copied().eq(expected), "{rows} rows");
        }
    }
}

type Join = fn(u8, u8) -> u8;

#[test]
fn histograms_of_every_shape() {
    let cx = context(3);
    let mut random = Random(37);
    let n = 100_000usize;
    for bins in [1usize, 2, 255, 256, 257, 100_000] {
        let shapes: [(&str, Vec<u32>); 4] = [
            ("one bin", vec![bins as u32 - 1; n]),
            ("in turn", (0..n).map(|i| (i % bins) as u32).collect()),
            ("random", (0..n).map(|_| random.below(bins) as u32).collect()),
            ("nearly equal", (0..n).map(|i| if i % 1000 == 0 { random.below(bins) as u32 } else { 0 }).collect()),
        ];
        for (name, keys) in shapes {
            let values: Vec<u8> = (0..n).map(|i| (i * 37) as u8).collect();
            let check = |op: &str, found: Vec<u8>, join: Join| {
                let mut expected = vec![9u8; bins];
                keys.iter().zip(&values).for_each(|(&key, value)| {
                    expected[key as usize] = join(expected[key as usize], *value);
                });
                assert!(found == expected, "{name}, {bins} bins, {op}");
            };
            let mut found = vec![vec![9u8; bins]; 7];
            let ops: [(Op, Join); 4] =
                [(Op::Add, u8::wrapping_add), (Op::Mul, u8::wrapping_mul), (Op::Min, u8::min), (Op::Max, u8::max)];
            for (op, join) in ops {
                let mut bins = found.pop().unwrap();
                prim::histogram(&cx, &keys, &values, op, &mut bins).unwrap();
                check(&format!("{op:?}"), bins, join);
            }
            let ops: [(BitOp, Join); 3] =
                [(BitOp::And, |a, b| a & b), (BitOp::Or, |a, b| a | b), (BitOp::Xor, |a, b| a ^ b)];
            for (op, join) in ops {
                let mut bins = found.pop().unwrap();
                prim::histogram(&cx, &keys, &values, op, &mut bins).unwrap();
                check(&format!("{op:?}"), bins, join);
            }
        }
    }
    let error = prim::histogram(&cx, &vec![0; 1], &[1u8], Op::Add, &mut []).unwrap_err();
    assert!(matches!(&error, Error::Fault(fault) if fault.kind() == FaultKind::HistogramKey), "{error}");
}

/// Sums of floats are accurate, have the same bits on every run and for every number of threads.
#[test]
fn sums_of_floats_are_accurate_and_reproducible() {
    let n = 3_000_000usize;
    let tenths = vec![0.1f32; n];
    let exact = f64::from(0.1f32) * n as f64;
    let sums: Vec<f32> =
        [1, 2, 3, 5].iter().map(|&threads| prim::reduce(&context(threads), &tenths, Op::Add).unwrap()).collect();
    assert!((f64::from(sums[0]) / exact - 1.0).abs() < 2e-6, "{} is not {exact}", sums[0]);
    assert!(sums.iter().all(|sum| sum.to_bits() == sums[0].to_bits()), "{sums:?}");
    let mut random = Random(41);
    let input: Vec<f32> = (0..n).map(|_| (random.next() as i32) as f32 * 1e-9).collect();
    let scans: Vec<Vec<u32>> = [1, 2, 5, 5]
        .iter()
        .map(|&threads| {
            let mut data = input.clone();
            prim::scan(&context(threads), &mut data, Op::Add).unwrap();
            data.into_iter().map(f32::to_bits).collect()
        })
        .collect();
    assert!(scans.iter().all(|scan| *scan == scans[0]));
}

/// A call that fails leaves nothing behind for the next one.
#[test]
fn a_fault_does_not_poison_the_next_call() {
    let cx = context(3);
    let mut data: Vec<i32> = (0..100_000).rev().collect();
    for _ in 0..3 {
        assert!(segmented::sort(&cx, &mut data, &[0, 50_000], &[50_001, 100_000], Order::Ascending).is_err());
        assert!(segmented::scan(&cx, &mut data, &[-1], &[5], Op::Add).is_err());
        let mut copy = data.clone();
        prim::sort(&cx, &mut copy, Order::Ascending).unwrap();
        assert!(copy.iter().copied().eq(0..100_000));
    }
}

#[test]
fn what_a_call_needs_besides_its_arguments_has_a_limit() {
    let small = Context::builder().threads(2).memory_limit(1 << 20).build().unwrap();
    let keys: Vec<u64> = (0..1_000_000).rev().collect();
    let mut sorted = keys.clone();
    let error = prim::sort(&small, &mut sorted, Order::Ascending).unwrap_err();
    let Error::Fault(fault) = &error else { panic!("{error}") };
    assert_eq!(fault.kind(), FaultKind::Allocation, "{error}");
    assert!(small.pool_bytes() <= 1 << 20, "{}", small.pool_bytes());
    prim::sort(&small, &mut sorted[..1000], Order::Ascending).unwrap();
    let ample = Context::builder().threads(2).memory_limit(1 << 30).build().unwrap();
    sorted.clone_from(&keys);
    prim::sort(&ample, &mut sorted, Order::Ascending).unwrap();
    assert!(sorted.iter().copied().eq(0..1_000_000));
}
