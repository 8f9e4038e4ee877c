//! Compiles the kernels of the tests, the cases of the compiler's tests, and its tests of primitives: all of them for a GPU, or some for
//! the executor.

#[path = "build/cases.rs"]
mod cases;
#[path = "build/checks.rs"]
mod checks;
#[path = "build/cxx.rs"]
mod cxx;

use std::path::{Path, PathBuf};

use hidp_build::compiler::pipeline::{NativeField, NativeStruct, NativeType};
use hidp_build::compiler::ty::Scalar;
use hidp_build::{Builder, Cuda, Isa};

const CASES: &str = "../../hidp-build/tests/cases/run";

/// What cases use of C++.
const HEADER: &str = "../../hidp-build/tests/cases/run/natives/functions.h";

/// Cases that together have grids of every level, folds, prefixes, sorts, private arrays, structs, faults and versions with other tiles,
/// and are quick.
const SOME: [&str; 7] = ["bools", "native_structs", "prim_quicksort", "ranks", "sparse", "spmv_bad_index", "variants"];

fn main() -> hidp_build::Result {
    // The libraries of the C++ compiler lie beside the program where it is packed.
    println!("cargo::rustc-link-arg-bins=-Wl,-rpath,$ORIGIN/lib");
    println!("cargo::rerun-if-changed={CASES}");
    let is_set = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let all = cases::all(Path::new(CASES));
    let (cases, checks, cuda) = match (is_set("BUNDLE"), is_set("SIMULATED")) {
        (true, _) => (all, &checks::ALL[..], Cuda::Required),
        (false, true) => {
            let is_chosen = |path: &PathBuf| SOME.iter().any(|case| path.ends_with(format!("{case}.hdp")));
            (all.into_iter().filter(is_chosen).collect(), &checks::SOME[..], Cuda::Simulated)
        }
        (false, false) => (Vec::new(), &[][..], Cuda::Off),
    };
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    if cuda != Cuda::Off {
        cxx::link_statically(&out);
    }
    checks::compile(checks, cuda, &out);
    let (various, plain): (Vec<PathBuf>, Vec<PathBuf>) = cases.into_iter().partition(|path| cases::has_variants(path));
    add(builder(cuda).folder("src/kernels"), &plain).compile()?;
    add(builder(cuda).variants(true).out_dir(out.join("variants")), &various).compile()
}

fn builder(cuda: Cuda) -> Builder {
    // What the processor's versions are good for here is to be there: one instruction set is enough. The executor's reports need lines,
    // and a bundle has to be small.
    let builder = Builder::new().isas([Isa::Base]).line_directives(cuda == Cuda::Simulated);
    builder.cuda(cuda).header(HEADER).structs([point()]).vouch_for_natives()
}

/// The struct of the header: reading it would need libclang, which not every machine has.
fn point() -> NativeStruct {
    let field = |name: &str, scalar, offset| NativeField { name: name.into(), ty: NativeType::Scalar(scalar), offset };
    let fields = vec![
        field("id", Scalar::I64, 0),
        field("x", Scalar::F32, 8),
        field("y", Scalar::F32, 12),
        field("seen", Scalar::Bool, 16),
    ];
    NativeStruct { name: "Point".into(), fields, size: 24, align: 8 }
}

fn add(builder: Builder, cases: &[PathBuf]) -> Builder {
    cases.iter().fold(builder, |builder, case| builder.folder(case))
}
