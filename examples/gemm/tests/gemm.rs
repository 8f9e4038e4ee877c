//! Runs the program as a user does.

use std::process::Command;

fn gemm(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gemm")).args(arguments).output().expect("the example starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[test]
fn odd_sizes_agree_with_the_plain_loop() {
    for sizes in [["1", "1", "1"], ["17", "31", "13"], ["64", "65", "127"], ["3", "0", "5"], ["5", "4", "0"]] {
        let (ok, text) = gemm(&sizes);
        assert!(ok && text.contains("right"), "{sizes:?}: {text}");
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let (ok, text) = gemm(&["12", "x", "3"]);
    assert!(!ok && text.contains("usage: gemm"), "{text}");
}
