//! Runs the program as a user does.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn alignment(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_alignment")).args(arguments).output().expect("the example starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What it prints for two sequences.
fn of(folder: &Path, sequences: [&str; 2], options: &[&str]) -> (String, String) {
    let paths = ["a", "b"].map(|name| folder.join(name).to_str().unwrap().to_owned());
    for ((path, name), letters) in paths.iter().zip(["a", "b"]).zip(sequences) {
        fs::write(path, format!(">{name}\n{letters}\n")).unwrap();
    }
    let output = alignment(&[&[paths[0].as_str(), paths[1].as_str()], options].concat());
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_subunits_of_hemoglobin_are_related() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("matrix.png");
    let output = alignment(&["--picture", file.to_str().unwrap()]);
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
    // As parasail's `nw` with BLOSUM62, 11 for the first letter of a gap and 1 for each other one.
    assert!(stdout.contains("score      286\n"), "{stdout}");
    let reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(&file).unwrap())).read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (148, 143));
}

#[test]
fn gaps_stand_where_they_cost_least() {
    let folder = tempfile::tempdir().unwrap();
    let (stdout, _) = of(folder.path(), ["WWHHWW", "WWWW"], &[]);
    assert!(stdout.contains("score      32\n"), "{stdout}");
    assert!(stdout.contains("\nWWHHWW\n||  ||\nWW--WW\n") && stdout.contains("cigar      2=2I2=\n"), "{stdout}");
    let (stdout, _) = of(folder.path(), ["WWKW", "WWWHWW"], &[]);
    assert!(stdout.contains("cigar      2=2D1X1=\n"), "{stdout}");
    let (stdout, _) = of(folder.path(), ["WHW", "WW"], &["--open", "0", "--extend", "3"]);
    assert!(stdout.contains("score      19\n") && stdout.contains("\nWHW\n| |\nW-W\n"), "{stdout}");
}

#[test]
fn empty_sequences_are_all_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let (stdout, _) = of(folder.path(), ["", "KV"], &[]);
    assert!(stdout.contains("score      -12\n") && stdout.contains("\n--\n\nKV\n"), "{stdout}");
    let (stdout, _) = of(folder.path(), ["", ""], &[]);
    assert!(stdout.contains("score      0\n") && stdout.contains("0 of 0 columns"), "{stdout}");
}

#[test]
fn a_table_that_is_larger_than_the_memory_is_an_error_with_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.fasta");
    fs::write(&file, format!(">long\n{}\n", "W".repeat(3000))).unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_alignment")).args([&file, &file]).env("HIDP_MEMORY", "20M").output().unwrap();
    assert!(!output.status.success());
    let stderr = text(&output.stderr);
    assert!(stderr.contains("not enough memory for ") && stderr.contains("bytes"), "{stderr}");
    let output =
        Command::new(env!("CARGO_BIN_EXE_alignment")).args([&file, &file]).env("HIDP_MEMORY", "free").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn letters_of_no_amino_acid_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (_, stderr) = of(folder.path(), ["MKV", "MKUV"], &[]);
    assert!(stderr.contains("sequence `b`, position 3: `U` is none of ARNDCQEGHILKMFPSTWYV"), "{stderr}");
}

#[test]
fn bad_arguments_are_clear_errors() {
    let stderr = |arguments: &[&str]| text(&alignment(arguments).stderr);
    assert!(stderr(&["no-such.fasta", "neither.fasta"]).contains("cannot read no-such.fasta"));
    assert!(stderr(&["one.fasta"]).contains("two files are needed"));
    assert!(stderr(&["--open", "-3"]).contains("--open takes 0 to 1000, not -3"));
    assert!(stderr(&["--extend", "x"]).contains("--extend needs a whole number, not `x`"));
    assert!(stderr(&["--pictures"]).contains("there is no option `--pictures`"));
}
