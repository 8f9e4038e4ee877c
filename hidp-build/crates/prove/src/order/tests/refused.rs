//! What is not compiled, and why.

use super::System;
use crate::order::{Refusal, RefusalKind};

#[track_caller]
fn refused(system: &System) -> Refusal {
    match system.order() {
        Ok(order) => panic!("{order:#?}"),
        Err(refusal) => refusal,
    }
}

#[test]
fn cells_that_need_each_other_are_a_cycle() {
    let body = "if ((i == 0) || (i == (N - 1))) { return 0.0; } return (d[(i - 1)?, j?] + d[(i + 1)?, j?]);";
    let refusal = refused(&System::new("", &[("d", "i = 0 .. N; j = 0 .. M", body)]));
    assert_eq!(refusal.kind, RefusalKind::Cycle);
    assert_eq!(refusal.calls.len(), 2);
    let [first, second] = [&refusal.calls[0], &refusal.calls[1]].map(|call| call.witness.clone().expect("a cell"));
    assert_eq!((first.callee, second.callee), (second.caller, first.caller));
}

#[test]
fn a_cell_that_calls_itself_is_a_cycle() {
    let refusal = refused(&System::new("", &[("f", "i = 0 .. N", "if (i < 1) { return 0.0; } return f[i?];")]));
    assert_eq!(refusal.kind, RefusalKind::Cycle);
    assert_eq!(refusal.calls[0].facts, ["i >= 1"]);
}

#[test]
fn two_tables_of_one_step_are_a_cycle() {
    let tables = [("f", "i = 0 .. N", "return g[i?];"), ("g", "i = 0 .. N", "return f[i?];")];
    let refusal = refused(&System::new("", &tables));
    assert_eq!(refusal.kind, RefusalKind::Cycle);
    assert_eq!(refusal.calls.iter().map(|call| (call.caller, call.callee)).collect::<Vec<_>>(), [(0, 1), (1, 0)]);
}

#[test]
fn a_condition_on_data_makes_no_cycle_certain() {
    let body = "if ((i == 0) || (i == (N - 1))) { return 0.0; } if (c[i?] > 0:int) { return f[(i - 1)?]; } return f[(i + 1)?];";
    let refusal = refused(&System::new("c: int[N] input; ", &[("f", "i = 0 .. N", body)]));
    assert_eq!(refusal.kind, RefusalKind::Unproved);
}

const COINS: &str = "declare v; v = 0.0; declare k; k = 0;
    loop (k < K) { if (COND) { v = (v + f[(i - long(c[k?]))?]); } } step { k = (k + 1); } return v;";

#[test]
fn coins_that_may_be_nothing_are_not_proved() {
    let body = COINS.replace("COND", "long(c[k?]) <= i");
    let refusal = refused(&System::new("c: int[K] input; ", &[("f", "i = 0 .. p", &body)]));
    assert_eq!(refusal.kind, RefusalKind::Unproved);
    let call = &refusal.calls[0];
    assert!(call.data);
    assert!(call.facts.contains(&"i >= c[k]".to_owned()), "{:?}", call.facts);
    let witness = call.witness.as_ref().expect("an example");
    assert!(witness.values.contains(&("c[k]".to_owned(), 0)), "{witness:?}");
    assert_eq!(witness.caller, witness.callee);
}

#[test]
fn unsigned_coins_and_one_are_proved() {
    let body = "declare v; v = 0.0; declare k; k = 0;
        loop (k < K) { v = (v + f[(i - (long(c[k?]) + 1))?]); } step { k = (k + 1); } return v;";
    assert!(System::new("c: uint[K] input; ", &[("f", "i = 0 .. p", body)]).order().is_ok());
    assert!(System::new("c: int[K] input; ", &[("f", "i = 0 .. p", body)]).order().is_err());
}

#[test]
fn arithmetic_that_may_wrap_is_data() {
    // c + 1 of a uint8 is 0 for 255.
    let wrapping = "if (i == 0) { return 0.0; } return f[(i - long((c[i?] + 1:uint8)))?];";
    let refusal = refused(&System::new("c: uint8[K] input; ", &[("f", "i = 0 .. p", wrapping)]));
    assert_eq!(refusal.kind, RefusalKind::Unproved);
    let wide = "if (i == 0) { return 0.0; } return f[(i - (long(c[i?]) + 1))?];";
    assert!(System::new("c: uint8[K] input; ", &[("f", "i = 0 .. p", wide)]).order().is_ok());
    // i - 2 of a uint is large for 1.
    let below = |base: &str| format!("if (i < {base}) {{ return 0.0; }} return f[long((uint(i) - 2:uint))?];");
    let small = "i = 0 .. 1000";
    assert!(System::new("", &[("f", small, &below("2"))]).order().is_ok());
    assert!(
        System::new("", &[("f", "i = 0 .. p", &below("2"))]).order().is_ok(),
        "what is left of i - 2 is smaller still"
    );
    assert!(System::new("", &[("f", "i = 0 .. p", &below("1"))]).order().is_err());
    // i + 1 of a uint8 is 0 for 255.
    let above = "return f[long((uint8(i) + 1:uint8))?];";
    assert!(System::new("", &[("f", "i = 0 .. p", above)]).order().is_err());
    assert!(System::new("", &[("f", "i = 0 .. 256", above)]).order().is_err());
    let guarded = "if (i == 254) { return 0.0; } return f[long((uint8(i) + 1:uint8))?];";
    assert!(System::new("", &[("f", "i = 0 .. 255", guarded)]).order().is_ok());
    // The largest long and one.
    let last = "if (i == 0) { return 0.0; } return f[((i + q) + 1)?];";
    assert!(System::new("", &[("f", "i = 0 .. p", last)]).order().is_err());
}

#[test]
fn a_missing_base_case_is_certain() {
    let refusal = refused(&System::new("", &[("d", "i = 0 .. N; j = 0 .. M", "return d[(i - 1)?, j?];")]));
    assert_eq!(refusal.kind, RefusalKind::Outside);
    let witness = refusal.calls[0].witness.clone().expect("an example");
    assert_eq!(witness.callee[0], -1);
    let second = "if (i == 0) { return 0.0; } return (f[(i - 1)?] + f[(i - 2)?]);";
    let refusal = refused(&System::new("", &[("f", "i = 0 .. N", second)]));
    assert_eq!(refusal.kind, RefusalKind::Outside);
    assert_eq!(refusal.calls.len(), 1);
    assert_eq!(refusal.calls[0].witness.clone().expect("an example").caller, [1]);
}

#[test]
fn what_a_scalar_or_data_decides_is_tested_at_run_time() {
    let scalar = "if (i == 0) { return 0.0; } return f[(i - max(1, p))?];";
    let order = System::new("", &[("f", "i = 0 .. N", scalar)]).order().expect("an order");
    assert!(!order.calls[0].inside);
    let guarded = "if (i == 0) { return 0.0; } if (c[i?] > 0:int) { return f[(i - 2)?]; } return 1.0;";
    let order = System::new("c: int[N] input; ", &[("f", "i = 0 .. N", guarded)]).order().expect("an order");
    assert!(!order.calls[0].inside);
    let from = "if (i < p) { return 0.0; } return f[(i - 1)?];";
    assert!(!System::new("", &[("f", "i = 0 .. N", from)]).order().expect("p may be 1").calls[0].inside);
    let proved = "if (i < 2) { return 0.0; } return f[(i - 2)?];";
    assert!(System::new("", &[("f", "i = 0 .. N", proved)]).order().expect("an order").calls[0].inside);
}

#[test]
fn a_pinned_schedule_is_proved_and_not_searched() {
    let body = "if ((i == 0) || (j == 0)) { return 0.0; } return (d[(i - 1)?, j?] + d[i?, (j - 1)?]);";
    let system = System::new("", &[("d", "i = 0 .. N; j = 0 .. M", body)]);
    let order = system.pinned(&[vec![vec![3, 1]]]).expect("valid");
    assert_eq!(order.schedules.len(), 1);
    assert_eq!((&order.schedules[0].tables[0].rows, order.schedules[0].tables[0].window), (&vec![vec![3, 1]], Some(4)));
    assert!(system.pinned(&[vec![vec![1, 0], vec![0, 1]]]).is_ok());
    let refusal = system.pinned(&[vec![vec![1, 0]]]).expect_err("the second call stays in its step");
    assert_eq!(refusal.kind, RefusalKind::Pinned);
    assert_eq!(refusal.calls.len(), 1);
    let witness = refusal.calls[0].witness.clone().expect("an example");
    assert_eq!(witness.caller[0], witness.callee[0]);
    assert!(system.pinned(&[vec![]]).is_err());
}

#[test]
fn calls_that_no_row_suits_together_are_blamed() {
    let body = "if (((i == 0) || (j == 0)) || (c[i?] > 0:int)) { return 0.0; } declare v; v = 0.0; declare k; k = 0;
        loop (k < M) { v = (v + d[(i - 1)?, k?]); } step { k = (k + 1); } k = 0;
        loop (k < N) { v = (v + d[k?, (j - 1)?]); } step { k = (k + 1); } return v;";
    let refusal = refused(&System::new("c: int[N] input; ", &[("d", "i = 0 .. N; j = 0 .. M", body)]));
    assert_eq!(refusal.kind, RefusalKind::Unproved);
    assert_eq!(refusal.calls.len(), 1, "{refusal:#?}");
    assert!(refusal.calls[0].witness.is_some());
}

#[test]
fn tables_that_need_each_other_within_a_step_are_blamed_together() {
    let system = System::new(
        "c: int[N] input; ",
        &[
            ("a", "i = 0 .. N; j = 0 .. N", "if (j < 2) { return 0.0; } return b[i?, (j - 2)?];"),
            ("b", "i = 0 .. N; j = 0 .. N", "return a[i?, long(c[j?])?];"),
        ],
    );
    let refusal = refused(&system);
    assert_eq!(refusal.kind, RefusalKind::Unproved);
    assert_eq!(refusal.calls.len(), 2, "{refusal:#?}");
}
