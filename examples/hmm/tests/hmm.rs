//! Runs the program as a user does.

use std::fs;
use std::process::{Command, Output};

fn hmm(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hmm")).args(arguments).output().expect("the example starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_alpha_globin_is_an_island_and_the_beta_globin_is_none() {
    let output = hmm(&[]);
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
    // The same from lists of numbers in Python.
    let [alpha, beta] = stdout.split("\n\n").take(2).collect::<Vec<_>>()[..] else { panic!("{stdout}") };
    let expected = ["e^-835.828, of the best path e^-838.311", "89.8 % inside", "islands    1 to 575"];
    assert!(expected.iter().all(|part| alpha.contains(part)), "{alpha}");
    let expected = ["e^-837.296, of the best path e^-837.324", "0.1 % inside", "islands    none"];
    assert!(expected.iter().all(|part| beta.contains(part)), "{beta}");
}

#[test]
fn short_sequences_have_a_likelihood() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("short.fasta");
    fs::write(&file, ">empty\n>one\nC\n>two\nCG\n").unwrap();
    let output = hmm(&[file.to_str().unwrap(), "--island", "10", "--between", "10"]);
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
    let likelihoods: Vec<&str> = stdout.lines().filter(|line| line.starts_with("likelihood")).collect();
    let expected = [["0.000", "0.000"], ["-1.386", "-2.079"], ["-3.083", "-3.480"]];
    assert_eq!(likelihoods, expected.map(|[all, best]| format!("likelihood e^{all}, of the best path e^{best}")));
}

#[test]
fn letters_that_are_no_bases_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.fasta");
    fs::write(&file, ">a\nACGT\nNACG\n").unwrap();
    let stderr = text(&hmm(&[file.to_str().unwrap()]).stderr);
    assert!(stderr.contains("sequence `a`, position 5: `N` is none of ACGT"), "{stderr}");
}

#[test]
fn bad_arguments_are_clear_errors() {
    let stderr = |arguments: &[&str]| text(&hmm(arguments).stderr);
    assert!(stderr(&["no-such.fasta"]).contains("cannot read no-such.fasta"));
    assert!(stderr(&["--island", "0"]).contains("a mean length is a number above 1, not 0"));
    assert!(stderr(&["--island", "x"]).contains("--island needs a number"));
    assert!(stderr(&["--islands"]).contains("there is no option `--islands`"));
}
