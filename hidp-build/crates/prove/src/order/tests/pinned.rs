//! Random schedules that programs ask for: one is accepted if and only if it orders the cells of random recurrences.

use super::random::{Spec, generate};
use crate::order::{RefusalKind, Row, dot};
use crate::testing::Random;

/// One or two rows for each table, mostly the same for all.
fn rows(random: &mut Random, spec: &Spec) -> Vec<Vec<Row>> {
    let count = random.pick(&[1, 1, 2]);
    let mut some = || -> Vec<Row> {
        (0..count).map(|_| (0..spec.arity).map(|_| random.pick(&[-1, 0, 1, 1, 2])).collect()).collect()
    };
    let first = some();
    let mut tables = vec![first; spec.tables];
    if spec.tables > 1 && some()[0][0] == 2 {
        tables[1] = some();
    }
    tables
}

/// The calls that stay in their step, as caller and callee; `None` if one reaches a later step.
fn same_step(spec: &Spec, rows: &[Vec<Row>]) -> Option<Vec<(usize, usize)>> {
    let spec = spec.smaller();
    let step = |table: usize, cell: &Row| -> Vec<i64> { rows[table].iter().map(|row| dot(row, cell)).collect() };
    let mut same = Vec::new();
    for cell in spec.cells() {
        for call in &spec.calls {
            for distance in spec.reached(call, &cell) {
                let callee: Row = cell.iter().zip(&distance).map(|(from, apart)| from - apart).collect();
                match step(call.callee, &callee).cmp(&step(call.caller, &cell)) {
                    std::cmp::Ordering::Less => {}
                    std::cmp::Ordering::Equal => same.push((call.caller, call.callee)),
                    std::cmp::Ordering::Greater => return None,
                }
            }
        }
    }
    Some(same)
}

/// Whether ranks of tables order what stays in its step.
fn orderable(same: &[(usize, usize)]) -> bool {
    same.iter().all(|(caller, callee)| caller != callee && !same.contains(&(*callee, *caller)))
}

#[test]
fn schedules_that_programs_ask_for_are_those_that_order_all_cells() {
    let (mut accepted, mut refused, mut apart) = (0, 0, 0);
    for seed in 0..120 {
        let spec = generate(seed);
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        for _ in 0..4 {
            let rows = rows(&mut random, &spec);
            let same = same_step(&spec, &rows).filter(|same| orderable(same));
            match (spec.system().pinned(&rows), same) {
                (Ok(order), Some(same)) => {
                    let [schedule] = order.schedules.as_slice() else { panic!("{spec:?} {rows:?} {order:?}") };
                    let found: Vec<&Vec<Row>> = schedule.tables.iter().map(|table| &table.rows).collect();
                    assert_eq!(found, rows.iter().collect::<Vec<_>>(), "{spec:?}");
                    let rank = |table: usize| schedule.tables[table].rank;
                    assert!(same.iter().all(|(caller, callee)| rank(*callee) < rank(*caller)), "{spec:?} {order:?}");
                    accepted += 1;
                    apart += usize::from(rows[0] != rows[rows.len() - 1]);
                }
                (Err(refusal), None) => {
                    assert_eq!(refusal.kind, RefusalKind::Pinned, "{spec:?} {rows:?}");
                    assert!(!refusal.calls.is_empty(), "{spec:?} {rows:?}");
                    refused += 1;
                }
                (found, same) => panic!("{spec:?} {rows:?} {same:?} {found:?}"),
            }
        }
    }
    assert!(accepted > 60 && refused > 100 && apart > 0, "{accepted} accepted, {refused} refused, {apart} apart");
}
