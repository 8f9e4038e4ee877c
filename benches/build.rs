//! Compiles the kernels and the C++ that they are compared with.

use std::path::Path;

fn main() -> hidp_build::Result {
    let tbb = has_tbb();
    if !tbb {
        println!("cargo:warning=no TBB (Debian: libtbb-dev): benchmarks leave the C++17 parallel algorithms out");
    }
    println!("cargo:rerun-if-changed=peers");
    peer_build()
        .file("peers/peers.cpp")
        .file("peers/algorithms.cpp")
        .define("HIDP_TBB", if tbb { "1" } else { "0" })
        .compile("hidp_peers");
    if tbb {
        println!("cargo:rustc-link-lib=tbb");
    }
    hidp_build::compile("src/kernels")
}

fn peer_build() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .warnings(false)
        .flag_if_supported("-Wno-uninitialized") // GCC 12's own headers
        .flag_if_supported("-march=native")
        .flag_if_supported("-fopenmp");
    build
}

/// Whether a program that includes TBB links: headers without the library would break the build later.
fn has_tbb() -> bool {
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let folder = Path::new(&folder);
    let source = folder.join("tbb_probe.cpp");
    let program = "#include <tbb/parallel_for.h>\nint main() { tbb::parallel_for(0, 1, [](int) {}); }\n";
    if std::fs::write(&source, program).is_err() {
        return false;
    }
    let mut command = peer_build().get_compiler().to_command();
    command.arg(&source).arg("-o").arg(folder.join("tbb_probe")).arg("-ltbb").current_dir(folder);
    command.output().is_ok_and(|output| output.status.success())
}
