//! Usual programs as somebody first writes them, beside what one first writes in C++ with OpenMP.

use std::cell::RefCell;
use std::rc::Rc;

use hidp_std::Context;

use super::{Recipes, assert_alike, widen};
use crate::buffer::{Buffer, Number};
use crate::kernels::first;
use crate::peers::first::{self as peers, Around};
use crate::random::Random;
use crate::{Case, Contender, Limit};

pub(super) const RECIPES: Recipes = &[
    ("first histogram 10^7", histogram),
    ("first life border 4096^2", || life("border", Around::Border)),
    ("first life torus 4096^2", || life("torus", Around::Torus)),
    ("first life clamped 4096^2", || life("clamped", Around::Clamped)),
    ("first compact 2^24", compact),
    ("first run lengths 2^24", run_lengths),
    ("first diagonals 1000", || diagonals(1000)),
    ("first diagonals 20000", || diagonals(20000)),
    ("first forward 64 x 20000", forward),
    ("first pairs 10000", pairs),
    ("first sines 200 x 20000", sines),
];

pub(super) fn context() -> Context {
    Context::cpu().expect("a CPU context")
}

pub(super) fn shared<T: Number>(len: usize, value: impl FnMut(usize) -> T) -> Rc<RefCell<Buffer<T>>> {
    Rc::new(RefCell::new(Buffer::from_fn(len, value)))
}

/// A case whose contenders leave the same values in what `found` reads.
pub(super) fn case(
    name: &str,
    count: f64,
    relative: f64,
    mut contenders: Vec<Contender>,
    found: impl Fn() -> Vec<f64>,
) -> Case {
    assert_alike(name, &mut contenders, relative, found);
    Case { name: format!("first {name}"), limit: Limit::Cells(count), contenders }
}

fn histogram() -> Case {
    let mut random = Random::new(7);
    let x = Rc::new(Buffer::from_fn(10_000_000, |_| random.bits() as u8));
    let counts = Rc::new(RefCell::new([0u32; 256]));
    let (cx, input, own) = (context(), x.clone(), counts.clone());
    let hidp = move || first::bytes(&cx, &input[..], &mut own.borrow_mut()[..]).expect("counts run");
    let own = counts.clone();
    let peer = move || peers::histogram(&mut own.borrow_mut(), &x);
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", peer)];
    case("histogram 10^7", 1e7, 0.0, contenders, move || counts.borrow().iter().map(|n| f64::from(*n)).collect())
}

fn life(name: &str, around: Around) -> Case {
    const SHAPE: [usize; 2] = [4096; 2];
    let mut random = Random::new(3);
    let a = Rc::new(Buffer::from_fn(SHAPE[0] * SHAPE[1], |_| (random.bits().is_multiple_of(3)) as u8));
    let b = shared(a.len(), |_| 0u8);
    let hidp = |rest: bool| {
        let (cx, a, b) = (context(), a.clone(), b.clone());
        move || {
            let mut b = b.borrow_mut();
            let (a, b) = ((&a[..], SHAPE), &mut (&mut b[..], SHAPE));
            let done = match around {
                Around::Border => first::life_border(&cx, &a, b),
                Around::Torus if rest => first::life_rest(&cx, &a, b),
                Around::Torus => first::life_torus(&cx, &a, b),
                Around::Clamped => first::life_clamped(&cx, &a, b),
            };
            done.expect("life runs");
        }
    };
    let mut contenders = vec![Contender::new("HiDP", hidp(false))];
    if around == Around::Torus {
        contenders.push(Contender::new("HiDP, by `%`", hidp(true)));
    }
    let (input, own) = (a.clone(), b.clone());
    contenders.push(Contender::new("OpenMP", move || peers::life(&mut own.borrow_mut(), &input, SHAPE, around)));
    let found = move || b.borrow().iter().map(|cell| f64::from(*cell)).collect();
    case(&format!("life {name} 4096^2"), a.len() as f64, 0.0, contenders, found)
}

fn compact() -> Case {
    let n = 1 << 24;
    let mut random = Random::new(5);
    let x = Rc::new(Buffer::from_fn(n, |_| random.unit() as f32 - 0.5));
    let y = shared(n + 1, |_| 0f32);
    let hidp = {
        let (cx, x, y) = (context(), x.clone(), y.clone());
        move || _ = first::compact(&cx, &x[..], &mut y.borrow_mut()[..n]).expect("it runs")
    };
    let peer = |threads: bool| {
        let (x, y) = (x.clone(), y.clone());
        move || _ = peers::compact(&mut y.borrow_mut(), &x, threads)
    };
    let kept = x.iter().filter(|x| **x > 0.0).count();
    let contenders = vec![
        Contender::new("HiDP", hidp),
        Contender::new("C++, 1 thread", peer(false)),
        Contender::new("OpenMP", peer(true)),
    ];
    case("compact 2^24", n as f64, 0.0, contenders, move || widen(&y.borrow()[..kept]))
}

fn run_lengths() -> Case {
    let n = 1 << 24;
    let mut random = Random::new(5);
    let mut last = 0;
    let next = |_| {
        last = if random.below(4) == 0 { random.below(8) as i32 } else { last };
        last
    };
    let x = Rc::new(Buffer::from_fn(n, next));
    let (value, length) = (shared(n, |_| 0i32), shared(n, |_| 0i32));
    let hidp = {
        let (cx, x, value, length) = (context(), x.clone(), value.clone(), length.clone());
        move || {
            let (mut value, mut length) = (value.borrow_mut(), length.borrow_mut());
            first::run_lengths(&cx, &x[..], &mut value[..], &mut length[..]).expect("it runs");
        }
    };
    let peer = {
        let (x, value, length) = (x.clone(), value.clone(), length.clone());
        move || _ = peers::runs(&mut value.borrow_mut(), &mut length.borrow_mut(), &x)
    };
    let runs = 1 + x.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("C++, 1 thread", peer)];
    let found = move || {
        let both = [&value.borrow()[..runs], &length.borrow()[..runs]].concat();
        both.into_iter().map(f64::from).collect()
    };
    case("run lengths 2^24", n as f64, 0.0, contenders, found)
}

fn diagonals(n: usize) -> Case {
    let mut random = Random::new(2);
    let mut letters = || Rc::new(Buffer::from_fn(n, |_| random.below(4) as u8));
    let (s, t) = (letters(), letters());
    let distance = Rc::new(RefCell::new(0i32));
    let hidp = {
        let (cx, s, t, distance) = (context(), s.clone(), t.clone(), distance.clone());
        move || *distance.borrow_mut() = first::diagonals(&cx, &s[..], &t[..]).expect("it runs")
    };
    let own = distance.clone();
    let peer = move || *own.borrow_mut() = peers::diagonals(&s, &t);
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", peer)];
    let found = move || vec![f64::from(*distance.borrow())];
    case(&format!("diagonals {n}"), (n * n) as f64, 0.0, contenders, found)
}

fn forward() -> Case {
    let (states, symbols, length) = (64, 4, 20_000);
    let mut random = Random::new(9);
    let start = Rc::new(Buffer::from_fn(states, |_| random.unit() as f32));
    // Likelihoods stay as large as they are.
    let step = Rc::new(Buffer::from_fn(states * states, |_| random.unit() as f32 / 32.0));
    let emit = Rc::new(Buffer::from_fn(symbols * states, |_| 0.95 + 0.1 * random.unit() as f32));
    let x = Rc::new(Buffer::from_fn(length, |_| random.below(symbols) as u8));
    let likelihood = Rc::new(RefCell::new(0f32));
    let hidp = {
        let (cx, start, step, emit) = (context(), start.clone(), step.clone(), emit.clone());
        let (x, likelihood) = (x.clone(), likelihood.clone());
        move || {
            let (step, emit) = ((&step[..], [states, states]), (&emit[..], [symbols, states]));
            *likelihood.borrow_mut() = first::forward(&cx, &start[..], &step, &emit, &x[..]).expect("it runs");
        }
    };
    let own = likelihood.clone();
    let peer = move || *own.borrow_mut() = peers::forward([&start, &step, &emit], &x);
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("C++, 1 thread", peer)];
    let found = move || vec![f64::from(likelihood.borrow().abs().max(f32::MIN_POSITIVE).ln())];
    case("forward 64 x 20000", (states * states * length) as f64, 1e-3, contenders, found)
}

fn pairs() -> Case {
    let (n, bins) = (10_000, 100);
    let mut random = Random::new(4);
    let mut points = || Rc::new(Buffer::from_fn(n, |_| random.unit() as f32));
    let (x, y) = (points(), points());
    let scale = 80.0;
    let counts = shared(bins, |_| 0u32);
    let hidp = {
        let (cx, x, y, counts) = (context(), x.clone(), y.clone(), counts.clone());
        move || first::pairs(&cx, &x[..], &y[..], scale, &mut counts.borrow_mut()[..]).expect("it runs")
    };
    let own = counts.clone();
    let peer = move || peers::pairs(&mut own.borrow_mut(), &x, &y, scale);
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("C++, 1 thread", peer)];
    let found = move || counts.borrow().iter().map(|n| f64::from(*n)).collect();
    // Where a sum of products is rounded once, a pair may fall into the bin beside.
    case("pairs 10000", (n * (n - 1) / 2) as f64, 1e-4, contenders, found)
}

fn sines() -> Case {
    let (n, terms) = (200, 20_000);
    let x = Rc::new(Buffer::from_fn(n, |i| 0.001 * i as f64));
    let y = shared(n, |_| 0f64);
    let hidp = {
        let (cx, x, y) = (context(), x.clone(), y.clone());
        move || first::sines(&cx, &x[..], terms as i32, &mut y.borrow_mut()[..]).expect("it runs")
    };
    let own = y.clone();
    let peer = move || peers::sines(&mut own.borrow_mut(), &x, terms);
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", peer)];
    case("sines 200 x 20000", (n * terms) as f64, 1e-9, contenders, move || y.borrow().to_vec())
}
