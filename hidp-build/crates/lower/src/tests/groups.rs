//! Groups of whole iterations in lanes.

use super::{count, in_kernels, lowered, unit};
use hidp_ir::imp::{Block, Entry, Kernel, Stmt};

/// How many loops over groups of so many vectors there are.
fn with(entry: &Entry, vectors: u8) -> usize {
    in_kernels(unit(entry, "wide"), |stmt| matches!(stmt, Stmt::Group(group) if group.lanes.groups == vectors))
}

#[test]
fn iterations_that_part_early_have_groups_of_four_two_and_one_vector() {
    let entry = lowered(
        "function f input float x[N]; output float y[N];
        { map { i := [0:N); float v = x[i]; while (v * v < 9) { v = v * v - 2; } y[i] = v; } }",
    );
    assert_eq!([4, 2, 1].map(|vectors| with(&entry, vectors)), [1, 1, 1]);
}

#[test]
fn a_divisor_of_all_lanes_is_checked_once() {
    let checks = |by: &str| {
        let entry = lowered(&format!(
            "function f input int x[N], z[M]; output int y[N];
            {{ map {{ i := [0:N); int v = x[i]; for (int k = 0; k < M; k += 1) {{ v = v ^ x[i] / {by}; }} y[i] = v; }} }}"
        ));
        let leaves = |stmt: &Stmt| matches!(stmt, Stmt::Leave(_));
        let asked = |stmt: &Stmt| matches!(stmt, Stmt::If { then, .. } if then.stmts.iter().any(leaves));
        let scalar = |stmt: &Stmt| matches!(stmt, Stmt::If { then, .. } if then.stmts.iter().any(asked));
        [in_kernels(unit(&entry, "wide"), asked), in_kernels(unit(&entry, "wide"), scalar)]
    };
    let [all, of_all_lanes] = checks("z[k]");
    assert!(all > 0 && all == of_all_lanes, "{all} checks, {of_all_lanes} as scalars");
    let [all, of_all_lanes] = checks("v");
    assert!(all > 0 && of_all_lanes == 0, "{all} checks, {of_all_lanes} as scalars");
}

#[test]
fn iterations_that_groups_leave_are_a_kernel_that_rows_has_too() {
    let entry = lowered(
        "function f input float x[N][K], t[M]; input int at[N]; output float y[N];
        { map { i := [0:N); float v = t[at[i]];
          for (int n = 0; n < M; n += 1) { for (int k = 0; k < K; k += 1) { v = v * x[i][k] + 3; } }
          y[i] = v; } }",
    );
    let runs = |stmt: &Stmt| matches!(stmt, Stmt::Run { .. });
    let wide = unit(&entry, "wide");
    assert_eq!(
        in_kernels(wide, runs),
        1 + [4, 2, 1].map(|vectors| with(&entry, vectors)).iter().sum::<usize>(),
        "rows are too long, or a check failed"
    );
    let apart = |plan: &str| {
        let kernels = unit(&entry, plan).kernels.iter().map(|(_, kernel)| kernel);
        let in_order =
            |kernel: &&Kernel| count(&kernel.function.body, |stmt| runs(stmt) || matches!(stmt, Stmt::Group(_))) == 0;
        kernels.filter(in_order).map(|kernel| count(&kernel.function.body, |_| true)).collect::<Vec<_>>()
    };
    let [of_rows] = apart("rows")[..] else { panic!("one kernel: {:?}", apart("rows")) };
    assert!(apart("wide").iter().all(|statements| *statements == of_rows), "{:?}: {of_rows}", apart("wide"));
}

#[test]
fn the_host_decides_whether_rows_are_too_long_for_lanes() {
    let entry = lowered(
        "function f input float x[N][K], t[M]; output float y[M][N];
        { map { j := [0:M); i := [0:N); float v = t[j];
          for (int n = 0; n < M; n += 1) { for (int k = 0; k < K; k += 1) { v = v * x[i][k] + 3; } }
          y[j][i] = v; } }",
    );
    let wide = unit(&entry, "wide");
    let decides = |stmt: &Stmt| {
        let launches = |block: &Block| count(block, |stmt| matches!(stmt, Stmt::Launch { .. }));
        matches!(stmt, Stmt::If { then, otherwise, .. } if [then, otherwise].map(launches) == [1, 1])
    };
    assert_eq!(count(&wide.host.body, decides), 1);
    let kernels =
        wide.kernels.iter().map(|(_, kernel)| count(&kernel.function.body, |stmt| matches!(stmt, Stmt::Group(_))) > 0);
    assert_eq!(kernels.collect::<Vec<_>>(), [true, false], "the other kernel has iterations in order");
}
