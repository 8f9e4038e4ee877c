//! The real CUDA compiler for cases that are printed as CUDA. `cargo xtask test` installs one; elsewhere cases say that they were not
//! compiled.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hidp_build::nvcc::{Checker, table};

/// Architecture that cases are compiled for.
const ARCH: &str = "sm_90";

/// Whether nvcc takes the text without a warning, and every kernel with the registers that there are. The name is unique among all
/// cases. What did not change since the last run is not compiled again.
pub(crate) fn compiles(name: &str, text: &str) -> Result<(), String> {
    let Some(checker) = checker() else {
        println!("skipped: {name}: no nvcc (`cargo xtask test` installs one)");
        return Ok(());
    };
    let kernels = checker.check(&format!("{name}.cu"), text).map_err(|error| error.to_string())?;
    if kernels.is_empty() {
        return Err("no kernel was compiled".into());
    }
    let spilled: Vec<_> = kernels.into_iter().filter(|kernel| kernel.spilled > 0).collect();
    if spilled.is_empty() { Ok(()) } else { Err(format!("kernels spill registers:\n{}", table(&spilled))) }
}

fn checker() -> Option<&'static Checker> {
    static CHECKER: OnceLock<Option<Checker>> = OnceLock::new();
    let found = CHECKER.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let include = ["hidp-std/include", "hidp-sys/include"].map(|folder| root.join(folder));
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("nvcc");
        Checker::find(&[ARCH], &include, &folder).unwrap_or_else(|error| panic!("{error}"))
    });
    assert!(found.is_some() || env::var_os("HIDP_TEST_NVCC").is_none(), "no nvcc, and HIDP_TEST_NVCC is set");
    found.as_ref()
}

#[test]
fn a_kernel_that_spills_is_found() {
    let kernel = |registers: usize| {
        format!(
            "__global__ void __launch_bounds__(1024) k(const double *a, double *b, int n) {{\n  double v[{registers}];\n\
             #pragma unroll\n  for (int j = 0; j < {registers}; ++j) v[j] = a[j * 1024 + threadIdx.x];\n  \
             for (int k = 0; k < n; ++k) {{\n#pragma unroll\n    \
             for (int j = 0; j < {registers}; ++j) v[j] = v[j] * v[(j + 7) % {registers}] + k;\n  }}\n#pragma unroll\n  \
             for (int j = 0; j < {registers}; ++j) b[j * 1024 + threadIdx.x] = v[j];\n}}\n"
        )
    };
    if checker().is_none() {
        println!("skipped: device headers: no nvcc (`cargo xtask test` installs one)");
        return;
    }
    assert_eq!(compiles("spill_none", &kernel(8)), Ok(()));
    let error = compiles("spill_many", &kernel(64)).unwrap_err();
    assert!(error.starts_with("kernels spill registers:\nkernel ") && error.contains("\nk "), "{error}");
    let error = compiles("spill_warning", "__global__ void k(float *p) { int unused; *p = 1; }\n").unwrap_err();
    assert!(error.contains("\"unused\" was declared but never referenced"), "{error}");
    assert_eq!(compiles("spill_empty", "").unwrap_err(), "no kernel was compiled");
}

#[test]
fn the_headers_of_devices_compile() {
    let Some(checker) = checker() else {
        println!("skipped: device headers: no nvcc (`cargo xtask test` installs one)");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hidp-std/include");
    let mut headers: Vec<String> = ["hidp/cuda", "hidp/cuda/prim"]
        .into_iter()
        .flat_map(|folder| {
            let entries = std::fs::read_dir(root.join(folder)).expect("the folder is there").flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.filter(|name| name.ends_with(".cuh")).map(move |name| format!("{folder}/{name}"))
        })
        .collect();
    headers.sort();
    assert!(headers.len() > 10, "{headers:?}");
    // One run for all. That each stands alone is checked by `cargo xtask tidy`, but for those that nvcc alone reads.
    let alone = ["machine", "memory", "runtime", "prim/radix_sort_by_cub"].map(|name| format!("hidp/cuda/{name}.cuh"));
    let include = |header: &String| format!("#include <{header}>\n");
    let all = ("header_all".to_owned(), headers.iter().map(include).collect());
    let alone = alone.iter().map(|header| (format!("header_{}", header.replace(['/', '.'], "_")), include(header)));
    for (name, text) in [all].into_iter().chain(alone) {
        let checked = checker.check(&format!("{name}.cu"), &text);
        assert!(checked.is_ok(), "{}", checked.unwrap_err());
    }
}

#[test]
fn every_primitive_compiles() {
    assert_eq!(compiles("every_primitive", include_str!("../device/all.cu")), Ok(()));
}

/// Fields of structs of headers are accessed by the names that HiDP has for their types.
#[test]
fn a_place_by_another_name_is_as_constant_as_it_was() {
    let text = "#include <hidp/cuda/core.cuh>\n\
        __global__ void k(hidp::In<long long> from, hidp::Out<long long> to) {\n  \
        hidp::store(hidp::place_as<int64_t>(to), hidp::load(hidp::place_as<int64_t>(from)));\n}\n";
    assert_eq!(compiles("place_as", text), Ok(()));
}
