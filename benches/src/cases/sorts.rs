//! Sorts of keys, with and without values: types, sizes and distributions, beside the strongest parallel sorts.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

use hidp_std::Context;
use rayon::prelude::*;
use rdst::{RadixKey, RadixSort as _};
use voracious_radix_sort::{RadixSort as _, Radixable};

use super::Recipe;
use crate::buffer::{Buffer, Number};
use crate::kernels::prims;
use crate::peers::sorts as native;
use crate::random::Random;
use crate::{Case, Contender, Limit, peers};

/// How keys are distributed: a name, and the high bits of a key from its index, the number of keys and random bits.
type Distribution = (&'static str, fn(usize, usize, u64) -> u64);

/// Numbers of keys, as powers of two.
const SIZES: [u32; 4] = [16, 20, 22, 24];

const DISTRIBUTIONS: [Distribution; 5] = [
    ("uniform", |_, _, bits| bits),
    ("sorted", |i, n, _| (i as u64) * (u64::MAX / n as u64)),
    ("reversed", |i, n, _| ((n - 1 - i) as u64) * (u64::MAX / n as u64)),
    ("equal", |_, _, _| 7 << 32 | 7),
    ("few", |_, _, bits| (bits % 10) * (1_000_003 << 32 | 1_000_003)),
];

pub(super) fn recipes() -> Vec<Recipe> {
    let mut recipes = Vec::new();
    add_type::<u32>(&mut recipes);
    add_type::<f32>(&mut recipes);
    add_type::<u64>(&mut recipes);
    recipes
}

fn add_type<K: Key>(recipes: &mut Vec<Recipe>) {
    for bits in SIZES {
        for distribution in DISTRIBUTIONS {
            let name = format!("sort {} 2^{bits} {}", K::NAME, distribution.0);
            recipes.push(Recipe::new(name, move |name| sort::<K>(name, bits, distribution)));
        }
    }
    for bits in SIZES {
        for distribution in DISTRIBUTIONS {
            let name = format!("sort pairs {} 2^{bits} {}", K::NAME, distribution.0);
            recipes.push(Recipe::new(name, move |name| sort_pairs::<K>(name, bits, distribution)));
        }
    }
}

/// Keys that every contender can sort.
trait Key: Number + PartialEq + PartialOrd + Send + Sync + RadixKey {
    const NAME: &'static str;
    /// A key of these high bits.
    fn made(bits: u64) -> Self;
    fn order(&self, other: &Self) -> Ordering;
    fn hidp(cx: &Context, keys: &mut [Self]) -> hidp_std::Result;
    fn hidp_pairs(cx: &Context, keys: &mut [Self], values: &mut [u32]) -> hidp_std::Result;
    fn voracious(keys: &mut [Self], threads: usize);
    fn voracious_pairs(pairs: &mut [Pair<Self>], threads: usize);
    const GNU: fn(&mut [Self]);
    const GNU_PAIRS: fn(&mut [Pair<Self>]);
    const STANDARD: fn(&mut [Self]);
    const VQSORT: fn(&mut [Self]);
}

/// A key with its value, as peers take them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pair<K> {
    pub key: K,
    pub value: u32,
}

impl<K: PartialEq> PartialEq for Pair<K> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<K: PartialOrd> PartialOrd for Pair<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.key.partial_cmp(&other.key)
    }
}
impl<K: RadixKey> RadixKey for Pair<K> {
    const LEVELS: usize = K::LEVELS;
    fn get_level(&self, level: usize) -> u8 {
        self.key.get_level(level)
    }
}

macro_rules! keys {
    ($($key:ident, $made:expr, $order:expr, $hidp:ident, $pairs:ident;)*) => {$(
        impl Radixable<$key> for Pair<$key> {
            type Key = $key;
            fn key(&self) -> $key {
                self.key
            }
        }
        impl Key for $key {
            const NAME: &'static str = stringify!($key);
            fn made(bits: u64) -> $key {
                $made(bits)
            }
            fn order(&self, other: &$key) -> Ordering {
                $order(self, other)
            }
            fn hidp(cx: &Context, keys: &mut [$key]) -> hidp_std::Result {
                prims::$hidp(cx, keys)
            }
            fn hidp_pairs(cx: &Context, keys: &mut [$key], values: &mut [u32]) -> hidp_std::Result {
                prims::$pairs(cx, keys, values)
            }
            fn voracious(keys: &mut [$key], threads: usize) {
                keys.voracious_mt_sort(threads);
            }
            fn voracious_pairs(pairs: &mut [Pair<$key>], threads: usize) {
                pairs.voracious_mt_sort(threads);
            }
            const GNU: fn(&mut [$key]) = native::$key::gnu;
            const GNU_PAIRS: fn(&mut [Pair<$key>]) = native::$key::gnu_pairs;
            const STANDARD: fn(&mut [$key]) = native::$key::standard;
            const VQSORT: fn(&mut [$key]) = native::$key::vqsort;
        }
    )*};
}

keys! {
    u32, |bits: u64| (bits >> 32) as u32, u32::cmp, sort_u32, sort_pairs_u32;
    f32, |bits: u64| ((bits as f64 / u64::MAX as f64 - 0.5) * 1.0e6) as f32, f32::total_cmp, sort_f32, sort_pairs_f32;
    u64, |bits: u64| bits, u64::cmp, sort_u64, sort_pairs_u64;
}

fn made_keys<K: Key>(bits: u32, (_, key): Distribution) -> Buffer<K> {
    let n = 1usize << bits;
    let mut random = Random::new(1);
    Buffer::from_fn(n, |i| K::made(key(i, n, random.bits())))
}

/// Contenders that sort a fresh copy of the keys each time; copying is part of everyone's work.
pub(super) struct Sorts<T: Number> {
    pub(super) keys: Rc<Buffer<T>>,
    pub(super) expected: Vec<T>,
    work: Rc<RefCell<Buffer<T>>>,
    contenders: Vec<Contender>,
}

impl<T: Number + PartialEq> Sorts<T> {
    pub(super) fn new(keys: Buffer<T>, compare: impl Fn(&T, &T) -> Ordering) -> Sorts<T> {
        let mut expected = keys.to_vec();
        expected.sort_unstable_by(compare);
        let work = Rc::new(RefCell::new(Buffer::from_fn(keys.len(), |i| keys[i])));
        Sorts { keys: Rc::new(keys), expected, work, contenders: Vec::new() }
    }

    pub(super) fn add(&mut self, name: &'static str, mut sort: impl FnMut(&mut [T]) + 'static) {
        let (keys, work) = (self.keys.clone(), self.work.clone());
        let mut run = move || {
            let mut work = work.borrow_mut();
            work.copy_from_slice(&keys);
            sort(&mut work);
        };
        run();
        assert!(self.work.borrow()[..] == self.expected[..], "{name} does not sort");
        self.contenders.push(Contender::new(name, run));
    }

    pub(super) fn case(self, name: String) -> Case {
        let bytes = 2.0 * size_of_val(&self.keys[..]) as f64;
        Case { name, limit: Limit::Stream(bytes), contenders: self.contenders }
    }
}

fn sort<K: Key>(name: String, bits: u32, distribution: Distribution) -> Case {
    let mut sorts = Sorts::new(made_keys::<K>(bits, distribution), K::order);
    let cx = Context::cpu().expect("a CPU context");
    sorts.add("HiDP", move |keys| K::hidp(&cx, keys).expect("sort runs"));
    sorts.add("rdst", |keys| keys.radix_sort_unstable());
    sorts.add("voracious", |keys| K::voracious(keys, rayon::current_num_threads()));
    sorts.add("rayon", |keys| keys.par_sort_unstable_by(K::order));
    sorts.add("gnu_parallel", K::GNU);
    if peers::has_tbb() {
        sorts.add("C++17 par", K::STANDARD);
    }
    if peers::has_vqsort() {
        sorts.add("vqsort", K::VQSORT);
    }
    sorts.case(name)
}

/// Keys with their numbers as values. HiDP takes two arrays and is stable; its peers take pairs and, but for rayon, are not.
fn sort_pairs<K: Key>(name: String, bits: u32, distribution: Distribution) -> Case {
    let keys = made_keys::<K>(bits, distribution);
    let n = keys.len();
    let mut expected: Vec<Pair<K>> = keys.iter().zip(0..).map(|(&key, value)| Pair { key, value }).collect();
    expected.sort_by(|a, b| a.key.order(&b.key));
    let input = Rc::new(Buffer::from_fn(n, |i| Pair { key: keys[i], value: i as u32 }));

    let cx = Context::cpu().expect("a CPU context");
    let (mut a, mut v) = (Buffer::from_fn(n, |i| keys[i]), Buffer::from_fn(n, |i| i as u32));
    let numbers = Buffer::from_fn(n, |i| i as u32);
    K::hidp_pairs(&cx, &mut a, &mut v).expect("sort runs");
    assert!(a.iter().zip(v.iter()).zip(&expected).all(|((a, v), e)| *a == e.key && *v == e.value), "{name}: HiDP");
    let mut contenders = vec![Contender::new("HiDP", move || {
        a.copy_from_slice(&keys);
        v.copy_from_slice(&numbers);
        K::hidp_pairs(&cx, &mut a, &mut v).expect("sort runs");
    })];

    let work = Rc::new(RefCell::new(Buffer::from_fn(n, |i| input[i])));
    let mut add = |name: &'static str, sort: fn(&mut [Pair<K>])| {
        let (input, work_of_run) = (input.clone(), work.clone());
        let run = move || {
            let mut work = work_of_run.borrow_mut();
            work.copy_from_slice(&input);
            sort(&mut work);
        };
        run();
        assert!(work.borrow()[..] == expected[..], "{name} does not sort pairs");
        contenders.push(Contender::new(name, run));
    };
    add("rdst", |pairs| pairs.radix_sort_unstable());
    add("voracious", |pairs| K::voracious_pairs(pairs, rayon::current_num_threads()));
    add("rayon", |pairs| pairs.par_sort_unstable_by(|a, b| a.key.order(&b.key)));
    add("rayon stable", |pairs| pairs.par_sort_by(|a, b| a.key.order(&b.key)));
    add("gnu_parallel", K::GNU_PAIRS);
    Case { name, limit: Limit::Stream(2.0 * (n * (size_of::<K>() + 4)) as f64), contenders }
}
