//! The primitives for devices, at every level, against plain loops: the executor on the host plays the device.

use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use crate::made::{self, First, LOST, all_headers_hash, compile, folder, hash, root};

/// Orders of blocks and lanes: one at random, in full tests also backwards.
fn seeds() -> &'static [&'static str] {
    if std::env::var("HIDP_RUN").is_ok_and(|value| value == "all") { &["1", "2"] } else { &["2"] }
}

const FLAGS: [&str; 5] = ["-std=c++17", "-Og", "-DHIDP_SIMT=1", "-DHIDP_ISA=simt", "-DHIDP_SIMT_LIBRARY=1"];

/// Everything that the programs include of the run time, compiled once.
const CORE: &str = "#include <hidp/cuda/core.cuh>\n";

fn run(program: &str) {
    run_with(program, &[]);
}

fn run_with(program: &str, own: &[&str]) {
    let tests = root().join("hidp-build/tests/device");
    let source = tests.join(format!("{program}.cpp"));
    let read = [&source, &tests.join("check.h"), &tests.join("device.h")].map(|file| fs::read(file).expect("a test"));
    let same = [&FLAGS[..], &LOST].concat();
    static HEADER: OnceLock<First> = OnceLock::new();
    let header = HEADER.get_or_init(|| made::compiler().precompiled("prims", CORE, all_headers_hash(), &same));
    let first: Vec<&str> = header.as_ref().unwrap_or_else(|why| panic!("{why}")).iter().map(String::as_str).collect();
    let executor = made::executor().unwrap_or_else(|why| panic!("{why}"));
    let found_in = format!("-Wl,-rpath,{}", folder().display());
    let flags = [&same[..], own, &first, &[&found_in]].concat();
    let key = flags.iter().fold(all_headers_hash(), |state, flag| hash(state, flag.as_bytes()));
    let key = read.iter().fold(key, |state, text| hash(state, text));
    let binary = folder().join(format!("device_{program}-{key:016x}"));
    compile(&binary, &flags, &[source, executor]).unwrap_or_else(|why| panic!("{why}"));
    for seed in seeds() {
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
fn sorts_of_some_integers() {
    run_with("sort", &["-DHIDP_CHECK_PART=1"]);
}

#[test]
fn sorts_of_floats_and_small_integers() {
    run_with("sort", &["-DHIDP_CHECK_PART=2"]);
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
