//! Folds over cells: `cases/run/recurrences_folds.hdp` beside plain recursion.

use super::*;

#[test]
fn least_and_greatest_numbers() {
    let program = compiled(include_str!("../../cases/run/recurrences_folds.hdp"));
    let (id, _) = program.funcs.iter().find(|(_, func)| func.name == "slopes").expect("a function of the case");
    let mut numbers = Numbers(31);
    let mut nans = 0;
    for (n, m) in SIZES {
        // One in nine is no number.
        let [x, y] = [n, m].map(|count| -> Vec<f64> {
            let values = numbers.list(count, -4, 5).into_iter();
            values.map(|value| if value == 4 { f64::NAN } else { value as f64 }).collect()
        });
        let cell = |memo: &Memo<'_, (i64, i64), f64>, (i, j): (i64, i64)| {
            let own = x[i as usize] - y[j as usize];
            if i == 0 || j == 0 { own } else { memo.at((i - 1, j)).max(memo.at((i, j - 1))) * 0.5 + own }
        };
        let memo = Memo::new(&cell);
        let all = || cells(n, m).map(|at| memo.at(at));
        nans += all().filter(|value| value.is_nan()).count();
        let inner = cells(n, m).filter(|(i, j)| *i > 0 && *j > 0).map(|at| 2.0 * memo.at(at) - at.1 as f64);
        let row = if n > 2 { (0..m).map(|j| memo.at((2, j))).fold(f64::INFINITY, f64::min) } else { 0.0 };
        let expected = [
            all().fold(f64::INFINITY, f64::min),
            all().fold(f64::NEG_INFINITY, f64::max),
            inner.fold(f64::NEG_INFINITY, f64::max),
            row,
        ];
        let mut args = vec![doubles(vec![n], &x), doubles(vec![m], &y)];
        args.extend(vec![Arg::Output; expected.len()]);
        let found = interp::run(&program, id, args).expect("no fault").args;
        assert_eq!(found[2..], expected.map(|value| Arg::Scalar(Value::F64(value))), "{x:?} {y:?}");
    }
    assert!(nans > 0, "each cell is a number");
}

/// The place of the first of the best cells, as lists of its value and its indices, or what stands for none.
fn first_of_best(visited: impl Iterator<Item = (i64, (i64, i64))>) -> Option<Vec<i64>> {
    let mut best: Option<Vec<i64>> = None;
    for (value, (i, j)) in visited {
        if best.as_ref().is_none_or(|best| value > best[0]) {
            best = Some(vec![value, i, j]);
        }
    }
    best
}

#[test]
fn places_of_the_best_cells() {
    let program = compiled(include_str!("../../cases/run/recurrences_visits.hdp"));
    let mut numbers = Numbers(37);
    let mut shared = 0;
    for (n, m) in SIZES {
        let (s, t, sub) = (numbers.list(n, 0, 4), numbers.list(m, 0, 4), numbers.list(16, -3, 4));
        let cell = |memo: &Pairs<'_>, (i, j): (i64, i64)| {
            if i == 0 || j == 0 {
                return 0;
            }
            let pair = sub[(s[i as usize - 1] * 4 + t[j as usize - 1]) as usize];
            let gap = memo.at((i - 1, j)).max(memo.at((i, j - 1))) - 1;
            (memo.at((i - 1, j - 1)) + pair).max(0).max(gap)
        };
        let memo = Memo::new(&cell);
        let hit = first_of_best(cells(n + 1, m + 1).map(|at| (memo.at(at), at))).expect("a cell");
        let last = first_of_best((0..=m).map(|j| (memo.at((n, j)), (n, j)))).expect("a cell");
        shared += cells(n + 1, m + 1).filter(|at| memo.at(*at) == hit[0]).count() - 1;
        let (id, _) = program.funcs.iter().find(|(_, func)| func.name == "ends").expect("a function of the case");
        let args = vec![
            letters(&s),
            letters(&t),
            ints(vec![4, 4], &sub),
            Arg::Scalar(Value::I32(1)),
            longs(&[0; 3]),
            longs(&[0; 3]),
        ];
        let found = interp::run(&program, id, args).expect("no fault").args;
        assert_eq!(found[4..], [longs(&hit), longs(&last)], "{s:?} {t:?} {sub:?}");
    }
    assert!(shared > 0, "the best is always alone");
}

/// Folds that may find the constant beyond all cells.
const GAPS: &str = "
# The last of the least.
function Hit least_of(Hit a, Hit b) { return a.score < b.score ? a : b; }
function dearest
input uint8 s[N], t[M]; input int sub[4][4], open, ext; output long hit[3];
{
  Hit last;
  map { i := [0:N]; j := [0:M]; _c = Hit{score: left(i, j), i: i, j: j}; } reduce(least_of, last, _c, i := [*], j := [*]);
  map { k := [0:1); hit[0] = last.score; hit[1] = last.i; hit[2] = last.j; }
}
function first_gap
input uint8 s[N], t[M]; input int sub[4][4], open, ext; output long hit[3];
{
  Hit best;
  map { i := [0:N]; _c = Hit{score: left(i, 0), i: i, j: 0}; } reduce(better, best, _c, i := [*]);
  map { k := [0:1); hit[0] = best.score; hit[1] = best.i; hit[2] = best.j; }
}
function gaps
input uint8 s[N], t[M]; input int sub[4][4], open, ext; output int most;
{ reduce(\"max\", most, left, i := [*], j := [*]); }
function before
input uint8 s[N], t[M]; input int sub[4][4], open, ext; output int most;
{ map { i := [0:N]; _v = left(i, 0); } reduce(\"max\", most, _v, i := [*]); }

# The smallest number everywhere.
recurrence int low(i := [0:N], j := [0:M]) input uint8 s[N], t[M];
{
  if (i == 0 || j == 0) return -2147483647 - 1;
  return min(low(i-1, j), low(i, j-1));
}
function lowest
input uint8 s[N], t[M]; input int sub[4][4], open, ext; output long hit[3];
{
  Hit best;
  map { i := [1:N]; j := [0:M]; _c = Hit{score: low(i, j), i: i, j: j}; }
  reduce(better: Hit{score: 0, i: 1, j: 0}, best, _c, i := [*], j := [*]);
  map { k := [0:1); hit[0] = best.i; hit[1] = best.j; hit[2] = 0; }
}
";

#[test]
fn places_beside_a_constant_beyond_all_cells() {
    const NONE: i64 = -100_000_000;
    let program = ways::computed(compiled(&[include_str!("../../cases/run/recurrences_visits.hdp"), GAPS].concat()));
    let mut numbers = Numbers(53);
    for (n, m) in SIZES {
        let (s, t, sub) = (numbers.list(n, 0, 4), numbers.list(m, 0, 4), numbers.list(16, -3, 4));
        let (open, ext) = (numbers.next(1, 4), numbers.next(1, 3));
        // The table, as above, and where.
        let cell = |memo: &Memo<'_, (u8, i64, i64), i64>, (table, i, j): (u8, i64, i64)| match table {
            b'n' if i == 0 || j == 0 => 0,
            b'n' => {
                let pair = sub[(s[i as usize - 1] * 4 + t[j as usize - 1]) as usize];
                let gap = memo.at((b'a', i, j)).max(memo.at((b'l', i, j)));
                (memo.at((b'n', i - 1, j - 1)) + pair).max(0).max(gap)
            }
            b'a' if i == 0 => NONE,
            b'a' => (memo.at((b'a', i - 1, j)) - ext).max(memo.at((b'n', i - 1, j)) - open),
            _ if j == 0 => NONE,
            _ => (memo.at((b'l', i, j - 1)) - ext).max(memo.at((b'n', i, j - 1)) - open),
        };
        let memo = Memo::new(&cell);
        let of = |table: u8| cells(n + 1, m + 1).map(|(i, j)| (memo.at((table, i, j)), (i, j))).collect::<Vec<_>>();
        let lefts = of(b'l');
        let most = lefts.iter().map(|(value, _)| *value).max().expect("a cell");
        let mut args = vec![letters(&s), letters(&t), ints(vec![4, 4], &sub)];
        args.extend([open, ext].map(|cost| Arg::Scalar(Value::I32(cost as i32))));
        let found = |name: &str, output: Arg| call(&program, name, [&args[..], &[output]].concat());
        let about = format!("{s:?} {t:?} {sub:?} {open} {ext}");
        let best = |cells: Vec<_>| Ok(longs(&first_of_best(cells.into_iter()).expect("a cell")));
        assert_eq!(found("local", longs(&[0; 3])), best(of(b'n')), "{about}");
        assert_eq!(found("first_gap", longs(&[0; 3])), Ok(longs(&[NONE, 0, 0])), "{about}");
        assert_eq!(found("before", Arg::Output), Ok(Arg::Scalar(Value::I32(NONE as i32))), "{about}");
        assert_eq!(found("lowest", longs(&[0; 3])), Ok(longs(&[1, 0, 0])), "{about}");
        // The first cell of each row is none.
        assert_eq!(found("dearest", longs(&[0; 3])), Ok(longs(&[NONE, n, 0])), "{about}");
        assert_eq!(found("gaps", Arg::Output), Ok(Arg::Scalar(Value::I32(most as i32))), "{about}");
    }
}

#[test]
fn places_in_recurrences_from_the_end() {
    let program = compiled(include_str!("../../cases/run/recurrences_visits.hdp"));
    let mut numbers = Numbers(41);
    for (n, m) in SIZES {
        let (x, y) = (numbers.list(n, -2, 3), numbers.list(m, -2, 3));
        let cell = |memo: &Pairs<'_>, (i, j): (i64, i64)| {
            let (own, other) = (x[i as usize], y[j as usize]);
            if i == n - 1 || j == m - 1 {
                return own + other;
            }
            (memo.at((i + 1, j)) + other).max(memo.at((i, j + 1)) - own)
        };
        let memo = Memo::new(&cell);
        let inner = cells(n, m).filter(|(i, j)| *i > 0 && *j > 0);
        let expected = first_of_best(inner.map(|at| (memo.at(at), at)));
        let found = call(&program, "inner", vec![ints(vec![n], &x), ints(vec![m], &y), longs(&[0; 3])]);
        let expected = expected.map(|hit| longs(&hit)).ok_or((FaultKind::EmptyFold, Vec::new()));
        assert_eq!(found, expected, "{x:?} {y:?}");
    }
}

#[test]
fn domains_that_begin_below_zero() {
    let program = compiled(include_str!("../../cases/run/recurrences_visits.hdp"));
    let mut numbers = Numbers(43);
    for (n, m) in SIZES {
        let (s, t) = (numbers.list(n, 0, 3), numbers.list(m, 0, 3));
        let cell = distance(&s, &t);
        let memo = Memo::new(&cell);
        let all: Vec<i64> = cells(n + 1, m + 1).map(|at| memo.at(at)).collect();
        let (id, _) = program.funcs.iter().find(|(_, func)| func.name == "borders").expect("a function of the case");
        let args = vec![letters(&s), letters(&t), Arg::Output, Arg::Output, no_ints(n + 1, m + 1)];
        let found = interp::run(&program, id, args).expect("no fault").args;
        assert_eq!(found[2..4].iter().map(int).collect::<Vec<_>>(), [memo.at((n, m)), n.max(m)], "{s:?} {t:?}");
        assert_eq!(found[4], ints(vec![n + 1, m + 1], &all), "{s:?} {t:?}");
    }
}
