//! Kernels with `int`s for `long`s.

use super::{first_kernel, lowered, unit};
use hidp_ir::imp::visit::{each_expr, each_stmt};
use hidp_ir::imp::{Entry, ExprKind, Size, Stmt, VarKind};
use hidp_syntax::ty::{Scalar, Ty};

const INT: VarKind = VarKind::Value(Ty::Scalar(Scalar::I32));

/// In kernels of which the host can tell how large their values are, positions, sizes and what is made of them are `int`s. Loaded indices are
/// `long`s as they were, and so are counters and sums.
#[test]
fn ints_stand_for_longs_that_follow_from_sizes() {
    let around = |more: &str| {
        let text = format!(
            "function f input float x[H][W]; input long k; input long at[H]; output float y[H][W]; inout float z[H][W];
            {{ map {{ i := [0:H); j := [0:W);
              y[i][j] = x[max(i - 1, 0)][j] + x[min(i + 1, H - 1)][j] + x[i][max(j - 1, 0)] + x[i][min(j + 1, W - 1)]; {more} }} }}"
        );
        lowered(&text)
    };
    // Of the values of a kernel, how many are `int`s, and how many `long`s but for parameters.
    let counted = |entry: &Entry| {
        let kernel = first_kernel(unit(entry, "thread"));
        let narrow = kernel.narrow.as_deref().expect("a narrow function");
        let (mut ints, mut longs) = (0, 0);
        each_expr(&narrow.function.body, &mut |expr| {
            let is_value = matches!(expr.kind, ExprKind::Binary(..) | ExprKind::Var(_) | ExprKind::Load(_));
            ints += usize::from(is_value && VarKind::Value(expr.ty) == INT);
            longs += usize::from(is_value && expr.ty == Ty::LONG);
        });
        let positions = &narrow.function.params[kernel.function.params.len() - 2..];
        assert!(positions.iter().all(|var| narrow.function.vars[*var].kind == INT));
        (ints, longs)
    };
    let plain = around("");
    let (ints, longs) = counted(&plain);
    // What is converted once, from the parameters.
    assert!(ints > 30 && longs == 2, "{ints} {longs}");
    let most = &first_kernel(unit(&plain, "thread")).narrow.as_deref().expect("a narrow function").most;
    let sizes: Vec<usize> = most.terms().map(|(sizes, _)| sizes.len()).collect();
    assert!(sizes.contains(&2) && !sizes.contains(&3), "{most:?}");
    for extent in 0..2 {
        assert!(most.terms().any(|(sizes, factor)| sizes == [Size::Extent(extent)] && factor >= 1.0), "{most:?}");
    }
    let loaded = counted(&around("long p = at[i]; if (p >= 0 && p < W) { z[i][j] = x[i][p]; }"));
    assert!(loaded.0 > ints && loaded.1 > longs, "{loaded:?}");
    let counting = counted(&around("long n = 0; while (n * n < k) { n += i + 1; } z[i][j] = (float)n;"));
    assert!(counting.0 > ints && counting.1 > longs + 4, "{counting:?}");
    // Too little to compile it twice.
    let copy = lowered(
        "function f input float x[H][W]; output float y[H][W]; { map { i := [0:H); j := [0:W); y[i][j] = x[i][j]; } }",
    );
    assert!(copy.units.iter().all(|unit| unit.kernels.iter().all(|(_, kernel)| kernel.narrow.is_none())));
}

/// Where lanes share memory, there are no `int`s.
#[test]
fn lanes_with_iterations_of_their_own_are_numbered_by_ints() {
    let lanes = |text: &str| {
        let entry = lowered(text);
        let kernel = first_kernel(&entry.units[0]);
        let mut kinds = Vec::new();
        for function in kernel.narrow.iter().map(|narrow| &narrow.function).chain([&kernel.function]) {
            each_stmt(&function.body, &mut |stmt| {
                if let Stmt::Lanes { lane, .. } = stmt {
                    kinds.push(function.vars[*lane].kind);
                }
            });
        }
        kinds
    };
    let stencil = "function f input float x[H][W]; output float y[H][W];
        { #pragma hidp cuda: on(i: grid.y thread.y(8) reg(2), j: grid.x thread.x(32)) only
          map { i := [0:H); j := [0:W); y[i][j] = x[max(i - 1, 0)][j] + x[min(i + 1, H - 1)][j]; } }";
    assert_eq!(lanes(stencil), [INT, VarKind::Value(Ty::LONG)]);
    let product = "function f input float A[M][K], B[K][N]; output float C[M][N];
        { #pragma hidp cuda: on(m: grid.y thread.y(16) reg(8), n: grid.x thread.x(16) reg(8)), tile(k: 32), shared(A bufs(1), B bufs(1))
          map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
    let kinds = lanes(product);
    assert!(!kinds.is_empty() && !kinds.contains(&INT), "{kinds:?}");
}
