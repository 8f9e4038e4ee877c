//! Programs of textbooks: `cases/run/recurrences_programs.hdp` beside plain recursion.

use super::*;

pub(super) fn program() -> Program {
    compiled(include_str!("../../cases/run/recurrences_programs.hdp"))
}

/// All arguments after a call.
fn called(program: &Program, name: &str, args: Vec<Arg>) -> Vec<Arg> {
    let (id, _) = program.funcs.iter().find(|(_, func)| func.name == name).expect("a function of the case");
    interp::run(program, id, args).unwrap_or_else(|error| panic!("{name}: {error}")).args
}

fn floats(shape: Vec<i64>, values: &[f32]) -> Arg {
    array(shape, Data::F32(values.to_vec()))
}

/// A value that plain recursion finds, for one pair of indices.
pub(super) type Of<'a, V> = &'a dyn Fn(&Memo<'_, (i64, i64), V>, (i64, i64)) -> V;

pub(super) fn of<V: Clone>(cell: Of<'_, V>, at: (i64, i64)) -> V {
    Memo::new(cell).at(at)
}

#[test]
fn intervals() {
    let program = program();
    let mut numbers = Numbers(21);
    for n in [0, 1, 2, 5, 9] {
        let side = numbers.list(n + 1, 1, 9);
        let chain: Of<'_, i64> = &|memo, (i, j)| {
            let size = |k: i64| side[k as usize];
            let products = (i..j).map(|k| memo.at((i, k)) + memo.at((k + 1, j)) + size(i) * size(k + 1) * size(j + 1));
            products.min().unwrap_or(0)
        };
        let found = call(&program, "cheapest_product", vec![ints(vec![n + 1], &side), Arg::Output]).expect("no fault");
        let expected = if n > 0 { of(chain, (0, n - 1)) } else { 0 };
        assert_eq!(found, Arg::Scalar(Value::I64(expected)), "{side:?}");

        let s = numbers.list(n, 0, 4);
        let folded: Of<'_, i64> = &|memo, (i, j)| {
            if j <= i {
                return 0;
            }
            let inner = if j > i + 1 { memo.at((i + 1, j - 1)) } else { 0 };
            let ends = inner + i64::from(s[i as usize] + s[j as usize] == 3);
            (i..j).map(|k| memo.at((i, k)) + memo.at((k + 1, j))).fold(ends, i64::max)
        };
        let found = call(&program, "fold_rna", vec![letters(&s), no_ints(n, n)]).expect("no fault");
        assert_eq!(table(found), cells(n, n).map(|at| of(folded, at)).collect::<Vec<_>>(), "{s:?}");

        let w = numbers.list(n, 0, 6);
        let tree: Of<'_, i64> = &|memo, (i, j)| {
            let all: i64 = w[i as usize..j as usize].iter().sum();
            (i..j).map(|k| memo.at((i, k)) + memo.at((k + 1, j))).min().map_or(0, |least| least + all)
        };
        let found = called(&program, "search_tree", vec![ints(vec![n], &w), Arg::Output, no_ints(n + 1, n + 1)]);
        assert_eq!(int(&found[1]), of(tree, (0, n)), "{w:?}");
        let all = cells(n + 1, n + 1).map(|(i, j)| if i <= j { of(tree, (i, j)) } else { 0 });
        assert_eq!(table(found[2].clone()), all.collect::<Vec<_>>(), "{w:?}");
    }
}

#[test]
fn words_of_a_grammar() {
    let program = program();
    let mut numbers = Numbers(22);
    let mut some = 0;
    for (n, symbols, rules) in [(0, 1, 1), (1, 2, 3), (4, 3, 0), (5, 3, 9), (6, 2, 5)].into_iter().cycle().take(30) {
        let letter = numbers.list(n, 0, 3);
        let is_of = numbers.list(symbols * 3, 0, 2);
        // Some rules name symbols that are none.
        let [head, left, right] = [0; 3].map(|_| numbers.list(rules, -1, symbols + 1));
        let word = |memo: &Memo<'_, (i64, i64, i64), bool>, (i, j, a): (i64, i64, i64)| {
            if i == j {
                return is_of[(3 * a + letter[i as usize]) as usize] > 0;
            }
            (0..rules as usize).any(|r| {
                let known = |symbol: i64| (0..symbols).contains(&symbol);
                let splits = |k: i64| memo.at((i, k, left[r])) && memo.at((k + 1, j, right[r]));
                head[r] == a && known(left[r]) && known(right[r]) && (i..j).any(splits)
            })
        };
        let memo = Memo::new(&word);
        let at = |i, j, a| i <= j && memo.at((i, j, a));
        let expected: Vec<bool> =
            cells(n, n).flat_map(|(i, j)| (0..symbols).map(move |a| (i, j, a))).map(|(i, j, a)| at(i, j, a)).collect();
        some += expected.iter().filter(|found| **found).count();
        let rule = |symbols: &[i64]| ints(vec![rules], symbols);
        let is_of = array(vec![symbols, 3], Data::U8(is_of.iter().map(|of| *of as u8).collect()));
        let zeros = array(vec![n, n, symbols], Data::Bool(vec![false; expected.len()]));
        let args = vec![letters(&letter), is_of, rule(&head), rule(&left), rule(&right), zeros];
        let found = call(&program, "words", args).expect("no fault");
        assert_eq!(found, array(vec![n, n, symbols], Data::Bool(expected)), "{letter:?} {head:?} {left:?} {right:?}");
    }
    assert!(some > 100, "{some} words");
}

#[test]
fn coins() {
    let program = program();
    let mut numbers = Numbers(23);
    for (kinds, amount) in [(0, 0), (0, 3), (3, 7), (4, 12)] {
        let coin = numbers.list(kinds, 0, 7);
        let ways: Of<'_, u64> = &|memo, (k, c)| match (k, c) {
            (_, 0) => 1,
            (0, _) => 0,
            _ => {
                let (coin, without) = (coin[k as usize - 1], memo.at((k - 1, c)));
                if coin <= 0 || coin > c { without } else { without + memo.at((k, c - coin)) }
            }
        };
        let args = vec![ints(vec![kinds], &coin), Value::I64(amount).into(), Arg::Output];
        let found = call(&program, "changes", args).expect("no fault");
        assert_eq!(found, Arg::Scalar(Value::U64(of(ways, (kinds, amount)))), "{coin:?} {amount}");
    }
}

#[test]
fn alignments_of_parts() {
    let program = program();
    let mut numbers = Numbers(24);
    for (n, m) in SIZES {
        let (s, t) = (numbers.list(n, 0, 3), numbers.list(m, 0, 3));
        let same = |i: i64, j: i64| s[i as usize - 1] == t[j as usize - 1];
        let placed: Of<'_, i64> = &|memo, (i, j)| match (i, j) {
            (0, _) => 0,
            (_, 0) => i,
            _ => {
                let both = memo.at((i - 1, j - 1)) + i64::from(!same(i, j));
                both.min(memo.at((i - 1, j)).min(memo.at((i, j - 1))) + 1)
            }
        };
        let errors = call(&program, "place", vec![letters(&s), letters(&t), Arg::Output]).expect("no fault");
        assert_eq!(Some(int(&errors)), (0..=m).map(|j| of(placed, (n, j))).min(), "{s:?} {t:?}");

        let local: Of<'_, i64> = &|memo, (i, j)| {
            if i == 0 || j == 0 {
                return 0;
            }
            let both = memo.at((i - 1, j - 1)) + if same(i, j) { 2 } else { -1 };
            both.max(0).max(memo.at((i - 1, j)).max(memo.at((i, j - 1))) - 2)
        };
        // Of equal scores the first.
        let best = cells(n + 1, m + 1).map(|at| (of(local, at), at)).reduce(|a, b| if b.0 > a.0 { b } else { a });
        let (score, (i, j)) = best.expect("cell 0, 0");
        let args = vec![letters(&s), letters(&t), Arg::Output, Arg::Output, Arg::Output];
        let found = called(&program, "local_end", args);
        assert_eq!(int(&found[2]), score, "{s:?} {t:?}");
        assert_eq!(found[3..], [i, j].map(|at| Arg::Scalar(Value::I64(at))), "{s:?} {t:?}");
    }
}

#[test]
fn warps_in_a_band() {
    let program = program();
    let mut numbers = Numbers(25);
    let mut reached = 0;
    for ((n, m), band) in SIZES.into_iter().zip([0, 1, 2, 0, 3, 3, 0]).cycle().take(35) {
        let [x, y] = [n, m].map(|count| numbers.list(count, -2, 3).into_iter().map(|v| v as f64).collect::<Vec<_>>());
        let warped: Of<'_, f64> = &|memo, (i, j)| {
            if (i, j) == (0, 0) {
                return 0.0;
            }
            if i == 0 || j == 0 || (i - j).abs() > band {
                return f64::INFINITY;
            }
            let before = memo.at((i - 1, j - 1)).min(memo.at((i - 1, j)).min(memo.at((i, j - 1))));
            (x[i as usize - 1] - y[j as usize - 1]).abs() + before
        };
        let expected = of(warped, (n, m));
        reached += usize::from(expected.is_finite());
        let args = vec![doubles(vec![n], &x), doubles(vec![m], &y), Value::I64(band).into(), Arg::Output];
        assert_eq!(call(&program, "warp", args), Ok(Arg::Scalar(Value::F64(expected))), "{x:?} {y:?} {band}");

        let [a, c] = [&x, &y].map(|values| values.iter().map(|v| *v as f32).collect::<Vec<_>>());
        let bent: Of<'_, f32> = &|memo, (i, j)| match (i, j) {
            (0, 0) => 0.0,
            (0, _) | (_, 0) => f32::INFINITY,
            _ => {
                let before = memo.at((i - 1, j - 1)).min(memo.at((i - 1, j)).min(memo.at((i, j - 1))));
                (a[i as usize - 1] - c[j as usize - 1]).abs() + before
            }
        };
        let args = vec![floats(vec![n], &a), floats(vec![m], &c), Arg::Output];
        assert_eq!(call(&program, "bend", args), Ok(Arg::Scalar(Value::F32(of(bent, (n, m))))), "{x:?} {y:?}");
    }
    assert!((10..30).contains(&reached), "{reached} ends within the band");
}

#[test]
fn profiles_of_families() {
    let program = program();
    let mut numbers = Numbers(27);
    for (n, columns) in SIZES {
        let t = numbers.list(n, 0, 5);
        let (emit, insert) = (numbers.list(columns * 4, -3, 6), numbers.list(columns + 1, 0, 4));
        let cell = |memo: &Memo<'_, (Gap, i64, i64), i64>, (gap, u, k): (Gap, i64, i64)| match gap {
            Gap::None if u == 0 || k == 0 => {
                if u == k {
                    0
                } else {
                    -1000
                }
            }
            Gap::None => {
                let above = [Gap::None, Gap::S, Gap::T].map(|gap| memo.at((gap, u - 1, k - 1)));
                let letter = t[u as usize - 1];
                let fits = if letter < 4 { emit[(4 * (k - 1) + letter) as usize] } else { -9 };
                above.into_iter().max().expect("three") + fits
            }
            Gap::S if u == 0 => -1000,
            Gap::S => (memo.at((Gap::None, u - 1, k)) - 4).max(memo.at((Gap::S, u - 1, k)) - 1) - insert[k as usize],
            Gap::T if k == 0 => -1000,
            Gap::T => (memo.at((Gap::None, u, k - 1)) - 5).max(memo.at((Gap::T, u, k - 1)) - 2),
        };
        let memo = Memo::new(&cell);
        let expected = [Gap::None, Gap::S, Gap::T].map(|gap| memo.at((gap, n, columns))).into_iter().max();
        let args = vec![letters(&t), ints(vec![columns, 4], &emit), ints(vec![columns + 1], &insert), Arg::Output];
        let found = call(&program, "profile", args).expect("no fault");
        assert_eq!(Some(int(&found)), expected, "{t:?} {emit:?} {insert:?}");
    }
}

#[test]
fn sequences_and_filters() {
    let program = program();
    let mut numbers = Numbers(28);
    for n in [0, 1, 2, 3, 4, 9] {
        let c: Vec<u32> = numbers.list(n, 0, 99).into_iter().map(|v| v as u32).collect();
        let linear = |memo: &Memo<'_, i64, u32>, n: i64| {
            let own = c[n as usize];
            if n < 3 {
                return own;
            }
            let [a, b, d] = [(3_u32, 1), (5, 2), (7, 3)].map(|(factor, away)| memo.at(n - away).wrapping_mul(factor));
            a.wrapping_add(b).wrapping_sub(d).wrapping_add(own)
        };
        let memo = Memo::new(&linear);
        let found =
            call(&program, "sequence", vec![unsigned(vec![n], c.clone()), unsigned(vec![n], vec![0; n as usize])]);
        assert_eq!(found, Ok(unsigned(vec![n], (0..n).map(|n| memo.at(n)).collect())), "{c:?}");
    }
    for (rows, n) in [(0, 3), (2, 0), (2, 1), (3, 2), (2, 6)] {
        let mut whole = |count: i64| -> Vec<f32> { numbers.list(count, -3, 4).into_iter().map(|v| v as f32).collect() };
        let (x, a, b) = (whole(rows * n), whole(rows), whole(rows));
        let y = |memo: &Memo<'_, (i64, i64), f32>, (r, i): (i64, i64)| {
            let (a, b) = (a[r as usize] * 0.25, b[r as usize] * 0.125);
            let first = if i > 0 { a * memo.at((r, i - 1)) } else { 0.0 };
            let second = if i > 1 { b * memo.at((r, i - 2)) } else { 0.0 };
            x[(r * n + i) as usize] - first - second
        };
        let memo = Memo::new(&y);
        let expected: Vec<f32> = cells(rows, n).map(|at| memo.at(at)).collect();
        let args = vec![
            floats(vec![rows, n], &x),
            floats(vec![rows], &a),
            floats(vec![rows], &b),
            floats(vec![rows, n], &vec![0.0; expected.len()]),
        ];
        assert_eq!(call(&program, "filter", args), Ok(floats(vec![rows, n], &expected)), "{x:?} {a:?} {b:?}");
    }
}

#[test]
fn sweeps_over_grids() {
    let program = program();
    let mut numbers = Numbers(29);
    for (n, m) in SIZES {
        let old: Vec<f64> = numbers.list(n * m, -9, 9).into_iter().map(|v| v as f64).collect();
        let is_edge = |i, j| i == 0 || j == 0 || i == n - 1 || j == m - 1;
        let swept: Of<'_, f64> = &|memo, (i, j)| {
            let old = |i: i64, j: i64| old[(i * m + j) as usize];
            if is_edge(i, j) {
                return old(i, j);
            }
            (memo.at((i - 1, j)) + memo.at((i, j - 1)) + old(i + 1, j) + old(i, j + 1)) * 0.25
        };
        let expected: Vec<f64> = cells(n, m).map(|at| of(swept, at)).collect();
        let found = call(&program, "sweep", vec![doubles(vec![n, m], &old)]);
        assert_eq!(found, Ok(doubles(vec![n, m], &expected)), "{old:?}");

        let picture: Vec<u32> = old.iter().map(|v| *v as i64 as u32).collect();
        // What the recurrence sums up is all above and to the left.
        let sum = |i: i64, j: i64| {
            let all = cells(i + 1, j + 1).map(|(i, j)| picture[(i * m + j) as usize]);
            all.fold(0, u32::wrapping_add)
        };
        let expected: Vec<u32> = cells(n, m).map(|(i, j)| sum(i, j)).collect();
        let zeros = unsigned(vec![n, m], vec![0; expected.len()]);
        let found = call(&program, "blur", vec![unsigned(vec![n, m], picture.clone()), zeros]);
        assert_eq!(found, Ok(unsigned(vec![n, m], expected)), "{picture:?}");
    }
}

#[test]
fn three_sequences() {
    let program = program();
    let mut numbers = Numbers(30);
    for (n, m, k) in [(0, 2, 3), (1, 1, 1), (4, 3, 5), (6, 6, 6)] {
        let [s, t, r] = [n, m, k].map(|count| numbers.list(count, 0, 2));
        let three = |memo: &Memo<'_, (i64, i64, i64), i64>, (i, j, k): (i64, i64, i64)| {
            if i == 0 || j == 0 || k == 0 {
                return 0;
            }
            let [a, b, c] = [(&s, i), (&t, j), (&r, k)].map(|(letters, at)| letters[at as usize - 1]);
            if a == b && b == c {
                return memo.at((i - 1, j - 1, k - 1)) + 1;
            }
            memo.at((i - 1, j, k)).max(memo.at((i, j - 1, k))).max(memo.at((i, j, k - 1)))
        };
        let args = vec![letters(&s), letters(&t), letters(&r), Arg::Output];
        let found = call(&program, "common_of_three", args).expect("no fault");
        assert_eq!(int(&found), Memo::new(&three).at((n, m, k)), "{s:?} {t:?} {r:?}");
    }
}
