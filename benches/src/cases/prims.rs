//! Primitives other than sorts: scan, folds, partition, and segmented sums and sorts.

use std::hint::black_box;
use std::rc::Rc;

use hidp_std::Context;
use rayon::prelude::*;

use super::Recipes;
use super::sorts::Sorts;
use crate::buffer::{Buffer, Number};
use crate::kernels::{prims, segments};
use crate::random::Random;
use crate::shapes::{even, zipf};
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("scan i32 2^16", || scan(16)),
    ("scan i32 2^18", || scan(18)),
    ("scan i32 2^20", || scan(20)),
    ("scan i32 2^22", || scan(22)),
    ("scan i32 2^24", || scan(24)),
    ("scan i32 2^26", || scan(26)),
    ("sum f32 2^26", sum),
    ("min f32 2^26", min),
    ("max i32 2^26", max),
    ("partition u32 2^24", partition),
    ("histogram u8 10^7 random", || histogram("random", |random| random.bits() as u8)),
    ("histogram u8 10^7 text", || histogram("text", |random| (random.bits() & random.bits() & random.bits()) as u8)),
    ("segmented sum u32 2^20 x 16", || segmented_sum("2^20 x 16", &even(1 << 20, 16))),
    ("segmented sum u32 2^14 x 1024", || segmented_sum("2^14 x 1024", &even(1 << 14, 1 << 10))),
    ("segmented sum u32 8 x 2^21", || segmented_sum("8 x 2^21", &even(8, 1 << 21))),
    ("segmented sum u32 Zipf", || segmented_sum("Zipf", &zipf(1 << 24))),
    ("segmented sort u32 2^20 x 16", || segmented_sort("2^20 x 16", &even(1 << 20, 16))),
    ("segmented sort u32 2^14 x 1024", || segmented_sort("2^14 x 1024", &even(1 << 14, 1 << 10))),
    ("segmented sort u32 8 x 2^21", || segmented_sort("8 x 2^21", &even(8, 1 << 21))),
    ("segmented sort u32 Zipf", || segmented_sort("Zipf", &zipf(1 << 24))),
];

fn context() -> Context {
    Context::cpu().expect("a CPU context")
}

fn scan(bits: u32) -> Case {
    let n = 1usize << bits;
    let x = Rc::new(Buffer::from_fn(n, |i| (i % 7) as i32 - 3));
    let (mut y, mut z) = (Buffer::from_fn(n, |_| 0i32), Buffer::from_fn(n, |_| 0i32));
    let cx = context();
    prims::scan_i32(&cx, &x[..], &mut y[..]).expect("scan runs");
    two_pass(&x, &mut z);
    assert!(y[..] == z[..], "scans differ");
    let (input, also) = (x.clone(), x.clone());
    let mut contenders = vec![
        Contender::new("HiDP", move || prims::scan_i32(&cx, &input[..], &mut y[..]).expect("scan runs")),
        Contender::new("rayon two-pass", move || two_pass(&x, &mut z)),
    ];
    if peers::has_tbb() {
        let mut w = Buffer::from_fn(n, |_| 0i32);
        contenders.push(Contender::new("C++17 par", move || peers::scan_i32(&also, &mut w)));
    }
    Case { name: format!("scan i32 2^{bits}"), limit: Limit::Stream(8.0 * n as f64), contenders }
}

/// Sums of parts, their prefixes, then every part from its prefix.
fn two_pass(x: &[i32], y: &mut [i32]) {
    let part = x.len().div_ceil(8 * rayon::current_num_threads()).max(1 << 12);
    let sums: Vec<i32> = x.par_chunks(part).map(|part| part.iter().fold(0i32, |a, b| a.wrapping_add(*b))).collect();
    let mut so_far = 0i32;
    let before: Vec<i32> = sums
        .iter()
        .map(|sum| {
            let before = so_far;
            so_far = so_far.wrapping_add(*sum);
            before
        })
        .collect();
    x.par_chunks(part).zip(y.par_chunks_mut(part)).zip(before).for_each(|((x, y), mut sum)| {
        x.iter().zip(y).for_each(|(x, y)| {
            sum = sum.wrapping_add(*x);
            *y = sum;
        });
    });
}

/// A fold of 2^26 elements to one value, by HiDP and by rayon over chunks.
fn fold<T: Number + Sync + Send + PartialEq>(
    name: &str,
    value: impl Fn(usize) -> T,
    hidp: impl Fn(&[T]) -> T + 'static,
    chunk: fn(&[T]) -> T,
    join: fn(T, T) -> T,
    standard: fn(&[T]) -> T,
) -> Case {
    let n = 1 << 26;
    let x = Rc::new(Buffer::from_fn(n, value));
    let (y, z) = (x.clone(), x.clone());
    let limit = Limit::Read(size_of_val(&x[..]) as f64);
    let mut contenders = vec![
        Contender::new("HiDP", move || {
            black_box(hidp(&x));
        }),
        Contender::new("rayon", move || {
            black_box(y.par_chunks(1 << 16).map(chunk).reduce_with(join));
        }),
    ];
    if peers::has_tbb() {
        contenders.push(Contender::new("C++17 par", move || {
            black_box(standard(&z));
        }));
    }
    Case { name: name.into(), limit, contenders }
}

fn small(index: usize) -> f32 {
    ((index * 7919) % 17) as f32 / 16.0 - 0.5
}

/// Many partial results, so that the compiler can use vectors.
fn lanes<T: Copy>(x: &[T], start: T, join: impl Fn(T, T) -> T) -> T {
    let mut partial = [start; 64];
    let parts = x.chunks_exact(64);
    let rest = parts.remainder();
    parts.for_each(|part| partial.iter_mut().zip(part).for_each(|(a, b)| *a = join(*a, *b)));
    rest.iter().chain(&partial).fold(start, |a, b| join(a, *b))
}

fn sum() -> Case {
    let cx = context();
    let hidp = move |x: &[f32]| prims::sum_f32(&cx, x).expect("sum runs");
    fold("sum f32 2^26", small, hidp, |x| lanes(x, 0.0, |a, b| a + b), |a, b| a + b, peers::sum_f32)
}

fn min() -> Case {
    let cx = context();
    let hidp = move |x: &[f32]| prims::min_f32(&cx, x).expect("min runs");
    fold("min f32 2^26", small, hidp, |x| lanes(x, f32::INFINITY, least), least, peers::min_f32)
}

fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

fn max() -> Case {
    let cx = context();
    let hidp = move |x: &[i32]| prims::max_i32(&cx, x).expect("max runs");
    let value = |i| (i * 7919 % 1013) as i32;
    fold("max i32 2^26", value, hidp, |x| lanes(x, i32::MIN, i32::max), i32::max, peers::max_i32)
}

fn partition() -> Case {
    let n = 1usize << 24;
    let pivot = 1 << 31;
    let mut random = Random::new(5);
    let x = Rc::new(Buffer::from_fn(n, |_| random.bits() as u32));
    let mut y = Buffer::from_fn(n, |_| 0u32);
    let cx = context();
    let front = prims::partition_u32(&cx, &x[..], pivot, &mut y[..]).expect("partition runs") as usize;
    let (kept, others): (Vec<u32>, Vec<u32>) = x.iter().partition(|&&key| key < pivot);
    assert!(y[..front] == kept && y[front..] == others, "partitions differ");
    let (input, also) = (x.clone(), x.clone());
    let mut contenders = vec![
        Contender::new("HiDP", move || {
            prims::partition_u32(&cx, &input[..], pivot, &mut y[..]).expect("partition runs");
        }),
        Contender::new("rayon partition", move || {
            let parts: (Vec<u32>, Vec<u32>) = x.par_iter().partition(|&&key| key < pivot);
            black_box(parts);
        }),
    ];
    if peers::has_tbb() {
        let (mut front, mut back) = (Buffer::from_fn(n, |_| 0u32), Buffer::from_fn(n, |_| 0u32));
        contenders.push(Contender::new("C++17 par", move || peers::partition_u32(&also, &mut front, &mut back, pivot)));
    }
    Case { name: "partition u32 2^24".into(), limit: Limit::Stream(8.0 * n as f64), contenders }
}

/// Counts of bytes; of a text a few are most of them.
fn histogram(name: &str, byte: impl Fn(&mut Random) -> u8) -> Case {
    let mut random = Random::new(7);
    let x = Rc::new(Buffer::from_fn(10_000_000, |_| byte(&mut random)));
    let rayon = |x: &[u8]| {
        let count = |mut counts: [u32; 256], part: &[u8]| {
            part.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
            counts
        };
        let add = |a: [u32; 256], b: [u32; 256]| std::array::from_fn(|bin| a[bin] + b[bin]);
        x.par_chunks(1 << 16).fold(|| [0u32; 256], count).reduce(|| [0u32; 256], add)
    };
    let cx = context();
    let (mut counts, mut by_hand) = ([0u32; 256], [0u32; 256]);
    prims::count_u8(&cx, &x[..], &mut counts[..]).expect("counts run");
    peers::count_u8(&mut by_hand, &x);
    assert!(counts == by_hand && counts == rayon(&x), "counts differ");
    let (input, also) = (x.clone(), x.clone());
    let contenders = vec![
        Contender::new("HiDP", move || prims::count_u8(&cx, &input[..], &mut counts[..]).expect("counts run")),
        Contender::new("OpenMP, bins of each thread", move || peers::count_u8(&mut by_hand, &also)),
        Contender::new("rayon, bins of each chunk", move || {
            black_box(rayon(&x));
        }),
    ];
    Case { name: format!("histogram u8 10^7 {name}"), limit: Limit::Read(1e7), contenders }
}

/// The elements of each segment.
fn split<'a>(mut data: &'a mut [u32], cut: &[i32]) -> Vec<&'a mut [u32]> {
    cut.windows(2)
        .map(|pair| {
            let (part, rest) = std::mem::take(&mut data).split_at_mut((pair[1] - pair[0]) as usize);
            data = rest;
            part
        })
        .collect()
}

fn segmented_sum(name: &str, cut: &[i32]) -> Case {
    let n = cut[cut.len() - 1] as usize;
    let cut = Rc::new(cut.to_vec());
    let x = Rc::new(Buffer::from_fn(n, |i| (i * 7919) as u32));
    let (mut y, mut z) = (Buffer::from_fn(cut.len() - 1, |_| 0u32), vec![0u32; cut.len() - 1]);
    let cx = context();
    let rayon = |x: &[u32], cut: &[i32], z: &mut [u32]| {
        let parts = z.par_iter_mut().zip(cut.par_windows(2)).with_min_len(64);
        parts.for_each(|(sum, pair)| {
            *sum = x[pair[0] as usize..pair[1] as usize].iter().fold(0, |a: u32, b| a.wrapping_add(*b));
        });
    };
    prims::segmented_sum_u32(&cx, &x[..], &cut[..], &mut y[..]).expect("sums run");
    rayon(&x, &cut, &mut z);
    assert!(y[..] == z[..], "sums differ");
    let (mut w, places) = (Buffer::from_fn(cut.len() - 1, |_| 0u32), peers::Cuts::new(&cut));
    peers::segmented_sums(&mut w, &x, &places);
    assert!(y[..] == w[..], "sums differ");
    let (input, also, cuts) = (x.clone(), x.clone(), cut.clone());
    Case {
        name: format!("segmented sum u32 {name}"),
        limit: Limit::Read(4.0 * n as f64),
        contenders: vec![
            Contender::new("HiDP", move || {
                prims::segmented_sum_u32(&cx, &input[..], &cuts[..], &mut y[..]).expect("sums run");
            }),
            Contender::new("rayon", move || rayon(&x, &cut, &mut z)),
            Contender::new("OpenMP", move || peers::segmented_sums(&mut w, &also, &places)),
        ],
    }
}

fn segmented_sort(name: &str, cut: &[i32]) -> Case {
    let n = cut[cut.len() - 1] as usize;
    let mut random = Random::new(7);
    let keys = Buffer::from_fn(n, |_| random.bits() as u32);
    let mut sorts = Sorts::new(keys, |_, _| std::cmp::Ordering::Equal);
    sorts.expected = sorts.keys.to_vec();
    split(&mut sorts.expected, cut).into_iter().for_each(<[u32]>::sort_unstable);
    let cx = context();
    let cuts = cut.to_vec();
    sorts.add("HiDP", move |keys| prims::segmented_sort_u32(&cx, keys, &cuts[..]).expect("sorts run"));
    let (cx, cuts) = (context(), cut.to_vec());
    sorts.add("HiDP, in a map", move |keys| segments::sort_each(&cx, keys, &cuts[..]).expect("sorts run"));
    let cuts = cut.to_vec();
    sorts.add("rayon", move |keys| split(keys, &cuts).into_par_iter().for_each(<[u32]>::sort_unstable));
    if peers::has_vqsort() {
        let cuts = cut.to_vec();
        sorts.add("vqsort", move |keys| peers::vqsort_segments(keys, &cuts));
    }
    sorts.case(format!("segmented sort u32 {name}"))
}

#[cfg(test)]
mod tests {
    use hidp_std::Error;

    use super::*;

    /// Threads take parts of 129 iterations, and pieces of both meet where parts do.
    #[test]
    fn an_overlap_is_found_wherever_pieces_of_threads_meet() {
        let (cx, count) = (Context::builder().cpu().threads(2).build().unwrap(), 1 << 15);
        let apart: Vec<i32> = (0..=count).map(|s| 2 * s).collect();
        let mut keys = vec![0u32; 2 * count as usize];
        segments::sort_pairs(&cx, &mut keys, &apart[..apart.len() - 1], &apart[1..]).expect("none overlap");
        for late in (129..count).step_by(129) {
            let mut low = apart[..apart.len() - 1].to_vec();
            low[late as usize] -= 1;
            match segments::sort_pairs(&cx, &mut keys, &low, &apart[1..]) {
                Err(Error::Fault(fault)) => {
                    assert!(fault.to_string().contains(&format!("{}", late - 1)), "{late}: {fault}");
                }
                other => panic!("{late}: {other:?}"),
            }
        }
    }
}
