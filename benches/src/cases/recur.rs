//! Dynamic programming: sequences and hidden Markov models.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use hidp_std::Context;
use rapidfuzz::distance::levenshtein;

use super::{Recipes, assert_close, widen};
use crate::blosum::{ALPHABET, blosum62};
use crate::kernels::recur;
use crate::parasail::Parasail;
use crate::python::{self, bytes};
use crate::random::Random;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("recur edit distance 20000", edit_distance),
    ("recur edit distance 10000 x 200", edit_distances),
    ("recur align affine 2000", align),
    ("recur align BLOSUM62 2000", align_letters),
    ("recur forward 10 x 10000 x 100", forward),
];

pub(super) fn letters(count: usize, kinds: usize, seed: u64) -> Rc<[u8]> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.below(kinds) as u8).collect()
}

/// A contender that computes a value.
pub(super) fn giving<T>(name: &'static str, run: impl Fn() -> T + 'static) -> Contender {
    Contender::new(name, move || {
        black_box(run());
    })
}

fn edit_distance() -> Case {
    let n = 20_000;
    let (s, t) = (letters(n, 4, 1), letters(n, 4, 2));
    let cx = Context::cpu().expect("a CPU context");
    let hidp = {
        let (s, t) = (s.clone(), t.clone());
        move || recur::edit_distance(&cx, &s[..], &t[..]).expect("it runs")
    };
    let openmp = {
        let (s, t) = (s.clone(), t.clone());
        move || peers::edit_wave(&s, &t)
    };
    let edlib = edlib(&s, &t, 1);
    let rapidfuzz = move || levenshtein::distance(s.iter().copied(), t.iter().copied());
    assert_eq!((hidp(), hidp() as usize), (openmp(), rapidfuzz()));
    let edlib = edlib.map(|(edlib, sum)| {
        assert_eq!(sum, hidp().to_string());
        edlib
    });
    Case {
        name: "recur edit distance 20000".into(),
        limit: Limit::Cells((n * n) as f64),
        contenders: vec![
            giving("HiDP", hidp),
            giving("OpenMP diagonals", openmp),
            giving("rapidfuzz, 1 thread", rapidfuzz),
        ]
        .into_iter()
        .chain(edlib)
        .collect(),
    }
}

/// Edlib, and the sum of the distances of so many pairs that it finds.
fn edlib(s: &[u8], t: &[u8], pairs: i64) -> Option<(Contender, String)> {
    let files = [("s", s.to_vec()), ("t", t.to_vec()), ("pairs", bytes(&[pairs], i64::to_le_bytes))];
    python::contender("edlib by Python, 1 thread", "edlib", &files)
}

fn edit_distances() -> Case {
    let (pairs, n) = (10_000, 200);
    let (a, b) = (letters(pairs * n, 4, 3), letters(pairs * n, 4, 4));
    let out = || RefCell::new(vec![0i32; pairs]);
    let (found, expected) = (Rc::new(out()), Rc::new(out()));
    let cx = Context::cpu().expect("a CPU context");
    let hidp = {
        let (a, b, found) = (a.clone(), b.clone(), found.clone());
        move || {
            let (a, b) = ((&a[..], [pairs, n]), (&b[..], [pairs, n]));
            recur::edit_distances(&cx, &a, &b, &mut found.borrow_mut()[..]).expect("it runs");
        }
    };
    let bits = {
        let (a, b, expected) = (a.clone(), b.clone(), expected.clone());
        move || peers::edit_pairs(&mut expected.borrow_mut(), &a, &b, [n, n])
    };
    let edlib = edlib(&a, &b, pairs as i64);
    let rapidfuzz = move || {
        let pairs = a.chunks(n).zip(b.chunks(n));
        pairs.map(|(s, t)| levenshtein::distance(s.iter().copied(), t.iter().copied())).sum::<usize>()
    };
    hidp();
    bits();
    assert_eq!(found.borrow()[..], expected.borrow()[..]);
    let sum: usize = expected.borrow().iter().map(|distance| *distance as usize).sum();
    assert_eq!(rapidfuzz(), sum);
    let edlib = edlib.map(|(edlib, found)| {
        assert_eq!(found, sum.to_string());
        edlib
    });
    Case {
        name: "recur edit distance 10000 x 200".into(),
        limit: Limit::Cells((pairs * n * n) as f64),
        contenders: vec![
            Contender::new("HiDP", hidp),
            Contender::new("OpenMP bits", bits),
            giving("rapidfuzz, 1 thread", rapidfuzz),
        ]
        .into_iter()
        .chain(edlib)
        .collect(),
    }
}

fn align() -> Case {
    let n = 2000;
    let (s, t) = (letters(n, 4, 5), letters(n, 4, 6));
    let [matched, mismatch, open, ext] = [2, -1, 3, 1];
    let cx = Context::cpu().expect("a CPU context");
    let hidp = {
        let (s, t) = (s.clone(), t.clone());
        move || recur::align(&cx, &s[..], &t[..], matched, mismatch, open, ext).expect("it runs")
    };
    let openmp = {
        let (s, t) = (s.clone(), t.clone());
        move || peers::affine_wave(&s, &t, [matched, mismatch, open, ext])
    };
    assert_eq!(hidp(), openmp());
    let expected = hidp();
    let mut contenders = vec![giving("HiDP", hidp), giving("diagonals, 1 thread", openmp)];
    let costs = [0, 1, 2, 3].map(|s| [0, 1, 2, 3].map(|t| if s == t { matched } else { mismatch }));
    contenders.extend(parasail("ACGT", &costs.concat(), [s, t], [open, ext], expected));
    let (name, limit) = ("recur align affine 2000".into(), Limit::Cells((n * n) as f64));
    Case { name, limit, contenders }
}

/// Proteins: BLOSUM62, and the costs of gaps that go with it.
fn align_letters() -> Case {
    let n = 2000;
    let alphabet = std::str::from_utf8(ALPHABET).expect("letters");
    let (kinds, costs) = (alphabet.len(), blosum62());
    let (s, t) = (letters(n, kinds, 9), letters(n, kinds, 10));
    let [open, ext] = [11, 1];
    let cx = Context::cpu().expect("a CPU context");
    let hidp = {
        let (s, t, costs) = (s.clone(), t.clone(), costs.clone());
        move || {
            let costs = (&costs[..], [kinds, kinds]);
            recur::align_letters(&cx, &s[..], &t[..], &costs, open, ext).expect("it runs")
        }
    };
    let openmp = {
        let (s, t, costs) = (s.clone(), t.clone(), costs.clone());
        move || peers::affine_letters(&s, &t, &costs, [open, ext])
    };
    let expected = hidp();
    assert_eq!(openmp(), expected);
    let mut contenders = vec![giving("HiDP", hidp), giving("diagonals, 1 thread", openmp)];
    contenders.extend(parasail(alphabet, &costs, [s, t], [open, ext], expected));
    let (name, limit) = ("recur align BLOSUM62 2000".into(), Limit::Cells((n * n) as f64));
    Case { name, limit, contenders }
}

/// Parasail where it is installed, which has to find the same score.
fn parasail(
    alphabet: &str,
    costs: &[i32],
    sequences: [Rc<[u8]>; 2],
    [open, ext]: [i32; 2],
    expected: i32,
) -> Option<Contender> {
    let parasail = Parasail::find(alphabet, costs)?;
    let text = |codes: Rc<[u8]>| codes.iter().map(|code| alphabet.as_bytes()[usize::from(*code)]).collect::<Vec<u8>>();
    let [s, t] = sequences.map(text);
    assert_eq!(parasail.align(&s, &t, open, ext), expected);
    Some(giving("parasail scan, 1 thread", move || parasail.align(&s, &t, open, ext)))
}

/// A hidden Markov model: where it starts, how it goes on, what is seen.
pub(super) fn hidden_markov(states: usize, symbols: usize) -> [Rc<[f32]>; 3] {
    let mut random = Random::new(8);
    let mut rows = |count: usize, width: usize| -> Rc<[f32]> {
        let row = |_| {
            let row: Vec<f32> = (0..width).map(|_| 0.1 + random.unit() as f32).collect();
            let sum: f32 = row.iter().sum();
            row.into_iter().map(move |value| value / sum)
        };
        (0..count).flat_map(row).collect()
    };
    let (start, step) = (rows(1, states), rows(states, states));
    // Larger than likelihoods, so that products stay normal numbers.
    let emit = rows(states, symbols).iter().map(|value| value * symbols as f32).collect();
    [start, step, emit]
}

fn forward() -> Case {
    let (states, sequences, length, symbols) = (10, 10_000, 100, 4);
    let x = letters(sequences * length, symbols, 7);
    let [start, step, emit] = hidden_markov(states, symbols);
    let out = || Rc::new(RefCell::new(vec![0.0f32; sequences]));
    let (found, expected) = (out(), out());
    let cx = Context::cpu().expect("a CPU context");
    let hidp = {
        let (start, step, emit, x, found) = (start.clone(), step.clone(), emit.clone(), x.clone(), found.clone());
        move || {
            let (step, emit) = ((&step[..], [states, states]), (&emit[..], [states, symbols]));
            let x = (&x[..], [sequences, length]);
            recur::forward(&cx, &start[..], &step, &emit, &x, &mut found.borrow_mut()[..]).expect("it runs");
        }
    };
    let hmmlearn = hmmlearn([&start, &step, &emit], &x, length);
    let lanes = {
        let expected = expected.clone();
        move || peers::forward(&mut expected.borrow_mut(), [&start, &step, &emit], &x)
    };
    hidp();
    lanes();
    assert_close("forward", &widen(&found.borrow()), &widen(&expected.borrow()), 1e-4);
    let mut contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP lanes", lanes)];
    contenders.extend(hmmlearn.map(|(hmmlearn, score)| {
        // Its probabilities of symbols add up to 1.
        let more = (sequences * length) as f64 * (symbols as f64).ln();
        let sum: f64 = expected.borrow().iter().map(|likelihood| f64::from(*likelihood).ln()).sum();
        let score: f64 = score.parse().expect("hmmlearn gives a number");
        assert_close("hmmlearn", &[sum - more], &[score], 1e-4);
        hmmlearn
    }));
    let cells = Limit::Cells((states * sequences * length) as f64);
    Case { name: "recur forward 10 x 10000 x 100".into(), limit: cells, contenders }
}

/// hmmlearn, and the logarithm of the likelihood of all that is seen.
fn hmmlearn([start, step, emit]: [&[f32]; 3], x: &[u8], length: usize) -> Option<(Contender, String)> {
    let [states, symbols] = [start.len(), emit.len() / start.len()].map(|count| count as i64);
    let files = [
        ("start", bytes(start, f32::to_le_bytes)),
        ("move", bytes(step, f32::to_le_bytes)),
        ("emit", bytes(emit, f32::to_le_bytes)),
        ("x", x.to_vec()),
        ("sizes", bytes(&[states, symbols, length as i64], i64::to_le_bytes)),
    ];
    python::contender("hmmlearn (f64), 1 thread", "hmmlearn", &files)
}
