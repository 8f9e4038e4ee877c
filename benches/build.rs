//! Compiles the kernels and the hand-written C++ that they are compared with.

fn main() -> hidp_build::Result {
    println!("cargo:rerun-if-changed=peers/peers.cpp");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .warnings(false)
        .flag_if_supported("-Wno-uninitialized") // GCC 12's own headers
        .flag_if_supported("-march=native")
        .flag_if_supported("-fopenmp")
        .file("peers/peers.cpp")
        .compile("hidp_peers");
    hidp_build::compile("src/kernels")
}
