//! Series, hidden Markov models, intervals and linear recurrences.

use std::cell::RefCell;
use std::rc::Rc;

use hidp_std::Context;

use super::recur::{giving, hidden_markov, letters};
use super::{Recipes, assert_close, widen};
use crate::kernels::recur;
use crate::openblas::OpenBlas;
use crate::python::{self, bytes};
use crate::random::Random;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("recur warp f32 10000", warp),
    ("recur warp f32 100 x 100 x 128", warps),
    ("recur forward 512 x 256 x 100", forward),
    ("recur intervals 2000", intervals),
    ("recur matrix chain 2000", chain),
    ("recur linear u32 2^26", linear),
];

fn series(count: usize, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    let mut at = 0.0;
    let step = |_| {
        at += random.unit() as f32 - 0.5;
        at
    };
    (0..count).map(step).collect()
}

/// A result that a peer gives as text.
fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("a peer's result is {text:?}"))
}

fn warp() -> Case {
    let n = 10_000;
    let (x, y) = (series(n, 21), series(n, 22));
    let files = [("x", bytes(&x, f32::to_le_bytes)), ("y", bytes(&y, f32::to_le_bytes))];
    let peer = python::contender("dtaidistance (f64), 1 thread", "dtaidistance", &files);
    let cx = Context::cpu().expect("a CPU context");
    let hidp = move || recur::warp(&cx, &x[..], &y[..]).expect("it runs");
    let found = f64::from(hidp());
    let mut contenders = vec![giving("HiDP", hidp)];
    contenders.extend(peer.map(|(contender, result)| {
        assert_close("warp", &[found], &[number(&result)], 1e-3);
        contender
    }));
    Case { name: "recur warp f32 10000".into(), limit: Limit::Cells((n * n) as f64), contenders }
}

fn warps() -> Case {
    let (count, n) = (100, 128);
    let (a, b) = (series(count * n, 23), series(count * n, 24));
    let files = [
        ("x", bytes(&a, f32::to_le_bytes)),
        ("y", bytes(&b, f32::to_le_bytes)),
        ("length", bytes(&[n as i64], i64::to_le_bytes)),
    ];
    let peer = python::contender("dtaidistance (f64), all threads", "dtaidistance_pairs", &files);
    let cx = Context::cpu().expect("a CPU context");
    let found = Rc::new(RefCell::new(vec![0.0f32; count * count]));
    let hidp = {
        let found = found.clone();
        move || {
            let (a, b) = ((&a[..], [count, n]), (&b[..], [count, n]));
            recur::warps(&cx, &a, &b, &mut (&mut found.borrow_mut()[..], [count, count])).expect("it runs");
        }
    };
    hidp();
    let sum: f64 = found.borrow().iter().map(|distance| f64::from(*distance)).sum();
    let mut contenders = vec![Contender::new("HiDP", hidp)];
    contenders.extend(peer.map(|(contender, result)| {
        assert_close("warps", &[sum], &[number(&result)], 1e-4);
        contender
    }));
    let cells = Limit::Cells((count * count * n * n) as f64);
    Case { name: "recur warp f32 100 x 100 x 128".into(), limit: cells, contenders }
}

/// A model with many states, of which each step is a product of matrices for all sequences.
fn forward() -> Case {
    let (states, sequences, length, symbols) = (512, 256, 100, 4);
    let x = letters(sequences * length, symbols, 25);
    let [start, step, emit] = hidden_markov(states, symbols);
    let found = Rc::new(RefCell::new(vec![0.0f32; sequences]));
    let cx = Context::cpu().expect("a CPU context");
    let hidp = {
        let (start, step, emit, x, found) = (start.clone(), step.clone(), emit.clone(), x.clone(), found.clone());
        move || {
            let (step, emit) = ((&step[..], [states, states]), (&emit[..], [states, symbols]));
            let x = (&x[..], [sequences, length]);
            recur::forward(&cx, &start[..], &step, &emit, &x, &mut found.borrow_mut()[..]).expect("it runs");
        }
    };
    hidp();
    let mut contenders = vec![Contender::new("HiDP", hidp)];
    contenders.extend(OpenBlas::find().map(|blas| {
        let expected = Rc::new(RefCell::new(vec![0.0f32; sequences]));
        let run = {
            let expected = expected.clone();
            move || by_products(&blas, &mut expected.borrow_mut(), [&start, &step, &emit], &x)
        };
        run();
        assert_close("forward", &widen(&found.borrow()), &widen(&expected.borrow()), 1e-3);
        Contender::new("a product of OpenBLAS each step", run)
    }));
    let cells = Limit::Cells((states * sequences * length) as f64);
    Case { name: "recur forward 512 x 256 x 100".into(), limit: cells, contenders }
}

/// Likelihoods of rows of `x`, all in step.
fn by_products(blas: &OpenBlas, likelihood: &mut [f32], [start, step, emit]: [&[f32]; 3], x: &[u8]) {
    let (sequences, states) = (likelihood.len(), start.len());
    let (length, symbols) = (x.len() / sequences, emit.len() / states);
    let seen = |row: usize, at: usize| usize::from(x[row * length + at]);
    let mut now = vec![0.0; sequences * states];
    let mut next = now.clone();
    // A row for each symbol.
    let by_symbol: Vec<f32> =
        (0..symbols).flat_map(|symbol| (0..states).map(move |state| emit[state * symbols + symbol])).collect();
    for (row, now) in now.chunks_mut(states).enumerate() {
        let emit = &by_symbol[seen(row, 0) * states..][..states];
        now.iter_mut().zip(start).zip(emit).for_each(|((now, start), emit)| *now = start * emit);
    }
    for at in 1..length {
        blas.sgemm([sequences, states, states], &now, step, &mut next);
        std::mem::swap(&mut now, &mut next);
        for (row, now) in now.chunks_mut(states).enumerate() {
            let emit = &by_symbol[seen(row, at) * states..][..states];
            now.iter_mut().zip(emit).for_each(|(now, emit)| *now *= emit);
        }
    }
    likelihood.iter_mut().zip(now.chunks(states)).for_each(|(likelihood, now)| *likelihood = now.iter().sum());
}

/// Nussinov's folds.
fn intervals() -> Case {
    let n = 2000;
    let b = letters(n, 4, 26);
    let cx = Context::cpu().expect("a CPU context");
    let hidp = {
        let b = b.clone();
        move || recur::fold_letters(&cx, &b[..]).expect("it runs")
    };
    let openmp = move || peers::fold_letters(&b);
    assert_eq!(hidp(), openmp());
    Case {
        name: "recur intervals 2000".into(),
        limit: splits(n),
        contenders: vec![giving("HiDP", hidp), giving("OpenMP diagonals", openmp)],
    }
}

fn chain() -> Case {
    let n = 2000;
    let mut random = Random::new(27);
    let p: Rc<[i64]> = (0..=n).map(|_| 1 + random.below(100) as i64).collect();
    let cx = Context::cpu().expect("a CPU context");
    let hidp = {
        let p = p.clone();
        move || recur::chained(&cx, &p[..]).expect("it runs")
    };
    let openmp = move || peers::chained(&p);
    assert_eq!(hidp(), openmp());
    Case {
        name: "recur matrix chain 2000".into(),
        limit: splits(n),
        contenders: vec![giving("HiDP", hidp), giving("OpenMP diagonals", openmp)],
    }
}

/// All places where intervals of so many elements can be split.
fn splits(n: usize) -> Limit {
    let n = n as f64;
    Limit::Cells((n - 1.0) * n * (n + 1.0) / 6.0)
}

fn linear() -> Case {
    let n = 1 << 26;
    let mut random = Random::new(28);
    let mut numbers = || -> Rc<[u32]> { (0..n).map(|_| random.below(1 << 31) as u32).collect() };
    let (a, b) = (numbers(), numbers());
    let out = || Rc::new(RefCell::new(vec![0u32; n]));
    let (found, expected) = (out(), out());
    let hidp = {
        let (cx, a, b, found) = (Context::cpu().expect("a CPU context"), a.clone(), b.clone(), found.clone());
        move || recur::linears(&cx, &a[..], &b[..], &mut found.borrow_mut()[..]).expect("it runs")
    };
    let scan = {
        let (cx, expected) = (Context::cpu().expect("a CPU context"), expected.clone());
        move || recur::linears_scanned(&cx, &a[..], &b[..], &mut expected.borrow_mut()[..]).expect("it runs")
    };
    hidp();
    scan();
    assert!(found.borrow()[..] == expected.borrow()[..], "the recurrence and the scan differ");
    Case {
        name: "recur linear u32 2^26".into(),
        limit: Limit::Cells(n as f64),
        contenders: vec![Contender::new("HiDP", hidp), Contender::new("HiDP's scan of pairs", scan)],
    }
}
