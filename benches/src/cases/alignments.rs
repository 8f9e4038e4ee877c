//! Alignments beside packages that only align.

use std::cell::RefCell;
use std::rc::Rc;

use hidp_std::Context;

use super::Recipes;
use super::recur::{giving, letters};
use crate::blosum::{ALPHABET, blosum62};
use crate::kernels::recur;
use crate::python::{self, bytes};
use crate::random::Random;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("recur search 375 x 20000", search),
    ("recur search end 2000", search_end),
    ("recur search way 2000", search_way),
    ("recur needleman 8192", needleman),
];

/// What gaps cost with BLOSUM62: the first letter and each other one.
const GAPS: [i32; 2] = [11, 1];

/// Proteins one after the other, of lengths as in a database, and where each begins.
fn proteins(count: usize) -> (Vec<u8>, Vec<i64>) {
    let mut random = Random::new(11);
    let mut off = vec![0];
    for _ in 0..count {
        // Most are short, few are long.
        let part = random.unit();
        off.push(off[off.len() - 1] + 60 + (part * part * 900.0) as i64);
    }
    let total = usize::try_from(off[count]).expect("a length");
    (letters(total, ALPHABET.len(), 12).to_vec(), off)
}

/// Smith-Waterman: one protein beside all of a database.
fn search() -> Case {
    let count = 20_000;
    let query = letters(375, ALPHABET.len(), 13);
    let (db, off) = proteins(count);
    let cells = query.len() as f64 * db.len() as f64;
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as i64);
    let opal = python::contender(
        "Opal by pyopal, all threads",
        "pyopal",
        &[
            ("s", query.to_vec()),
            ("db", db.clone()),
            ("off", bytes(&off, i64::to_le_bytes)),
            ("threads", bytes(&[threads], i64::to_le_bytes)),
        ],
    );
    let cx = Context::cpu().expect("a CPU context");
    let found = Rc::new(RefCell::new(vec![0i32; count]));
    let kinds = ALPHABET.len();
    let costs = blosum62();
    let hidp = {
        let found = found.clone();
        move || {
            let costs = (&costs[..], [kinds, kinds]);
            let [open, ext] = GAPS;
            let score = &mut found.borrow_mut()[..];
            recur::search(&cx, &query[..], &db[..], &off[..], &costs, open, ext, score).expect("it runs");
        }
    };
    hidp();
    let mut contenders = vec![Contender::new("HiDP", hidp)];
    contenders.extend(opal.map(|(contender, result)| {
        let sum: i64 = found.borrow().iter().map(|score| i64::from(*score)).sum();
        assert_eq!(result, sum.to_string(), "sums of scores");
        contender
    }));
    Case { name: "recur search 375 x 20000".into(), limit: Limit::Cells(cells), contenders }
}

/// Two proteins of which a part is alike.
fn relatives(n: usize) -> [Rc<[u8]>; 2] {
    let (s, mut t) = (letters(n, ALPHABET.len(), 14), letters(n, ALPHABET.len(), 15).to_vec());
    let mut random = Random::new(16);
    for at in n / 4..3 * n / 4 {
        if random.below(3) > 0 {
            t[at] = s[at - n / 8];
        }
    }
    [s, t.into()]
}

/// Smith-Waterman, and where the best one ends.
fn search_end() -> Case {
    let n = 2000;
    let [s, t] = relatives(n);
    let parasail = python::contender(
        "parasail striped by Python, 1 thread",
        "parasail_end",
        &[("s", s.to_vec()), ("t", t.to_vec())],
    );
    let cx = Context::cpu().expect("a CPU context");
    let (kinds, costs) = (ALPHABET.len(), blosum62());
    let hit = Rc::new(RefCell::new([0i64; 3]));
    let hidp = {
        let hit = hit.clone();
        move || {
            let ([open, ext], costs) = (GAPS, (&costs[..], [kinds, kinds]));
            recur::search_end(&cx, &s[..], &t[..], &costs, open, ext, &mut hit.borrow_mut()[..]).expect("it runs");
        }
    };
    hidp();
    let mut contenders = vec![Contender::new("HiDP", hidp)];
    contenders.extend(parasail.map(|(contender, result)| {
        assert_eq!(result.split(' ').next(), Some(hit.borrow()[0].to_string().as_str()), "scores");
        contender
    }));
    Case { name: "recur search end 2000".into(), limit: Limit::Cells((n * n) as f64), contenders }
}

fn search_way() -> Case {
    let n = 2000;
    let [s, t] = relatives(n);
    let parasail = python::contender(
        "parasail trace by Python, 1 thread",
        "parasail_way",
        &[("s", s.to_vec()), ("t", t.to_vec())],
    );
    let cx = Context::cpu().expect("a CPU context");
    let (kinds, costs) = (ALPHABET.len(), blosum62());
    let steps = Rc::new(RefCell::new(vec![0u8; 2 * n]));
    let hidp = move || {
        let ([open, ext], costs) = (GAPS, (&costs[..], [kinds, kinds]));
        recur::search_way(&cx, &s[..], &t[..], &costs, open, ext, &mut steps.borrow_mut()[..]).expect("it runs")
    };
    let (score, _) = hidp();
    let mut contenders = vec![giving("HiDP", hidp)];
    contenders.extend(parasail.map(|(contender, result)| {
        assert_eq!(result.split(' ').next(), Some(score.to_string().as_str()), "scores");
        contender
    }));
    Case { name: "recur search way 2000".into(), limit: Limit::Cells((n * n) as f64), contenders }
}

/// Rodinia's nw, with its table.
fn needleman() -> Case {
    let n = 8192;
    let penalty = 10;
    let mut random = Random::new(17);
    let reference: Rc<[i32]> = (0..n * n).map(|_| random.below(20) as i32 - 6).collect();
    let table = || Rc::new(RefCell::new(vec![0i32; (n + 1) * (n + 1)]));
    let (found, expected) = (table(), table());
    let cx = Context::cpu().expect("a CPU context");
    let hidp = {
        let (reference, found) = (reference.clone(), found.clone());
        move || {
            let table = &mut found.borrow_mut()[..];
            recur::needleman(&cx, &(&reference[..], [n, n]), penalty, &mut (table, [n + 1, n + 1])).expect("it runs");
        }
    };
    let tiles = {
        let expected = expected.clone();
        move || peers::needleman(&mut expected.borrow_mut(), &reference, n, penalty)
    };
    hidp();
    tiles();
    assert!(found.borrow()[..] == expected.borrow()[..], "the tables differ");
    Case {
        name: "recur needleman 8192".into(),
        limit: Limit::Cells((n * n) as f64),
        contenders: vec![Contender::new("HiDP", hidp), Contender::new("OpenMP tiles", tiles)],
    }
}
