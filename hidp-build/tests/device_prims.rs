//! The primitives for devices, at every level, against plain loops: the executor on the host plays the device.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Orders of blocks and lanes: backwards, and one at random.
const SEEDS: [&str; 2] = ["1", "2"];

fn run(program: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = root.join(format!("hidp-build/tests/device/{program}.cpp"));
    let binary = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("device_{program}"));
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let mut compile = Command::new(&compiler);
    compile.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]);
    compile.args(["-DHIDP_SIMT=1", "-DHIDP_ISA=simt"]);
    for include in ["hidp-std/include", "hidp-sys/include"] {
        compile.arg("-I").arg(root.join(include));
    }
    let status = compile.arg(&source).arg("-o").arg(&binary).status();
    assert!(status.expect("a C++ compiler").success(), "{} does not compile", source.display());
    for seed in SEEDS {
        let output = Command::new(&binary).arg(seed).output().expect("the test runs");
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "seed {seed}: {}\n{told}", output.status);
    }
}

#[test]
fn folds() {
    run("reduce");
}

#[test]
fn scans() {
    run("scan");
}

#[test]
fn sorts() {
    run("sort");
}

#[test]
fn partitions_and_reversals() {
    run("partition");
}

#[test]
fn histograms() {
    run("histogram");
}

#[test]
fn edges() {
    run("edges");
}
