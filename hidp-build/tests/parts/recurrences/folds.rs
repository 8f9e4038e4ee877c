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
