//! Domains whose ranges depend on each other: the functions of `cases/run/recurrences_shapes.hdp`, and tables in all courses, beside
//! plain recursion. Cells outside are faults where they are asked for.

use hidp_build::compiler::ir::par::{Course, PinnedCourse};
use hidp_build::compiler::pass::recurrences::recurrences;

use super::*;

const NOWHERE: i64 = -1;

/// Edit distance, but for insertions and deletions beyond the band.
fn near<'a>(s: &'a [i64], t: &'a [i64], band: i64) -> impl Fn(&Pairs<'_>, (i64, i64)) -> i64 + 'a {
    move |memo, (i, j)| {
        if i == 0 || j == 0 {
            return i + j;
        }
        let change = i64::from(s[i as usize - 1] != t[j as usize - 1]);
        let above = if j < i + band { memo.at((i - 1, j)) + 1 } else { i64::MAX };
        let left = if j > i - band { memo.at((i, j - 1)) + 1 } else { i64::MAX };
        (memo.at((i - 1, j - 1)) + change).min(above).min(left)
    }
}

#[test]
fn cells_of_bands_and_those_outside() {
    let program = shapes();
    let mut numbers = Numbers(61);
    let (mut inside, mut outside) = (0, 0);
    for ((n, m), band) in SIZES.into_iter().cycle().zip([0, 1, 2, 0, 3, 127, 5, -1, -128].into_iter().cycle()).take(63)
    {
        let (s, t) = (numbers.list(n, 0, 3), numbers.list(m, 0, 3));
        let args = vec![letters(&s), letters(&t), Value::I8(band as i8).into(), Arg::Output];
        let found = call(&program, "near_distance", args);
        if (n - m).abs() <= band {
            inside += 1;
            let cell = near(&s, &t, band);
            let expected = Memo::new(&cell).at((n, m));
            assert_eq!(found.map(|score| int(&score)), Ok(expected), "{s:?} {t:?} {band}");
        } else {
            outside += 1;
            let columns = (m.min(n + band) + 1).max(0);
            assert_eq!(found, Err((FaultKind::Index, vec![NOWHERE, columns, 1])), "{s:?} {t:?} {band}");
        }
    }
    assert!(inside > 20 && outside > 20, "{inside} cells inside, {outside} outside");
}

#[test]
fn sums_of_intervals_and_those_outside() {
    let program = shapes();
    let mut numbers = Numbers(67);
    let mut faults = 0;
    for _ in 0..40 {
        let (n, rows) = (numbers.next(1, 6), numbers.next(0, 4));
        let a = numbers.list(n, -9, 10);
        let low = numbers.list(rows, -1, n + 1);
        let high: Vec<i64> = low.iter().map(|low| (low + numbers.next(-1, 5)).min(n)).collect();
        let expected = low.iter().zip(&high).map(|(low, high)| match (*low, *high) {
            (low, _) if low < 0 || low >= n => Err((FaultKind::Index, vec![low, n, 0])),
            (low, high) if high < low => Err((FaultKind::Index, vec![NOWHERE, n, 1])),
            (_, high) if high >= n => Err((FaultKind::Index, vec![high, n, 1])),
            (low, high) => Ok(a[low as usize..=high as usize].iter().sum()),
        });
        let expected: Result<Vec<i64>, _> = expected.collect();
        faults += usize::from(expected.is_err());
        let y = ints(vec![rows], &vec![0; rows as usize]);
        let args = vec![ints(vec![n], &a), longs(&low), longs(&high), y];
        assert_eq!(call(&program, "sums_between", args).map(table), expected, "{a:?} {low:?} {high:?}");
    }
    assert!((8..35).contains(&faults), "{faults} faults");
}

/// Whole tables in each course that they can have, cells of the array outside of the domain are 0.
#[test]
fn bands_in_all_ways() {
    let text = "recurrence int near(i := [0:N], j := [max(i - 2, 0):min(i + 2, M)]) input uint8 s[N], t[M];
        {
          if (i == 0) return j;
          if (j == 0) return i;
          int least = near(i-1, j-1) + (s[i-1] == t[j-1] ? 0 : 1);
          if (j < i + 2) least = min(least, near(i-1, j) + 1);
          if (j > i - 2) least = min(least, near(i, j-1) + 1);
          return least;
        }
        function whole input uint8 s[N], t[M]; output int T[N+1][M+1]; { T = near; }";
    let program = compiled(text);
    let mut numbers = Numbers(71);
    let small = Course::Blocks { sides: [2, 3] };
    let mut taken = Vec::new();
    for course in Course::ALL.into_iter().chain([small]) {
        let mut program = program.clone();
        let user = program.funcs[program.entries[0]].span;
        program.courses.push(PinnedCourse { user, tables: vec!["near".to_owned()], course, span: user });
        if recurrences(&program)[0].unmet.is_some() {
            continue;
        }
        taken.push(course);
        let program = ways::computed(program);
        for (n, m) in SIZES.into_iter().filter(|(n, m)| m <= &(n + 2)) {
            let (s, t) = (numbers.list(n, 0, 3), numbers.list(m, 0, 3));
            let found = call(&program, "whole", vec![letters(&s), letters(&t), no_ints(n + 1, m + 1)]);
            let cell = near(&s, &t, 2);
            let memo = Memo::new(&cell);
            let expected = cells(n + 1, m + 1).map(|(i, j)| if (i - j).abs() <= 2 { memo.at((i, j)) } else { 0 });
            assert_eq!(found.map(table), Ok(expected.collect::<Vec<_>>()), "{course:?} {s:?} {t:?}");
        }
    }
    assert!(taken.contains(&small) && taken.contains(&Course::Table) && taken.contains(&Course::Loops), "{taken:?}");
}
