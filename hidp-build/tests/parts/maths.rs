//! The functions of `hidp/maths`: the same bits in vectors and alone, on every instruction set with fused multiply-add and on the
//! executor, and at most one unit in the last place from the exact result.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use hidp_build::compiler::emit::openmp::FLAGS;
use hidp_build::compiler::ir::par::MathFn;
use hidp_build::compiler::ir::par::interp::{Value, math};

use crate::made;

const FUNCTIONS: usize = 25;
/// Those that have another text for arguments near 0.
const NEAR: usize = 3;

/// What was found of a function: the bits of its results alone and in vectors, and the largest error with its arguments.
struct Found {
    alone: String,
    vectors: String,
    error: f64,
    at: String,
}

struct Build {
    name: &'static str,
    flags: &'static [&'static str],
    /// A register that vector code of it uses.
    register: Option<&'static str>,
    assembly: OnceLock<PathBuf>,
}

impl Build {
    const fn new(name: &'static str, flags: &'static [&'static str], register: Option<&'static str>) -> Self {
        Self { name, flags, register, assembly: OnceLock::new() }
    }
}

static BASE: Build = Build::new("base", &["-O3"], None);
static V3: Build = Build::new("v3", &["-O3", "-march=x86-64-v3"], Some("%ymm"));
static V4: Build = Build::new("v4", &["-O3", "-march=x86-64-v4"], Some("%zmm"));
static EXECUTOR: Build = Build::new("simt", &["-O1", "-DHIDP_SIMT=1"], None);

fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The folder of what is compiled here.
fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/maths")
}

/// What the compiler makes of these files, once.
fn made(name: &str, extension: &str, flags: &[&str], inputs: &[PathBuf]) -> PathBuf {
    let read = inputs
        .iter()
        .chain(&[tests().join("functions.h")])
        .map(|path| fs::read(path).expect("a file"))
        .collect::<Vec<_>>();
    let key = flags.iter().fold(made::all_headers_hash(), |state, flag| made::hash(state, flag.as_bytes()));
    let key = read.iter().fold(key, |state, text| made::hash(state, text));
    let output = made::folder().join(format!("{name}-{key:016x}.{extension}"));
    made::compile(&output, flags, inputs).unwrap_or_else(|why| panic!("{why}"));
    output
}

impl Build {
    /// The assembly of the loops, from which the program is made, too.
    fn assembly(&self) -> &Path {
        self.assembly.get_or_init(|| self.compiled())
    }

    fn compiled(&self) -> PathBuf {
        let isa = format!("-DHIDP_ISA={}", self.name);
        let product = FLAGS.iter().copied().filter(|flag| !flag.starts_with("-O"));
        let flags: Vec<&str> = product.chain(self.flags.iter().copied()).chain(["-fopenmp-simd", "-S", &isa]).collect();
        made(&format!("maths_loops_{}", self.name), "s", &flags, &[tests().join("loops.cpp")])
    }

    fn found(&self) -> BTreeMap<String, Found> {
        let inputs = [tests().join("bits.cpp"), self.assembly().to_path_buf()];
        let program = made(&format!("maths_{}", self.name), "bin", &["-std=c++17", "-O1"], &inputs);
        run(Command::new(&program).arg(self.samples())).lines().map(line).collect()
    }

    /// Where the program leaves some samples with their results.
    fn samples(&self) -> PathBuf {
        made::folder().join(format!("maths_samples_{}.bin", self.name))
    }
}

fn line(text: &str) -> (String, Found) {
    let [name, alone, vectors, error, x, y] = text.split(' ').collect::<Vec<_>>()[..] else { panic!("`{text}`") };
    let error = error.parse().expect("a number");
    (name.to_owned(), Found { alone: alone.to_owned(), vectors: vectors.to_owned(), error, at: format!("{x}, {y}") })
}

fn check(found: &BTreeMap<String, Found>, build: &Build) {
    assert_eq!(found.len(), 2 * (FUNCTIONS + NEAR), "functions in both widths");
    for (name, found) in found {
        assert_eq!(found.alone, found.vectors, "{name} on {}: other bits in vectors", build.name);
        assert!(found.error <= 1.0, "{name} on {}: {} units off at {}", build.name, found.error, found.at);
    }
}

const INTERPRETED: [MathFn; FUNCTIONS] = [
    MathFn::Exp,
    MathFn::Exp2,
    MathFn::Expm1,
    MathFn::Sinh,
    MathFn::Cosh,
    MathFn::Tanh,
    MathFn::Log,
    MathFn::Log2,
    MathFn::Log10,
    MathFn::Log1p,
    MathFn::Asinh,
    MathFn::Acosh,
    MathFn::Atanh,
    MathFn::Cbrt,
    MathFn::Sin,
    MathFn::Cos,
    MathFn::Tan,
    MathFn::Asin,
    MathFn::Acos,
    MathFn::Atan,
    MathFn::Erf,
    MathFn::Erfc,
    MathFn::Pow,
    MathFn::Hypot,
    MathFn::Atan2,
];

/// Samples that the program writes of each function and width: two arguments and the result.
const WRITTEN: usize = 1 << 12;

/// A value's bits; those of all that is no number are the same.
fn word(value: &Value) -> u64 {
    match value {
        Value::F32(x) if !x.is_nan() => u64::from(x.to_bits()),
        Value::F64(x) if !x.is_nan() => x.to_bits(),
        Value::F32(_) | Value::F64(_) => u64::MAX,
        other => panic!("{other:?} is no result of a maths function"),
    }
}

/// The number at the start of the bytes.
fn number(bytes: &[u8]) -> Value {
    match *bytes {
        [a, b, c, d] => Value::F32(f32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => Value::F64(f64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => panic!("{} bytes are no number", bytes.len()),
    }
}

/// The interpreter's results have the bits of the run time's.
fn compare_with_interpreter(mut samples: &[u8]) {
    for function in INTERPRETED {
        for bytes in [4, 8] {
            let head = format!("{} {bytes}\n", function.name());
            samples = samples.strip_prefix(head.as_bytes()).unwrap_or_else(|| panic!("`{head}` comes next"));
            let (own, rest) = samples.split_at(WRITTEN * 3 * bytes);
            for row in own.chunks_exact(3 * bytes) {
                let [x, y, result] = [0, 1, 2].map(|at| number(&row[at * bytes..][..bytes]));
                let found = math(function, &[x.clone(), y.clone()]);
                assert_eq!(
                    word(&found),
                    word(&result),
                    "{}({x:?}, {y:?}) is {found:?}, not {result:?}",
                    function.name()
                );
            }
            samples = rest;
        }
    }
    assert!(samples.is_empty(), "{} bytes too many", samples.len());
}

fn has(build: &Build) -> bool {
    match build.name {
        #[cfg(target_arch = "x86_64")]
        "v3" => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        #[cfg(target_arch = "x86_64")]
        "v4" => is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl"),
        name => name != "v3" && name != "v4",
    }
}

#[test]
fn machines_without_fused_multiply_add_keep_the_bound() {
    check(&BASE.found(), &BASE);
}

#[test]
fn all_machines_with_fused_multiply_add_give_the_same_bits() {
    let of_executor = EXECUTOR.found();
    check(&of_executor, &EXECUTOR);
    compare_with_interpreter(&fs::read(EXECUTOR.samples()).expect("the samples are there"));
    for build in [&V3, &V4] {
        if !has(build) {
            println!("skipped: not a processor of {}", build.name);
            continue;
        }
        let found = build.found();
        check(&found, build);
        for (name, found) in &found {
            assert_eq!(
                found.alone, of_executor[name].alone,
                "{name}: other bits on {} than on the executor",
                build.name
            );
        }
    }
}

/// The lines of the functions whose names start so.
fn bodies<'a>(assembly: &'a str, prefix: &str) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut bodies: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut inside = false;
    for line in assembly.lines() {
        match line.strip_suffix(':') {
            Some(label) if !label.starts_with('.') => {
                inside = label.starts_with(prefix);
                if inside {
                    bodies.push((label, Vec::new()));
                }
            }
            _ if inside => bodies.last_mut().expect("a label").1.push(line.trim()),
            _ => {}
        }
    }
    bodies
}

#[test]
fn loops_are_vector_code_without_calls() {
    let is_gcc = made::compiler().version.contains("Free Software Foundation");
    if !(is_gcc && cfg!(all(target_arch = "x86_64", target_os = "linux"))) {
        println!("skipped: not GCC for x86-64");
        return;
    }
    for build in [&V3, &V4] {
        let text = fs::read_to_string(build.assembly()).expect("the assembly is there");
        let register = build.register.expect("vector code");
        let loops = bodies(&text, "simd_");
        assert_eq!(loops.len(), 2 * (FUNCTIONS + NEAR), "loops in both widths");
        for (name, lines) in loops {
            let called = lines
                .iter()
                .find(|line| line.starts_with("call") || line.starts_with("jmp\t") && line.contains("@PLT"));
            assert!(called.is_none(), "{name} on {}: {called:?}", build.name);
            let packed = lines.iter().filter(|line| line.starts_with("vfm") && line.contains(register)).count();
            assert!(packed >= 2, "{name} on {}: {packed} packed multiply-adds", build.name);
        }
    }
}
