//! Tells the build scripts of dependent crates where the headers are that generated kernels include.

use std::env;
use std::path::PathBuf;

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("include");
    let abi = PathBuf::from(env::var_os("DEP_HIDP_INCLUDE").expect("hidp-sys publishes it"));
    let both = env::join_paths([own, abi]).expect("no path of a package holds the separator of paths");
    println!("cargo::metadata=include={}", both.display());
    println!("cargo::rerun-if-changed=build.rs");
}
