//! Compiles the kernels and the C++ that they are compared with.

use std::path::Path;

use hidp_build::Builder;

/// Programs of papers, which are cases of the compiler's tests, and those of an example.
const OTHERS: [&str; 3] = [
    "../hidp-build/tests/cases/run/papers_hicuda.hdp",
    "../hidp-build/tests/cases/run/papers_lee.hdp",
    "../examples/codelets/src/kernels/codelets.hdp",
];

fn main() -> hidp_build::Result {
    let tbb = has_tbb();
    if !tbb {
        println!("cargo:warning=no TBB (Debian: libtbb-dev): benchmarks leave the C++17 parallel algorithms out");
    }
    let (sleef, mvec) = (has_sleef(), has_mvec());
    println!("cargo:rerun-if-changed=peers");
    let vqsort = has_vqsort();
    if !vqsort {
        println!("cargo:warning=no Highway (Debian: libhwy-dev): benchmarks leave vqsort out");
    }
    peer_build()
        .file("peers/peers.cpp")
        .file("peers/algorithms.cpp")
        .file("peers/vqsort.cpp")
        .file("peers/recur.cpp")
        .file("peers/first.cpp")
        .file("peers/codelets.cpp")
        .define("HIDP_TBB", if tbb { "1" } else { "0" })
        .define("HIDP_VQSORT", if vqsort { "1" } else { "0" })
        .define("HIDP_SLEEF", if sleef { "1" } else { "0" })
        .define("HIDP_MVEC", if mvec { "1" } else { "0" })
        .compile("hidp_peers");
    if !sleef {
        println!("cargo:warning=no SLEEF for x86-64 (Debian: libsleef-dev): benchmarks leave it out");
    }
    for set in instruction_sets() {
        let table = format!("peer_lanes_{}", set.name);
        let mut build = peer_build();
        // The last one counts.
        build.flags(set.march.map(|march| format!("-march={march}")));
        build.file("peers/lanes.cpp").define("HIDP_PEERS", table.as_str()).compile(&format!("hidp_{table}"));
        let table = format!("peer_simulations_{}", set.name);
        let mut build = peer_build();
        build.flags(set.march.map(|march| format!("-march={march}")));
        build.define("HIDP_SLEEF", if sleef { "1" } else { "0" });
        build.file("peers/simulations.cpp").define("HIDP_PEERS", table.as_str()).compile(&format!("hidp_{table}"));
    }
    if !mvec {
        println!("cargo:warning=no libmvec (glibc for x86-64 or AArch64): a peer calls functions lane by lane");
    }
    // As what is compiled from HiDP is: roots in lanes.
    peer_build()
        .file("peers/papers.cpp")
        .define("HIDP_MVEC", if mvec { "1" } else { "0" })
        .flag_if_supported("-fno-math-errno")
        .flag_if_supported("-fno-trapping-math")
        .compile("hidp_peers_papers");
    // The peers' threads.
    let openmp = if peer_build().get_compiler().is_like_clang() { "omp" } else { "gomp" };
    println!("cargo:rustc-link-lib={openmp}");
    if tbb {
        println!("cargo:rustc-link-lib=tbb");
    }
    if vqsort {
        println!("cargo:rustc-link-lib=hwy_contrib");
        println!("cargo:rustc-link-lib=hwy");
    }
    if sleef {
        println!("cargo:rustc-link-lib=sleef");
    }
    if mvec {
        println!("cargo:rustc-link-lib=mvec");
    }
    OTHERS.iter().fold(Builder::new().folder("src/kernels"), |builder, file| builder.folder(file)).compile()
}

/// An instruction set that vectors by hand are compiled for, as kernels are.
struct Set {
    name: &'static str,
    march: Option<&'static str>,
}

fn instruction_sets() -> Vec<Set> {
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch != "x86_64") {
        return vec![Set { name: "base", march: None }];
    }
    let set = |(name, march)| Set { name, march: Some(march) };
    [("base", "x86-64"), ("v2", "x86-64-v2"), ("v3", "x86-64-v3"), ("v4", "x86-64-v4")].map(set).into()
}

fn peer_build() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .opt_level(if is_measured() { 3 } else { 0 })
        .warnings(false)
        .flag_if_supported("-Wno-uninitialized") // GCC 12's own headers
        .flag_if_supported("-march=native")
        .flag_if_supported("-fopenmp");
    build
}

/// Whether this is a build whose times mean something. Others are there to see that all of it compiles.
fn is_measured() -> bool {
    std::env::var("PROFILE").is_ok_and(|profile| profile == "release")
}

fn has_tbb() -> bool {
    let program = "#include <tbb/parallel_for.h>\nint main() { tbb::parallel_for(0, 1, [](int) {}); }\n";
    links("tbb_probe", program, &["-ltbb"])
}

fn has_vqsort() -> bool {
    let program =
        "#include <hwy/contrib/sort/vqsort.h>\nint main() { hwy::Sorter()((float *)0, 0, hwy::SortAscending()); }\n";
    links("vqsort_probe", program, &["-lhwy_contrib", "-lhwy"])
}

fn has_sleef() -> bool {
    let program = "#include <sleef.h>\n__attribute__((target(\"avx2,fma\"))) __m256d last(__m256d x) { return Sleef_erfcd4_u15avx2(x); }\n\
        int main() { return last(__m256d{1})[0] < 0; }\n";
    links("sleef_probe", program, &["-lsleef"])
}

fn has_mvec() -> bool {
    let program = "extern \"C\" __attribute__((simd(\"notinbranch\"))) float erff(float) noexcept;\n\
        void all(float *x) {\n#pragma omp simd\nfor (int i = 0; i < 1024; i++) x[i] = erff(x[i]);\n}\n\
        float some[1024];\nint main() { all(some); }\n";
    links("mvec_probe", program, &["-O3", "-lmvec"])
}

/// Whether a program links: headers without the library would break the build later.
fn links(name: &str, program: &str, libraries: &[&str]) -> bool {
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let folder = Path::new(&folder);
    let source = folder.join(format!("{name}.cpp"));
    if std::fs::write(&source, program).is_err() {
        return false;
    }
    let mut command = peer_build().get_compiler().to_command();
    command.arg(&source).arg("-o").arg(folder.join(name)).args(libraries).current_dir(folder);
    command.output().is_ok_and(|output| output.status.success())
}
