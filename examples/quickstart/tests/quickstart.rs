//! Runs the program as a user does.

use std::fs;
use std::process::{Command, Output};

fn quickstart(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quickstart")).args(arguments).output().expect("the example starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn solves_the_shipped_matrix() {
    let output = quickstart(&[]);
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
    assert!(stdout.contains("1138 x 1138, 4054 entries"), "{stdout}");
    assert!(stdout.contains("converged"), "{stdout}");
}

#[test]
fn a_bad_file_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.mtx");
    fs::write(&file, "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n").unwrap();
    let output = quickstart(&[file.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("row 3 is outside 1..2"), "{}", text(&output.stderr));
}

#[test]
fn a_missing_file_is_a_clear_error() {
    let output = quickstart(&["no-such-file.mtx"]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("cannot read no-such-file.mtx"), "{}", text(&output.stderr));
}

#[test]
fn an_unsymmetric_matrix_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("general.mtx");
    fs::write(&file, "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n2 2 2\n1 2 1\n").unwrap();
    let output = quickstart(&[file.to_str().unwrap()]);
    assert!(text(&output.stderr).contains("symmetric"), "{}", text(&output.stderr));
}
