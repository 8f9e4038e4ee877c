//! Tells the build scripts of dependent crates where the headers are that generated kernels include; with the feature `prim`,
//! compiles the primitives.

use std::env;
use std::path::PathBuf;

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("include");
    let abi = PathBuf::from(env::var_os("DEP_HIDP_INCLUDE").expect("hidp-sys publishes it"));
    let both = env::join_paths([&own, &abi]).expect("no path of a package holds the separator of paths");
    println!("cargo::metadata=include={}", both.display());
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "prim")]
    if let Err(error) = primitives::compile(vec![own, abi]) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

#[cfg(feature = "prim")]
mod primitives {
    use std::path::PathBuf;
    use std::{env, fs};

    const TEMPLATE: &str = "prim/primitives.hdp";
    /// Types of elements, as in Rust.
    const ELEMENTS: [&str; 10] = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"];

    /// Instantiates the template for every type and compiles the files.
    pub(super) fn compile(headers: Vec<PathBuf>) -> hidp_build::Result {
        println!("cargo::rerun-if-changed={TEMPLATE}");
        let template = fs::read_to_string(TEMPLATE).expect("the template is part of the package");
        let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("prim");
        fs::create_dir_all(&folder).expect("OUT_DIR is writable");
        for element in ELEMENTS {
            let path = folder.join(format!("{element}s.hdp"));
            let text = template.replace("ELEMENT", element);
            if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
                fs::write(&path, text).expect("OUT_DIR is writable");
            }
        }
        // nvcc would take minutes for all types; `HIDP_CUDA=auto` compiles for GPUs all the same.
        let builder = hidp_build::Builder::new().folder(folder).run_time_headers(headers).cuda(hidp_build::Cuda::Off);
        builder.line_directives(false).compile()
    }
}
