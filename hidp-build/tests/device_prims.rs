//! The primitives for devices, at every level, against plain loops: the executor on the host plays the device.

#[allow(dead_code, reason = "shared with the file tests")]
mod made;

use std::fs;
use std::process::Command;

use made::{all_headers_hash, compile, folder, hash, root};

/// Orders of blocks and lanes: backwards, and one at random.
const SEEDS: [&str; 2] = ["1", "2"];

const FLAGS: [&str; 5] = ["-std=c++17", "-O1", "-Wno-unknown-pragmas", "-DHIDP_SIMT=1", "-DHIDP_ISA=simt"];

fn run(program: &str) {
    run_with(program, &[]);
}

fn run_with(program: &str, own: &[&str]) {
    let tests = root().join("hidp-build/tests/device");
    let source = tests.join(format!("{program}.cpp"));
    let read = [&source, &tests.join("check.h"), &tests.join("device.h")].map(|file| fs::read(file).expect("a test"));
    let flags = [&FLAGS, own].concat();
    let key = flags.iter().fold(all_headers_hash(), |state, flag| hash(state, flag.as_bytes()));
    let key = read.iter().fold(key, |state, text| hash(state, text));
    let binary = folder().join(format!("device_{program}-{key:016x}"));
    compile(&binary, &flags, &[source]).unwrap_or_else(|why| panic!("{why}"));
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
