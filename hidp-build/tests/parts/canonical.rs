//! The programs of the language reference on the interpreter, before and after all passes, against plain Rust.

use std::fs;
use std::path::Path;

use hidp_build::compiler::check::{SourceUnit, check};
use hidp_build::compiler::diag::{Severity, Sink};
use hidp_build::compiler::ir::par::interp::{Arg, Array, Data, Options, Value, run_with};
use hidp_build::compiler::ir::par::{Program, print, read, verify};
use hidp_build::compiler::pass;
use hidp_build::compiler::source::SourceMap;
use hidp_build::compiler::syntax::ast::Domains;
use hidp_build::compiler::syntax::parse;

/// Compiles a case of `tests/cases/check`.
fn compile(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/check").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let mut sink = Sink::new();
    let ast = parse(&sources, id, &mut sink);
    let program = check(&sources, &[SourceUnit { id, ast, imports: Vec::new() }], &Domains::default(), &mut sink);
    for diagnostic in sink.finish() {
        assert!(diagnostic.severity == Severity::Warning, "{name}: {}", diagnostic.headline);
    }
    program
}

/// The arguments as the only entry leaves them, of the program as it is, read back from its text, and after the passes.
fn results(name: &str, args: &[Arg]) -> Vec<Vec<Arg>> {
    let program = compile(name);
    verify(&program).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let text = print(&program);
    let again = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&again), text);
    let mut after = program.clone();
    pass::run(&mut after, pass::PIPELINE).unwrap_or_else(|error| panic!("{error}"));
    let run = |program: &Program| {
        let options = Options { races: true, ..Options::default() };
        let results = run_with(program, program.entries[0], args.to_vec(), &options);
        results.unwrap_or_else(|error| panic!("{error}\n{}", print(program))).args
    };
    vec![run(&program), run(&again), run(&after)]
}

/// Numbers that look random but are the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
    /// In `[0, 1)`, a multiple of 1/256, so that products of a few are exact.
    fn float(&mut self) -> f32 {
        (self.next() % 256) as f32 / 256.0
    }
    fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }
}

fn array(shape: &[usize], data: impl Into<Data>) -> Arg {
    Arg::Array(Array::new(shape.iter().map(|extent| *extent as i64).collect::<Vec<_>>(), data))
}

fn floats(arg: &Arg) -> &[f32] {
    match arg {
        Arg::Array(Array { data: Data::F32(values), .. }) => values,
        other => panic!("{other:?}"),
    }
}

fn float(arg: &Arg) -> f32 {
    match arg {
        Arg::Scalar(Value::F32(value)) => *value,
        other => panic!("{other:?}"),
    }
}

fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{at}: {found}, not {expected}");
    }
}

#[test]
fn gemm() {
    let (m, k, n) = (7, 33, 5);
    let mut random = Random(1);
    let (a, b, c) = (random.floats(m * k), random.floats(k * n), random.floats(m * n));
    let (alpha, beta) = (1.5_f32, -0.25_f32);
    let mut expected = vec![0.0; m * n];
    for row in 0..m {
        for column in 0..n {
            let sum: f32 = (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
            expected[row * n + column] = alpha * sum + beta * c[row * n + column];
        }
    }
    let args = [alpha.into(), beta.into(), array(&[m, k], a), array(&[k, n], b), array(&[m, n], c)];
    for after in results("gemm.hdp", &args) {
        assert_close(floats(&after[4]), &expected);
    }
}

#[test]
fn spmv_csr() {
    let (rows, columns) = (40, 23);
    let mut random = Random(2);
    let mut rowptr = vec![0_i32];
    for _ in 0..rows {
        rowptr.push(rowptr[rowptr.len() - 1] + (random.next() % 9) as i32);
    }
    let count = rowptr[rows] as usize;
    let col: Vec<i32> = (0..count).map(|_| (random.next() % columns as u64) as i32).collect();
    let (val, x) = (random.floats(count), random.floats(columns));
    let of_row =
        |row: usize| (rowptr[row] as usize..rowptr[row + 1] as usize).map(|k| val[k] * x[col[k] as usize]).sum::<f32>();
    let expected: Vec<f32> = (0..rows).map(of_row).collect();
    let args = [
        array(&[rows + 1], rowptr.clone()),
        array(&[count], col.clone()),
        array(&[count], val.clone()),
        array(&[columns], x.clone()),
        array(&[rows], vec![f32::NAN; rows]),
    ];
    for after in results("spmv_csr.hdp", &args) {
        assert_close(floats(&after[4]), &expected);
    }
}

#[test]
fn himeno() {
    let (ni, nj, nk) = (6, 7, 9);
    let size = ni * nj * nk;
    let mut random = Random(3);
    let arrays: Vec<Vec<f32>> = (0..13).map(|_| random.floats(size)).collect();
    let [a0, a1, a2, a3, b0, b1, b2, c0, c1, c2, p, wrk1, bnd] = &arrays[..] else { panic!("thirteen arrays") };
    let (omega, before) = (0.8_f32, random.floats(size));
    let (mut wrk2, mut gosa) = (before.clone(), 0.0_f32);
    let at = |i: usize, j: usize, k: usize| (i * nj + j) * nk + k;
    for i in 1..ni - 1 {
        for j in 1..nj - 1 {
            for k in 1..nk - 1 {
                let o = at(i, j, k);
                let s0 = a0[o] * p[at(i + 1, j, k)]
                    + a1[o] * p[at(i, j + 1, k)]
                    + a2[o] * p[at(i, j, k + 1)]
                    + b0[o]
                        * (p[at(i + 1, j + 1, k)] - p[at(i + 1, j - 1, k)] - p[at(i - 1, j + 1, k)]
                            + p[at(i - 1, j - 1, k)])
                    + b1[o]
                        * (p[at(i, j + 1, k + 1)] - p[at(i, j - 1, k + 1)] - p[at(i, j + 1, k - 1)]
                            + p[at(i, j - 1, k - 1)])
                    + b2[o]
                        * (p[at(i + 1, j, k + 1)] - p[at(i - 1, j, k + 1)] - p[at(i + 1, j, k - 1)]
                            + p[at(i - 1, j, k - 1)])
                    + c0[o] * p[at(i - 1, j, k)]
                    + c1[o] * p[at(i, j - 1, k)]
                    + c2[o] * p[at(i, j, k - 1)]
                    + wrk1[o];
                let ss = (s0 * a3[o] - p[o]) * bnd[o];
                wrk2[o] = p[o] + omega * ss;
                gosa += ss * ss;
            }
        }
    }
    let mut args: Vec<Arg> = arrays.iter().map(|data| array(&[ni, nj, nk], data.clone())).collect();
    args.extend([omega.into(), Arg::Output, array(&[ni, nj, nk], before)]);
    for after in results("himeno.hdp", &args) {
        assert_close(floats(&after[15]), &wrk2);
        assert_close(&[float(&after[14])], &[gosa]);
    }
}

#[test]
fn quicksort() {
    let mut random = Random(4);
    for count in [0_usize, 1, 2, 100, 3000] {
        let keys: Vec<u32> = (0..count).map(|_| random.next() as u32 % 5000).collect();
        let mut expected = keys.clone();
        expected.sort();
        let args = [array(&[count], keys), array(&[count], vec![0_u32; count])];
        for after in results("quicksort.hdp", &args) {
            assert_eq!(after[1], array(&[count], expected.clone()));
        }
    }
}

#[test]
fn lu_in_place() {
    let n = 12;
    let mut random = Random(5);
    let mut a: Vec<f64> = random.floats(n * n).into_iter().map(f64::from).collect();
    (0..n).for_each(|i| a[i * n + i] += 12.0);
    let mut expected = a.clone();
    for k in 0..n {
        for i in k + 1..n {
            expected[i * n + k] /= expected[k * n + k];
        }
        for i in k + 1..n {
            for j in k + 1..n {
                expected[i * n + j] -= expected[i * n + k] * expected[k * n + j];
            }
        }
    }
    for after in results("lu.hdp", &[array(&[n, n], a.clone())]) {
        assert_eq!(after[0], array(&[n, n], expected.clone()));
    }
}
