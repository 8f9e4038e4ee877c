//! Cells that are made of differences: `cases/run/recurrences_differences.hdp` beside plain recursion.

use super::*;

/// A cell at the first row or column, and one from what the three cells before it are, and whether letters match.
struct Costs {
    edge: fn(i64, i64) -> i64,
    cell: fn([i64; 3], bool) -> i64,
}

impl Costs {
    /// The cell at the end of two sequences, or at the place that is asked for.
    fn at(&self, s: &[i64], t: &[i64], at: (i64, i64)) -> i64 {
        let cell = |memo: &Memo<'_, (i64, i64), i64>, (i, j): (i64, i64)| {
            if i == 0 || j == 0 {
                return (self.edge)(i, j);
            }
            let before = [memo.at((i - 1, j - 1)), memo.at((i - 1, j)), memo.at((i, j - 1))];
            (self.cell)(before, s[i as usize - 1] == t[j as usize - 1])
        };
        Memo::new(&cell).at(at)
    }
}

const SHORTEST: fn([i64; 3], bool) -> i64 =
    |[corner, above, left], same| (corner + i64::from(!same)).min(above.min(left) + 1);
const EDIT: Costs = Costs { edge: |i, j| i + j, cell: SHORTEST };
const HILL: Costs = Costs { edge: |i, j| if i == 0 && j >= 8 { 200 * j } else { i + j }, cell: SHORTEST };
const SCORE: Costs = Costs {
    edge: |i, j| -5 * i - 7 * j,
    cell: |[corner, above, left], same| (corner + if same { 4 } else { -3 }).max((above - 5).max(left - 7)),
};
const COMMON: Costs =
    Costs { edge: |_, _| 0, cell: |[corner, above, left], same| if same { corner + 1 } else { above.max(left) } };

#[test]
fn small_differences() {
    let program = compiled(include_str!("../../cases/run/recurrences_differences.hdp"));
    let mut numbers = Numbers(41);
    for (n, m) in SIZES.into_iter().chain([(14, 11), (3, 20), (20, 3)]) {
        let (s, t) = (numbers.list(n, 0, 3), numbers.list(m, 0, 3));
        let args = || vec![letters(&s), letters(&t), Arg::Output];
        for (name, costs) in [("tiles", EDIT), ("steep", HILL)] {
            let found = call(&program, name, args()).expect("no fault");
            assert_eq!(int(&found), costs.at(&s, &t, (n, m)), "{name} {s:?} {t:?}");
        }
        let place = if n > 1 { (n / 2, m) } else { (n, m / 2) };
        let found = call(&program, "aligned", args()).expect("no fault");
        assert_eq!(found, Arg::Scalar(Value::I64(SCORE.at(&s, &t, place))), "{s:?} {t:?}");

        let (a, b) = (numbers.list(3 * n, 0, 3), numbers.list(3 * m, 0, 3));
        let rows = |values: &[i64], width: i64| {
            array(vec![3, width], Data::U8(values.iter().map(|value| *value as u8).collect()))
        };
        let found = call(&program, "each", vec![rows(&a, n), rows(&b, m), ints(vec![3], &[0; 3])]).expect("no fault");
        let (n, m) = (n as usize, m as usize);
        let of = |r: usize| COMMON.at(&a[r * n..(r + 1) * n], &b[r * m..(r + 1) * m], (n as i64, m as i64));
        assert_eq!(table(found), (0..3).map(of).collect::<Vec<_>>(), "{a:?} {b:?}");
    }
}
