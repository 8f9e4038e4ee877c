//! Accesses of whole kernels.

use super::*;
use crate::testing::{input, optimised};
use hidp_build::compiler::pipeline::{Options, lower_entry};
use hidp_ir::imp::UnitTarget;
use hidp_plan::target::Model;

/// The kernels of a program's only entry under a plan.
fn kernels(text: &str, plan: &str) -> Vec<Traffic> {
    let input = input(text, Options { cuda: true, ..Options::default() });
    let program = optimised(&input);
    let lowered = lower_entry(&input, &program, program.entries[0], &Model::cpu());
    let unit = lowered.entry.units_for(UnitTarget::Device).find(|unit| unit.plan == plan).unwrap();
    traffic(&program, unit, &DeviceModel::cuda(), &[USUAL])
}

/// Their accesses, a line each.
fn lines(text: &str, plan: &str) -> Vec<String> {
    kernels(text, plan).iter().flat_map(|kernel| &kernel.accesses).map(line).collect()
}

fn line(access: &Access) -> String {
    let Access { action, array, index, pattern, cost, .. } = access;
    let cost = match cost {
        Cost::Global { sectors, least, read_only } => {
            format!("{sectors}/{least}{}", if *read_only { " read-only" } else { "" })
        }
        Cost::Shared { turns, least } => format!("{turns}/{least} turns"),
    };
    format!("{} {array}[{index}] {pattern}: {cost}", action.name())
}

#[test]
fn neighbours_in_a_stencil() {
    let found = lines(
        "function f input float a[H][W]; inout float b[H][W];
        { map { y := [1:H-2]; x := [1:W-2]; b[y][x] = a[y-1][x] + a[y][x+1] + a[y][x]; } }",
        "thread",
    );
    println!("{found:#?}");
    let expected = [
        "load a[item.x + item.y*W + 1] coalesced: 5/4 read-only",
        "load a[item.x + item.y*W + W + 2] coalesced: 5/4 read-only",
        "load a[item.x + item.y*W + W + 1] coalesced: 5/4 read-only",
        "store b[item.x + item.y*W + W + 1] coalesced: 5/4",
    ];
    assert_eq!(found, expected);
}

#[test]
fn one_side_of_a_transposed_copy_is_strided() {
    let found = lines(
        "function f input float a[H][W]; output float b[W][H]; { map { i := [0:H); j := [0:W); b[j][i] = a[i][j]; } }",
        "thread",
    );
    println!("{found:#?}");
    assert!(found[0].starts_with("load a[") && found[0].ends_with("coalesced: 4/4 read-only"));
    assert!(found[1].starts_with("store b[") && found[1].ends_with("strided by H: 32/4"));
}

const ROWS: &str = "function f input float A[R][C], x[C]; output float y[R];
    { map { r := [0:R); c := [0:C); _t = A[r][c] * x[c]; } reduce(\"+\", y[r], _t, c := [*]); }";

#[test]
fn lanes_of_groups_read_pieces_of_rows() {
    let has = |plan: &str, expected: &[&str]| {
        let found = lines(ROWS, plan);
        println!("{plan} {found:#?}");
        for (line, end) in found.iter().zip(expected) {
            assert!(line.ends_with(end), "{plan}: `{line}` should end with `{end}`");
        }
        assert_eq!(found.len(), expected.len());
    };
    has("warp", &["coalesced: 4/4 read-only", "coalesced: 4/4 read-only", "one lane: 1/1"]);
    has("block", &["coalesced: 4/4 read-only", "coalesced: 4/4 read-only", "one lane: 1/1"]);
    has("subwarp", &["runs of 8 lanes: 4/4 read-only", "runs of 8 lanes: 1/1 read-only", "coalesced: 1/1"]);
    // Neighbours at once; then those that are left.
    let moved = ["strided by C: 32/16 read-only", "broadcast: 1/1 read-only"];
    let left = ["strided by C: 32/4 read-only", "broadcast: 1/1 read-only"];
    has("thread", &[&moved[..], &left, &["coalesced: 4/4"]].concat());
}

#[test]
fn tiles_of_transposed_arrays_are_coalesced_and_meet_no_bank_twice() {
    for elem in ["float", "double", "short"] {
        let text = format!(
            "function f input {elem} a[H][W]; output {elem} b[W][H];
            {{ map {{ i := [0:H); j := [0:W); b[j][i] = a[i][j]; }} }}"
        );
        let found = lines(&text, "near");
        println!("{found:#?}");
        let full: u32 = if elem == "double" {
            8
        } else if elem == "float" {
            4
        } else {
            2
        };
        assert!(found[0].starts_with("load a[") && found[0].ends_with(&format!("coalesced: {full}/{full} read-only")));
        assert!(
            found[1].starts_with("store near_a[")
                && found[1].ends_with(&format!("coalesced: {0}/{0} turns", full.div_ceil(4)))
        );
        assert!(
            found[2].starts_with("load near_a[")
                && found[2].ends_with(&format!("strided by 33: {0}/{0} turns", full.div_ceil(4)))
        );
        assert!(found[3].starts_with("store b[") && found[3].ends_with(&format!("coalesced: {full}/{full}")));
    }
}

#[test]
fn what_data_says_is_irregular() {
    let found = lines(
        "function f input int at[N]; input float x[M]; inout float y[N]; { map { i := [0:N); y[i] = y[i] + x[at[i]]; } }",
        "thread",
    );
    println!("{found:#?}");
    assert!(found.iter().any(|line| line == "load x[…] irregular: 32/4 read-only"));
    assert!(found.iter().any(|line| line.starts_with("load y[") && line.ends_with("coalesced: 4/4")));
    assert!(found.iter().any(|line| line.starts_with("load at[") && line.ends_with("coalesced: 4/4 read-only")));
}

/// What the model claims of the accesses to an array, under a plan: costs, and that all lanes are there.
fn claims(text: &str, plan: &str, array: &str) -> Vec<(Result<(), Reason>, Result<(), Reason>)> {
    let found = kernels(text, plan);
    let own = found.iter().flat_map(|kernel| &kernel.accesses).filter(|access| access.array == array);
    own.map(|access| (access.cost_claim, access.lanes_claim)).collect()
}

#[test]
fn what_is_not_claimed_has_a_reason() {
    let of = |body: &str, array: &str| {
        let text = format!(
            "function f input int at[N]; input float x[N], m[N][N]; inout float y[N]; {{ map {{ i := [0:N); {body} }} }}"
        );
        claims(&text, "thread", array)
    };
    let sure = Ok(());
    assert_eq!(of("y[i] = x[i];", "x"), [(sure, sure)]);
    assert_eq!(of("y[i] = x[at[i]];", "x"), [(Err(Reason::Data), sure)]);
    assert_eq!(of("y[i] = x[i / 3];", "x"), [(Err(Reason::Quotient), sure)]);
    assert_eq!(of("y[i] = x[i / 4];", "x"), [(sure, sure)], "a warp begins at a multiple of 4");
    assert_eq!(of("y[i] = x[min(i + 2, N - 1)];", "x"), [(Err(Reason::Bound), sure)]);
    assert_eq!(of("y[i] = x[min(i, N - 1)];", "x"), [(sure, sure)], "which is never beyond");
    assert_eq!(of("y[i] = x[i < 5 ? i : 0];", "x"), [(Err(Reason::Choice), sure)]);
    assert_eq!(of("if (i < 5) { y[i] = x[i]; }", "x"), [(sure, Err(Reason::Branch))]);
    assert_eq!(of("y[i] = i < 5 ? x[i] : 0.0;", "x"), [(sure, Err(Reason::Branch))]);
    assert_eq!(of("if (i < 64) { y[i] = x[i]; }", "x"), [(sure, sure)], "whole warps");
    assert_eq!(of("float s = 0; for (int k = 0; k < at[0]; k += 1) { s += x[i] + x[k]; } y[i] = s;", "x").len(), 2);
    let inner = "function f input float x[N]; inout float y[N]; { map { i := [1:N-1]; y[i] = x[i]; } }";
    assert_eq!(claims(inner, "thread", "x"), [(sure, Err(Reason::Tail))]);
}

#[test]
fn where_a_row_begins_and_how_far_it_is_follows_from_sizes() {
    let rows = |extent: &str| {
        let text = format!(
            "function f input float A[R][{extent}]; inout float y[R][C]; {{ map {{ r := [0:R); c := [0:C); y[r][c] = A[r][c]; }} }}"
        );
        claims(&text, "thread", "A")
    };
    assert_eq!(rows("C"), [(Ok(()), Ok(()))]);
    assert_eq!(rows("C+1"), [(Err(Reason::Begin), Ok(()))]);
    assert_eq!(rows("C+8"), [(Ok(()), Ok(()))], "a sector more");
    // Of 4096, a third is 1365: 20 bytes behind the beginning of a sector, wherever a warp begins.
    let third = "function f input float x[N]; inout float y[N]; { map { i := [0:2*(N/3)); y[i] = x[i + N / 3]; } }";
    assert!(lines(third, "thread")[0].ends_with("coalesced: 5/4 read-only"), "{:?}", lines(third, "thread"));
    assert_eq!(claims(third, "thread", "x"), [(Ok(()), Err(Reason::Tail))]);
    let groups = |extent: &str| {
        let text = format!(
            "function f input float A[R][{extent}]; output float y[R];
            {{ map {{ r := [0:R); c := [0:{extent}); _t = A[r][c]; }} reduce(\"+\", y[r], _t, c := [*]); }}"
        );
        claims(&text, "subwarp", "A")
    };
    assert!(groups("C").iter().all(|claim| *claim == (Ok(()), Ok(()))), "{:?}", groups("C"));
    assert!(groups("C+1").iter().any(|claim| claim.0.is_err()));
}
