//! Tables of recurrences beside plain memoised recursion: the programs of `cases/run/recurrences*.hdp`, each written again by hand.
//!
//! The cases themselves compare compiled code with the interpreter; here the interpreter is compared with what a recurrence means.

mod differences;
mod domains;
mod folds;
mod intervals;
mod models;
mod programs;
mod ways;

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;

use hidp_build::compiler::diag::Sink;
use hidp_build::compiler::ir::par::interp::{self, Arg, Array, Data, Error, Value};
use hidp_build::compiler::ir::par::{FaultKind, Program};
use hidp_build::compiler::pipeline::{InputFile, PipelineInput, front, optimise};

/// The functions of the case.
fn program() -> Program {
    compiled(include_str!("../cases/run/recurrences.hdp"))
}

/// The functions of the case with tables of other shapes.
fn shapes() -> Program {
    compiled(include_str!("../cases/run/recurrences_shapes.hdp"))
}

fn compiled(text: &str) -> Program {
    let mut input = PipelineInput::default();
    let id = input.sources.add("recurrences.hdp".to_owned(), text);
    input.files.push(InputFile { id, stem: "recurrences".to_owned(), imports: Vec::new() });
    let mut sink = Sink::new();
    let program = front(&input, &mut sink);
    program.unwrap_or_else(|| panic!("{:?}", sink.finish()))
}

/// Calls a function of the case; gives its last argument, or the kind and values of its fault.
fn call(program: &Program, name: &str, args: Vec<Arg>) -> Result<Arg, (FaultKind, Vec<i64>)> {
    let (id, _) = program.funcs.iter().find(|(_, func)| func.name == name).expect("a function of the case");
    match interp::run(program, id, args) {
        Ok(mut results) => Ok(results.args.pop().expect("an output")),
        Err(Error::Fault(fault)) => Err((fault.kind, fault.values)),
        Err(other) => panic!("{name}: {other}"),
    }
}

/// Plain recursion with memory: `cell` computes a value with a function that asks for others.
struct Memo<'a, K, V> {
    known: RefCell<HashMap<K, V>>,
    cell: &'a dyn Fn(&Memo<'_, K, V>, K) -> V,
}

impl<'a, K: Hash + Eq + Copy, V: Clone> Memo<'a, K, V> {
    fn new(cell: &'a dyn Fn(&Memo<'_, K, V>, K) -> V) -> Self {
        Memo { known: RefCell::default(), cell }
    }

    fn at(&self, key: K) -> V {
        let known = self.known.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let value = (self.cell)(self, key);
            self.known.borrow_mut().insert(key, value.clone());
            value
        })
    }
}

/// A fixed sequence of numbers.
struct Numbers(u64);

impl Numbers {
    /// From `low` to below `high`.
    fn next(&mut self, low: i64, high: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (self.0 >> 33) as i64 % (high - low)
    }

    fn list(&mut self, count: i64, low: i64, high: i64) -> Vec<i64> {
        (0..count).map(|_| self.next(low, high)).collect()
    }
}

const SIZES: [(i64, i64); 7] = [(0, 0), (0, 3), (3, 0), (1, 1), (2, 5), (7, 4), (9, 9)];

fn letters(values: &[i64]) -> Arg {
    array(vec![values.len() as i64], Data::U8(values.iter().map(|v| *v as u8).collect()))
}

fn ints(shape: Vec<i64>, values: &[i64]) -> Arg {
    array(shape, Data::I32(values.iter().map(|v| *v as i32).collect()))
}

fn longs(values: &[i64]) -> Arg {
    array(vec![values.len() as i64], Data::I64(values.to_vec()))
}

fn doubles(shape: Vec<i64>, values: &[f64]) -> Arg {
    array(shape, Data::F64(values.to_vec()))
}

fn array(shape: Vec<i64>, data: Data) -> Arg {
    Arg::Array(Array::new(shape, data))
}

fn no_ints(rows: i64, columns: i64) -> Arg {
    ints(vec![rows, columns], &vec![0; (rows * columns) as usize])
}

/// The elements of a table of `int`.
fn table(arg: Arg) -> Vec<i64> {
    let Arg::Array(Array { data: Data::I32(values), .. }) = arg else { panic!("no table of int") };
    values.into_iter().map(i64::from).collect()
}

fn int(arg: &Arg) -> i64 {
    let Arg::Scalar(Value::I32(value)) = arg else { panic!("no int") };
    i64::from(*value)
}

fn cells(rows: i64, columns: i64) -> impl Iterator<Item = (i64, i64)> {
    (0..rows).flat_map(move |i| (0..columns).map(move |j| (i, j)))
}

/// Two sequences, of which cells have a position each.
type Pairs<'a> = Memo<'a, (i64, i64), i64>;

fn distance<'a>(s: &'a [i64], t: &'a [i64]) -> impl Fn(&Pairs<'_>, (i64, i64)) -> i64 + 'a {
    |memo, (i, j)| {
        if i == 0 || j == 0 {
            return i + j;
        }
        let change = i64::from(s[i as usize - 1] != t[j as usize - 1]);
        (memo.at((i - 1, j - 1)) + change).min(memo.at((i - 1, j)).min(memo.at((i, j - 1))) + 1)
    }
}

#[test]
fn edit_distances() {
    let program = program();
    let mut numbers = Numbers(1);
    for (n, m) in SIZES {
        let (s, t) = (numbers.list(n, 0, 3), numbers.list(m, 0, 3));
        let cell = distance(&s, &t);
        let memo = Memo::new(&cell);
        let score = call(&program, "distance", vec![letters(&s), letters(&t), Arg::Output]).expect("no fault");
        assert_eq!(int(&score), memo.at((n, m)), "{s:?} {t:?}");
        let all = call(&program, "distances", vec![letters(&s), letters(&t), no_ints(n + 1, m + 1)]).expect("no fault");
        assert_eq!(table(all), cells(n + 1, m + 1).map(|at| memo.at(at)).collect::<Vec<_>>(), "{s:?} {t:?}");
    }
}

#[test]
fn distances_of_ragged_pairs() {
    let program = program();
    let mut numbers = Numbers(2);
    let bounds = |numbers: &mut Numbers, pairs: i64, most: i64| {
        let mut bounds = numbers.list(pairs, 0, most + 1);
        bounds.push(0);
        bounds.sort_unstable();
        bounds
    };
    for pairs in [0, 1, 2, 7] {
        let (s, t) = (numbers.list(11, 0, 3), numbers.list(8, 0, 3));
        let (a, c) = (bounds(&mut numbers, pairs, 11), bounds(&mut numbers, pairs, 8));
        let y = ints(vec![pairs], &vec![0; pairs as usize]);
        let base = numbers.list(pairs, 0, 40);
        let args = vec![letters(&s), letters(&t), longs(&a), longs(&c), ints(vec![pairs], &base), y];
        let found = call(&program, "distance_of_each", args).expect("no fault");
        let expected = (0..pairs as usize).map(|r| {
            let (s, t) = (&s[a[r] as usize..a[r + 1] as usize], &t[c[r] as usize..c[r + 1] as usize]);
            let cell = distance(s, t);
            base[r] - Memo::new(&cell).at((s.len() as i64, t.len() as i64))
        });
        assert_eq!(table(found), expected.collect::<Vec<_>>(), "{s:?} {t:?} {a:?} {c:?}");
    }
}

#[test]
fn common_subsequences() {
    let program = program();
    let mut numbers = Numbers(3);
    for (n, m) in SIZES {
        let (s, t) = (numbers.list(n, 0, 3), numbers.list(m, 0, 3));
        let cell = |memo: &Memo<'_, (i64, i64), i64>, (i, j): (i64, i64)| {
            if i == 0 || j == 0 {
                0
            } else if s[i as usize - 1] == t[j as usize - 1] {
                memo.at((i - 1, j - 1)) + 1
            } else {
                memo.at((i - 1, j)).max(memo.at((i, j - 1)))
            }
        };
        let memo = Memo::new(&cell);
        let score = call(&program, "common", vec![letters(&s), letters(&t), no_ints(n + 1, m + 1), Arg::Output])
            .expect("no fault");
        assert_eq!(int(&score), 2 * memo.at((n, m)) - memo.at((n / 2, m)), "{s:?} {t:?}");
    }
}

#[test]
fn fibonacci_numbers() {
    let program = program();
    let cell = |memo: &Memo<'_, i64, u64>, k: i64| {
        if k < 2 { k as u64 } else { memo.at(k - 1).wrapping_add(memo.at(k - 2)) }
    };
    let memo = Memo::new(&cell);
    for n in [-3, -1, 0, 1, 2, 3, 50, 100] {
        let found = call(&program, "fibonacci", vec![Value::I64(n).into(), Arg::Output]).expect("no fault");
        let expected = if n < 0 { 0 } else { memo.at(n) };
        assert_eq!(found, Arg::Scalar(Value::U64(expected)), "{n}");
    }
}

/// Which of three tables that use each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Gap {
    None,
    S,
    T,
}

#[test]
fn alignments_with_affine_gaps_and_their_first_fault() {
    let program = program();
    let mut numbers = Numbers(4);
    let mut faults = 0;
    for (n, m) in SIZES.into_iter().chain([(5, 6), (6, 5), (8, 3)]) {
        // Letter 4 is none of the matrix.
        let (s, t) = (numbers.list(n, 0, 5), numbers.list(m, 0, 5));
        let sub = numbers.list(16, -3, 4);
        let (open, ext) = (numbers.next(1, 5), numbers.next(1, 4));
        type Found = Result<i64, (FaultKind, Vec<i64>)>;
        let cell = |memo: &Memo<'_, (Gap, i64, i64), Found>, (gap, i, j): (Gap, i64, i64)| -> Found {
            match gap {
                Gap::S if j == 0 => Ok(-1_000_000),
                Gap::T if i == 0 => Ok(-1_000_000),
                Gap::S => Ok((memo.at((Gap::S, i, j - 1))? - ext).max(memo.at((Gap::None, i, j - 1))? - open)),
                Gap::T => Ok((memo.at((Gap::T, i - 1, j))? - ext).max(memo.at((Gap::None, i - 1, j))? - open)),
                Gap::None if i == 0 && j == 0 => Ok(0),
                Gap::None => {
                    let gap = memo.at((Gap::S, i, j))?.max(memo.at((Gap::T, i, j))?);
                    if i == 0 || j == 0 {
                        return Ok(gap);
                    }
                    let both = memo.at((Gap::None, i - 1, j - 1))?;
                    let (a, b) = (s[i as usize - 1], t[j as usize - 1]);
                    for (dim, letter) in [a, b].into_iter().enumerate() {
                        if letter > 3 {
                            return Err((FaultKind::Index, vec![letter, 4, dim as i64]));
                        }
                    }
                    Ok((both + sub[(4 * a + b) as usize]).max(gap))
                }
            }
        };
        let memo = Memo::new(&cell);
        let expected: Result<Vec<i64>, _> = cells(n + 1, m + 1).map(|(i, j)| memo.at((Gap::None, i, j))).collect();
        let args = vec![
            letters(&s),
            letters(&t),
            ints(vec![4, 4], &sub),
            Value::I32(open as i32).into(),
            Value::I32(ext as i32).into(),
            no_ints(n + 1, m + 1),
        ];
        faults += usize::from(expected.is_err());
        assert_eq!(call(&program, "align_letters", args).map(table), expected, "{s:?} {t:?}");
    }
    assert!((1..8).contains(&faults), "{faults} faults: the letters show too little");
}

#[test]
fn folds_of_rna() {
    let program = program();
    let mut numbers = Numbers(5);
    for n in [0, 1, 2, 3, 8, 13] {
        let b = numbers.list(n, 0, 4);
        let cell = |memo: &Memo<'_, (i64, i64), i64>, (i, j): (i64, i64)| {
            if i == j {
                return 0;
            }
            let inner = if j > i + 1 { memo.at((i + 1, j - 1)) } else { 0 };
            let pairs = if b[i as usize] + b[j as usize] == 3 { inner + 1 } else { 0 };
            (i..j).map(|k| memo.at((i, k)) + memo.at((k + 1, j))).fold(pairs, i64::max)
        };
        let memo = Memo::new(&cell);
        let score = call(&program, "fold_rna", vec![letters(&b), no_ints(n, n), Arg::Output]).expect("no fault");
        assert_eq!(int(&score), if n > 0 { memo.at((0, n - 1)) } else { 0 }, "{b:?}");
    }
}

#[test]
fn knapsacks() {
    let program = program();
    let mut numbers = Numbers(6);
    for (n, most) in [(0, 5), (1, 0), (3, 7), (6, 13)] {
        let (w, v) = (numbers.list(n, -1, 5), numbers.list(n, -2, 9));
        let cell = |memo: &Memo<'_, (i64, i64), i64>, (i, c): (i64, i64)| {
            if i == 0 {
                return 0;
            }
            let (w, v) = (w[i as usize - 1], v[i as usize - 1]);
            let without = memo.at((i - 1, c));
            if w <= 0 || w > c { without } else { without.max(memo.at((i - 1, c - w)) + v) }
        };
        let args = vec![ints(vec![n], &w), ints(vec![n], &v), Value::I64(most).into(), Arg::Output];
        let found = call(&program, "knapsack", args).expect("no fault");
        assert_eq!(int(&found), Memo::new(&cell).at((n, most)), "{w:?} {v:?}");
    }
}

#[test]
fn likelihoods_of_states() {
    let program = program();
    let mut numbers = Numbers(7);
    for (states, steps, edges) in [(1, 0, 1), (1, 3, 2), (4, 1, 7), (5, 6, 12)] {
        let mut into = numbers.list(states, 0, edges + 1);
        into.insert(0, 0);
        into.sort_unstable();
        let from = numbers.list(edges, 0, states);
        // Halves and quarters: sums and products are exact.
        let halves = |numbers: &mut Numbers, count: i64| -> Vec<f64> {
            (0..count).map(|_| numbers.next(0, 5) as f64 / 4.0).collect()
        };
        let (p, emit) = (halves(&mut numbers, edges), halves(&mut numbers, states * 3));
        let x = numbers.list(steps, 0, 3);
        let cell = |memo: &Memo<'_, (i64, i64), f64>, (t, q): (i64, i64)| {
            if t == 0 {
                return f64::from(u8::from(q == 0));
            }
            let edges = into[q as usize]..into[q as usize + 1];
            let sum: f64 = edges.map(|e| memo.at((t - 1, from[e as usize])) * p[e as usize]).sum();
            sum * emit[(3 * q + x[t as usize - 1]) as usize]
        };
        let memo = Memo::new(&cell);
        let args = vec![
            ints(vec![states + 1], &into),
            ints(vec![edges], &from),
            doubles(vec![edges], &p),
            doubles(vec![states, 3], &emit),
            letters(&x),
            doubles(vec![states], &vec![0.0; states as usize]),
        ];
        let found = call(&program, "last_step", args).expect("no fault");
        let expected: Vec<f64> = (0..states).map(|q| memo.at((steps, q))).collect();
        assert_eq!(found, doubles(vec![states], &expected));
    }
}

#[test]
fn cells_from_the_last_to_the_first() {
    let program = program();
    let mut numbers = Numbers(8);
    for n in [0, 1, 2, 6, 9] {
        let mut z = numbers.list(n, 1, 9);
        for zero in [None, Some(0), Some(n - 2), Some(n - 1)] {
            // Of several zeros plain recursion meets the last first; that of the last cell is not looked at.
            z.iter_mut().for_each(|z| *z = (*z).max(1));
            zero.filter(|at| (0..n).contains(at)).into_iter().for_each(|at| z[at as usize] = 0);
            type Found = Result<i64, (FaultKind, Vec<i64>)>;
            let cell = |memo: &Memo<'_, i64, Found>, k: i64| -> Found {
                if k == n - 1 {
                    return Ok(1);
                }
                let next = memo.at(k + 1)?;
                if z[k as usize] == 0 {
                    Err((FaultKind::DivisionByZero, vec![12]))
                } else {
                    Ok(next + 12 / z[k as usize])
                }
            };
            let memo = Memo::new(&cell);
            let expected: Result<Vec<i64>, _> = (0..n).map(|k| memo.at(k)).collect();
            let args = vec![ints(vec![n], &z), ints(vec![n], &vec![0; n as usize])];
            assert_eq!(call(&program, "quotients", args).map(table), expected, "{z:?}");
        }
    }
}

#[test]
fn subsequences_from_the_choices() {
    let program = shapes();
    let mut numbers = Numbers(9);
    for (n, m) in SIZES {
        let (s, t) = (numbers.list(n, 0, 3), numbers.list(m, 0, 3));
        // The choices are as in the case: of two ways the one above.
        let cell = |memo: &Memo<'_, (i64, i64), Vec<i64>>, (i, j): (i64, i64)| -> Vec<i64> {
            if i == 0 || j == 0 {
                return Vec::new();
            }
            if s[i as usize - 1] == t[j as usize - 1] {
                let mut letters = memo.at((i - 1, j - 1));
                letters.push(s[i as usize - 1]);
                return letters;
            }
            let (above, left) = (memo.at((i - 1, j)), memo.at((i, j - 1)));
            if above.len() >= left.len() { above } else { left }
        };
        let mut expected = Memo::new(&cell).at((n, m));
        let length = expected.len() as i64;
        let (id, _) =
            program.funcs.iter().find(|(_, func)| func.name == "subsequence").expect("a function of the case");
        let args = vec![letters(&s), letters(&t), letters(&vec![0; n as usize]), Arg::Output];
        let found = interp::run(&program, id, args).expect("no fault").args;
        expected.resize(n as usize, 0);
        assert_eq!((&found[2], int(&found[3])), (&letters(&expected), length), "{s:?} {t:?}");
    }
}

fn unsigned(shape: Vec<i64>, values: Vec<u32>) -> Arg {
    array(shape, Data::U32(values))
}

#[test]
fn steps_within_steps() {
    let program = shapes();
    let mut numbers = Numbers(10);
    for (n, m) in SIZES {
        let a = numbers.list(n * m, -9, 9);
        let cell = |memo: &Memo<'_, (i64, i64), u32>, (i, j): (i64, i64)| match (i, j) {
            (0, 0) => 1,
            (_, 0) => memo.at((i - 1, m - 1)).wrapping_mul(3).wrapping_add(a[(i * m) as usize] as u32),
            _ => memo.at((i, j - 1)).wrapping_mul(5).wrapping_add(a[(i * m + j) as usize] as u32),
        };
        let memo = Memo::new(&cell);
        let table = unsigned(vec![n, m], vec![0; (n * m) as usize]);
        let found = call(&program, "wound", vec![ints(vec![n, m], &a), table]).expect("no fault");
        assert_eq!(found, unsigned(vec![n, m], cells(n, m).map(|at| memo.at(at)).collect()), "{a:?}");
    }
}

#[test]
fn three_indices() {
    let program = shapes();
    let mut numbers = Numbers(11);
    for n in [0, 1, 2, 3, 6] {
        let a = numbers.list(n, -9, 9);
        let cell = |memo: &Memo<'_, (i64, i64, i64), u32>, (i, j, l): (i64, i64, i64)| {
            if i == 0 || j == 0 || l == 0 {
                return a[i.max(j).max(l) as usize] as u32;
            }
            memo.at((i - 1, j, l)).wrapping_add(memo.at((i, j - 1, l))).wrapping_add(memo.at((i, j, l - 1)))
        };
        let memo = Memo::new(&cell);
        let (id, _) = program.funcs.iter().find(|(_, func)| func.name == "corner").expect("a function of the case");
        let found =
            interp::run(&program, id, vec![ints(vec![n], &a), Arg::Output, Arg::Output]).expect("no fault").args;
        let y = if n > 0 { memo.at((n - 1, n - 1, n - 1)) } else { 0 };
        let z = if n > 1 { memo.at((n - 1, 1, 0)).wrapping_add(memo.at((n - 1, n - 2, n - 1))) } else { 0 };
        assert_eq!(found[1..], [Arg::Scalar(Value::U32(y)), Arg::Scalar(Value::U32(z))], "{a:?}");
    }
}

#[test]
fn ways_through_rows() {
    let program = shapes();
    let mut numbers = Numbers(12);
    for (rows, columns) in SIZES {
        let cost = numbers.list(rows * columns, -4, 9);
        let cell = |memo: &Memo<'_, (i64, i64), i64>, (r, c): (i64, i64)| {
            let own = cost[(r * columns + c) as usize];
            if r == 0 {
                return own;
            }
            let before = (c - 1).max(0)..=(c + 1).min(columns - 1);
            before.map(|c| memo.at((r - 1, c))).min().expect("the place itself") + own
        };
        let memo = Memo::new(&cell);
        let args = vec![
            ints(vec![rows, columns], &cost),
            ints(vec![columns], &vec![0; columns as usize]),
            no_ints(rows, columns),
        ];
        let found = call(&program, "ways", args).expect("no fault");
        assert_eq!(table(found), cells(rows, columns).map(|at| memo.at(at)).collect::<Vec<_>>(), "{cost:?}");
    }
}

#[test]
fn tables_of_each_iteration_and_their_first_fault() {
    let program = shapes();
    let mut numbers = Numbers(13);
    let mut faults = 0;
    for (rows, columns) in SIZES.into_iter().chain([(3, 4), (2, 6), (5, 3)]) {
        let k = numbers.list(rows * columns, -1, 9);
        type Found = Result<i64, (FaultKind, Vec<i64>)>;
        let of_row = |row: &[i64]| -> Found {
            let cell = |memo: &Memo<'_, (bool, i64), Found>, (even, n): (bool, i64)| -> Found {
                match (even, n) {
                    (true, 0) => Ok(1),
                    (false, 0) => Ok(row[0]),
                    (true, _) => {
                        let odd = memo.at((false, n - 1))?;
                        let divisor = row[n as usize];
                        if divisor == 0 { Err((FaultKind::DivisionByZero, vec![60])) } else { Ok(odd + 60 / divisor) }
                    }
                    (false, _) => Ok(memo.at((true, n - 1))? - memo.at((false, n - 1))?),
                }
            };
            // All cells are computed, in order.
            let memo = Memo::new(&cell);
            (0..row.len() as i64).try_for_each(|n| memo.at((true, n)).map(|_| ()))?;
            memo.at((true, row.len() as i64 - 1))
        };
        let expected: Result<Vec<i64>, _> =
            if columns == 0 { Ok(vec![0; rows as usize]) } else { k.chunks(columns as usize).map(of_row).collect() };
        faults += usize::from(expected.is_err());
        let args = vec![ints(vec![rows, columns], &k), ints(vec![rows], &vec![0; rows as usize])];
        assert_eq!(call(&program, "alternating", args).map(table), expected, "{k:?}");
    }
    assert!((1..8).contains(&faults), "{faults} faults");
}

const INDICES: [&str; 3] = ["i", "j", "l"];
const SIZED: [&str; 3] = ["N", "M", "L"];

/// One or two tables whose cells use others up to two places away, in a direction for each index; some divide by data.
fn random_recurrences(numbers: &mut Numbers) -> String {
    let rank = numbers.next(1, 3) as usize;
    let names = &["d", "e"][..numbers.next(1, 3) as usize];
    let flips: Vec<i64> = (0..rank).map(|_| 1 - 2 * numbers.next(0, 2)).collect();
    let inputs: String = SIZED[..rank].iter().enumerate().map(|(at, size)| format!(", p{at}[{size}]")).collect();
    let domain: Vec<String> = (0..rank).map(|at| format!("{} := [0:{})", INDICES[at], SIZED[at])).collect();
    let mut text = String::new();
    for name in names {
        let sum: Vec<String> = (0..rank).map(|at| format!("{} * {}", 2 * at + 3, INDICES[at])).collect();
        text += &format!("recurrence uint {name}({}) input int a[5]{inputs};\n{{\n", domain.join(", "));
        text += &format!("  uint v = (uint)({});\n", sum.join(" + "));
        for _ in 0..numbers.next(1, 4) {
            let mut away: Vec<i64> = (0..rank).map(|_| numbers.next(0, 3)).collect();
            if away.iter().all(|away| *away == 0) {
                away[numbers.next(0, rank as i64) as usize] = 1;
            }
            let index: Vec<String> =
                (0..rank).map(|at| format!("{} + ({})", INDICES[at], -flips[at] * away[at])).collect();
            let inside: Vec<String> =
                (0..rank).map(|at| format!("{0} >= 0 && {0} < {1}", index[at], SIZED[at])).collect();
            let callee = names[numbers.next(0, names.len() as i64) as usize];
            let factor = numbers.next(1, 7);
            text += &format!("  if ({}) v += {factor} * {callee}({});\n", inside.join(" && "), index.join(", "));
        }
        if numbers.next(0, 3) == 0 {
            text += &format!("  v += (uint)(60 / a[({}) % 5]);\n", INDICES[..rank].join(" + "));
        }
        text += "  return v;\n}\n";
    }
    let sizes: String = SIZED[..rank].iter().map(|size| format!("[{size}]")).collect();
    let last: Vec<String> = SIZED[..rank].iter().map(|size| format!("{size} - 1")).collect();
    let some: Vec<String> = SIZED[..rank].iter().map(|size| format!("{size} > 0")).collect();
    let (last, some, zeros) = (last.join(", "), some.join(" && "), vec!["0"; rank].join(", "));
    text + &format!("function whole input int a[5]{inputs}; output uint T{sizes};\n{{ T = d; }}\n")
        + &format!(
            "function cells input int a[5]{inputs}; output uint y;\n{{ y = {some} ? d({last}) + d({zeros}) : 0; }}\n"
        )
        + &format!("function each input int b[R][5]{inputs}; output uint y[R];\n")
        + &format!("{{ map {{ r := [0:R); y[r] = {some} ? d({last}; a = b[r][*]) : 0; }} }}\n")
}

/// Passes keep values and the first fault, whatever they make of the tables.
#[test]
fn passes_keep_what_random_recurrences_mean() {
    let mut numbers = Numbers(14);
    let (mut results, mut faults) = (0, 0);
    for _ in 0..4 {
        let text = random_recurrences(&mut numbers);
        let before = compiled(&text);
        let mut sink = Sink::new();
        let after = optimise(before.clone(), false, &mut sink).unwrap_or_else(|| panic!("{:?}\n{text}", sink.finish()));
        for name in ["whole", "cells", "each"] {
            let find = |program: &Program| program.entries.iter().copied().find(|id| program.funcs[*id].name == name);
            let (Some(old), Some(new)) = (find(&before), find(&after)) else { panic!("no `{name}`:\n{text}") };
            let rank = before.funcs[old].dims.len() - usize::from(name == "each");
            for sizes in [[0, 0, 0], [1, 1, 1], [2, 3, 1], [4, 2, 3], [5, 4, 0]] {
                let sizes = &sizes[..rank];
                // A zero now and then, which divisions meet.
                let rows = if name == "each" { 3 } else { 1 };
                let data = numbers.list(5 * rows, 0, 30);
                let mut args = vec![ints(if name == "each" { vec![rows, 5] } else { vec![5] }, &data)];
                args.extend(sizes.iter().map(|size| ints(vec![*size], &vec![1; *size as usize])));
                let zeros = |shape: &[i64]| unsigned(shape.to_vec(), vec![0; shape.iter().product::<i64>() as usize]);
                args.push(match name {
                    "whole" => zeros(sizes),
                    "cells" => Arg::Output,
                    _ => zeros(&[rows]),
                });
                let expected = interp::run(&before, old, args.clone());
                let found = interp::run(&after, new, args);
                match &expected {
                    Ok(_) => results += 1,
                    Err(_) => faults += 1,
                }
                assert_eq!(found, expected, "{name} {sizes:?} {data:?}\n{text}");
            }
        }
    }
    assert!(results > 40 && faults > 1, "{results} results, {faults} faults");
}
