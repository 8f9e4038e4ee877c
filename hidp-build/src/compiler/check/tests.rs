//! The canonical programs of the language, and helpers for the tests of this phase.

use super::*;
use crate::compiler::diag::{Diagnostic, RenderStyle, Severity, render};
use crate::compiler::ir::par::{FoldFn, FoldKind, StmtKind, Target, VarKind};
use crate::compiler::syntax::ast::Direction;

/// Checks one file; its parser must have no complaint.
fn checked(text: &str) -> (par::Program, Vec<Diagnostic>, SourceMap) {
    let mut sources = SourceMap::new();
    let file = sources.add("test.hdp", text);
    let mut sink = Sink::new();
    let ast = crate::compiler::syntax::parse(&sources, file, &mut sink);
    assert!(!sink.has_errors(), "{}", shown(&sources, &sink.finish()));
    let units = [SourceUnit { id: file, ast, imports: Vec::new() }];
    let program = check(&sources, &units, &mut sink);
    (program, sink.finish(), sources)
}

fn shown(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let style = RenderStyle { color: false, explain: false };
    diagnostics.iter().map(|d| render(sources, d, style)).collect::<Vec<_>>().join("\n")
}

/// Checks one file that must be free of errors, verifies its program, and gives it with its warnings' headlines.
fn accepted(text: &str) -> (par::Program, Vec<String>) {
    let (program, diagnostics, sources) = checked(text);
    let errors = diagnostics.iter().any(|d| d.severity == Severity::Error);
    assert!(!errors, "{}", shown(&sources, &diagnostics));
    if let Err(violations) = par::verify(&program) {
        let list: Vec<String> = violations.iter().map(ToString::to_string).collect();
        panic!("{}\n{}", list.join("\n"), par::print(&program));
    }
    (program, diagnostics.into_iter().map(|d| d.headline).collect())
}

const GEMM: &str = "function GEMM
input float _alpha, _beta, A[M][K], B[K][N];
inout float C[M][N];
{
  float C1[M][N];
  map {
    m := [0:M); n := [0:N); k := [0:K);
    _c0 = A[m][k] * B[k][n];
  } reduce(\"+\", C1[m][n], _c0, k := [*]);
  C = _alpha * C1 + _beta * C;
}";

#[test]
fn gemm_is_one_map_with_a_fold_and_one_data_parallel_map() {
    let (program, warnings) = accepted(GEMM);
    assert_eq!(warnings, Vec::<String>::new());
    let func = &program.funcs[program.entries[0]];
    let names: Vec<&str> = func.dims.iter().map(|dim| func.vars[*dim].name.as_str()).collect();
    assert_eq!(names, ["M", "K", "N"]);
    let maps: Vec<&par::Map> = func
        .body
        .stmts
        .iter()
        .filter_map(|s| match &s.kind {
            StmtKind::Map(map) => Some(map),
            _ => None,
        })
        .collect();
    let [product, sum] = maps.as_slice() else { panic!("two maps") };
    assert_eq!(product.iters.len(), 3);
    let [fold] = product.folds.as_slice() else { panic!("one fold") };
    assert_eq!((fold.kind, fold.op.func, fold.over.len()), (FoldKind::Reduce, FoldFn::Add, 1));
    assert!(matches!(&fold.target, Target::Element(place) if place.index.len() == 2));
    assert_eq!((sum.iters.len(), sum.folds.len()), (2, 0));
}

const HIMENO: &str = "function himeno
input float a0[I][J][K], a1[I][J][K], a2[I][J][K], a3[I][J][K], b0[I][J][K], b1[I][J][K], b2[I][J][K],
      c0[I][J][K], c1[I][J][K], c2[I][J][K], p[I][J][K], wrk1[I][J][K], bnd[I][J][K], _omega;
output float _gosa, wrk2[I][J][K];
{
  map {
    i := [1:I-2]; j := [1:J-2]; k := [1:K-2];
    _s0 = _a0 * p[i+1][j][k] + _a1 * p[i][j+1][k] + _a2 * p[i][j][k+1]
        + _b0 * (p[i+1][j+1][k] - p[i+1][j-1][k] - p[i-1][j+1][k] + p[i-1][j-1][k])
        + _b1 * (p[i][j+1][k+1] - p[i][j-1][k+1] - p[i][j+1][k-1] + p[i][j-1][k-1])
        + _b2 * (p[i+1][j][k+1] - p[i-1][j][k+1] - p[i+1][j][k-1] + p[i-1][j][k-1])
        + _c0 * p[i-1][j][k] + _c1 * p[i][j-1][k] + _c2 * p[i][j][k-1] + _wrk1;
    _ss = (_s0 * _a3 - _p) * _bnd;
    _wrk2 = _p + _omega * _ss;
    _ss2 = _ss * _ss;
  } reduce(\"+\", _gosa, _ss2, i := [*], j := [*], k := [*]);
}";

#[test]
fn himeno_reads_elements_of_the_iteration_and_keeps_the_rim_of_its_output() {
    let (program, warnings) = accepted(HIMENO);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`wrk2`"), "{warnings:?}");
    let func = &program.funcs[program.entries[0]];
    let kind = |name: &str| func.vars.iter().find(|(_, var)| var.name == name).map(|(_, var)| var.kind);
    assert_eq!(kind("wrk2"), Some(VarKind::Param(Direction::Inout)));
    assert_eq!(kind("_gosa"), Some(VarKind::Param(Direction::Output)));
}

const SPMV: &str = "function spmv_csr
input int rowptr[R+1], col[Z]; input float val[Z], x[C]; output float y[R];
{
  map { r := [0:R);
    map { k := [rowptr[r]:rowptr[r+1]); _t = val[k] * x[col[k]]; } reduce(\"+\", y[r], _t, k := [*]);
  }
}";

#[test]
fn spmv_folds_in_an_inner_map_and_writes_its_output_in_full() {
    let (program, warnings) = accepted(SPMV);
    assert_eq!(warnings, Vec::<String>::new());
    let func = &program.funcs[program.entries[0]];
    let StmtKind::Map(outer) = &func.body.stmts[0].kind else { panic!("a map") };
    let StmtKind::Map(inner) = &outer.body.stmts[0].kind else { panic!("a map in the map") };
    assert_eq!(inner.folds.len(), 1);
    assert!(func.params.iter().all(|p| func.vars[*p].kind != VarKind::Param(Direction::Inout)));
}

#[test]
fn saxpy() {
    let (_, warnings) = accepted("function saxpy input float _a, X[N]; inout float Y[N]; { Y = _a * X + Y; }");
    assert_eq!(warnings, Vec::<String>::new());
}

const QUICKSORT: &str = "function bool below(uint x, uint p) { return x <= p; }
function quicksort
input uint keys[N]; output uint sorted[N];
{
  uint a[N], b[N]; int lo[128], hi[128], nlo[256], nhi[256]; uint pivot[128];
  a = keys; lo[0] = 0; hi[0] = N; int segs = 1;
  while (segs < 64) {
    map { s := [0:segs);
      _mn = min(a, lo[s], hi[s]); _mx = max(a, lo[s], hi[s]);
      pivot[s] = _mn + (_mx - _mn) / 2;
      partition(a, b, pivot[s], lo[s], hi[s], nlo, nhi, below);
    }
    segs = segs * 2;
    swap(a, b); lo[0:segs) = nlo[0:segs); hi[0:segs) = nhi[0:segs);
  }
  map { s := [0:segs); sort(a, sorted, lo[s], hi[s], 1); }
}";

#[test]
fn quicksort_narrows_a_dimension_and_keeps_its_output() {
    let (program, warnings) = accepted(QUICKSORT);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`sorted`"), "{warnings:?}");
    let mut narrowed = 0;
    par::visit::walk_exprs(&program.funcs[program.entries[0]].body, |e| {
        let checked = par::ConvertMode::Checked;
        narrowed += usize::from(matches!(&e.kind, par::ExprKind::Convert { mode, .. } if *mode == checked));
    });
    assert_eq!(narrowed, 1, "`hi[0] = N` alone");
}
