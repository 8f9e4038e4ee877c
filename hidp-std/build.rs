//! Tells the build scripts of dependent crates where the headers are that generated kernels include; with the feature `prim`,
//! compiles the primitives, with `sparse` products of sparse matrices.

use std::env;
use std::path::PathBuf;

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("include");
    let abi = PathBuf::from(env::var_os("DEP_HIDP_INCLUDE").expect("hidp-sys publishes it"));
    let both = env::join_paths([&own, &abi]).expect("no path of a package holds the separator of paths");
    println!("cargo::metadata=include={}", both.display());
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(any(feature = "prim", feature = "sparse"))]
    if let Err(error) = kernels::compile(vec![own, abi]) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

#[cfg(any(feature = "prim", feature = "sparse"))]
mod kernels {
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    /// Functions that compare: every type has its own.
    const ORDERED: &str = "prim/ordered.hdp";
    /// Functions that add: signed integers leave it to the unsigned ones.
    const SUMS: &str = "prim/sums.hdp";
    /// Functions on bits: unsigned integers do the work of all.
    const BITS: &str = "prim/bits.hdp";
    /// Types of elements, as in Rust, their bytes, and the templates that they need.
    const ELEMENTS: [(&str, u32, &[&str]); 10] = [
        ("i8", 1, &[ORDERED]),
        ("i16", 2, &[ORDERED]),
        ("i32", 4, &[ORDERED]),
        ("i64", 8, &[ORDERED]),
        ("u8", 1, &[ORDERED, SUMS, BITS]),
        ("u16", 2, &[ORDERED, SUMS, BITS]),
        ("u32", 4, &[ORDERED, SUMS, BITS]),
        ("u64", 8, &[ORDERED, SUMS, BITS]),
        ("f32", 4, &[ORDERED, SUMS]),
        ("f64", 8, &[ORDERED, SUMS]),
    ];

    /// Products of sparse matrices.
    const PRODUCT: &str = "sparse/product.hdp";

    /// Instantiates the templates and compiles the files.
    pub(super) fn compile(headers: Vec<PathBuf>) -> hidp_build::Result {
        let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("templates");
        fs::create_dir_all(&folder).expect("OUT_DIR is writable");
        if cfg!(feature = "prim") {
            for (element, bytes, templates) in ELEMENTS {
                let text: String = templates.iter().map(|template| text(template)).collect();
                let text = text.replace("ELEMENT", element).replace("BYTES", &bytes.to_string());
                write(&folder.join(format!("{element}s.hdp")), &text);
            }
        }
        if cfg!(feature = "sparse") {
            let product = text(PRODUCT);
            let both: String = ["f32", "f64"].map(|element| product.replace("ELEMENT", element)).concat();
            write(&folder.join("products.hdp"), &both);
        }
        // nvcc would take minutes for all types; `HIDP_CUDA=auto` compiles for GPUs all the same.
        let builder = hidp_build::Builder::new().folder(folder).run_time_headers(headers).cuda(hidp_build::Cuda::Off);
        builder.line_directives(false).compile()
    }

    /// A template of this package.
    fn text(template: &str) -> String {
        println!("cargo::rerun-if-changed={template}");
        fs::read_to_string(template).expect("the template is part of the package")
    }

    fn write(path: &Path, text: &str) {
        if fs::read_to_string(path).ok().as_deref() != Some(text) {
            fs::write(path, text).expect("OUT_DIR is writable");
        }
    }
}
