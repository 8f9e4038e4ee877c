//! Compiles the C++ core and tells dependent crates where its header is.

use std::env;
use std::path::PathBuf;

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let include = root.join("include");
    println!("cargo::metadata=include={}", include.display());
    println!("cargo::rerun-if-changed=include");
    println!("cargo::rerun-if-changed=src");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(&include)
        .file("src/context.cpp")
        .file("src/pool.cpp")
        .file("src/team.cpp")
        .flag_if_supported("-fno-exceptions")
        .flag_if_supported("-fno-rtti")
        .flag_if_supported("-fvisibility=hidden")
        .cpp_link_stdlib(None)
        .compile("hidp2_core");
}
