//! Iterations that lanes leave.

use super::{count, lowered, unit};
use hidp_ir::imp::{Block, Stmt};

/// A nest whose iterations need an array of their own size unless it is small.
const LEFT: &str =
    "function f input int n[R], x[R]; output int y[R]; { map { r := [0:R); int s = x[r]; long m = max(long(n[r]), 0);
    if (m <= 8) {
      int a[8]; for (long k = 0; k < m; k += 1) { a[k] = s + int(k); }
      for (long i = 0; i < m; i += 1) { for (long k = 0; k < m; k += 1) { s = s * 2 + a[k]; a[k] = s; } }
    } else {
      int b[m]; for (long k = 0; k < m; k += 1) { b[k] = s + int(k); }
      for (long i = 0; i < m; i += 1) { for (long k = 0; k < m; k += 1) { s = s * 2 + b[k]; b[k] = s; } }
    }
    y[r] = s; } }";

#[test]
fn versions_share_a_kernel_of_iterations_that_lanes_leave() {
    let entry = lowered(LEFT);
    let bodies = |plan: &str| -> Vec<&Block> {
        unit(&entry, plan).kernels.iter().map(|(_, kernel)| &kernel.function.body).collect()
    };
    let runs = |body: &Block| count(body, |stmt| matches!(stmt, Stmt::Run { .. }));
    let [own] = bodies("serial")[..] else { panic!("one kernel") };
    assert_eq!(runs(own), 0);
    for plan in ["wide", "rows"] {
        let [same, other] = bodies(plan)[..] else { panic!("two kernels of {plan}") };
        assert!(same == own, "{plan}");
        assert_ne!(runs(other), 0, "{plan}");
    }
}
