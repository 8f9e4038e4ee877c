//! Rules about text: sizes of files, unfinished places, whitespace.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Finding, has_extension};

/// A longer source file has a seam somewhere.
const LONGEST_FILE: usize = 600;

/// A longer text that a test compares is looked at by nobody: the rest is said in checks (`hidp-build/tests/filetests/structure.rs`).
const LONGEST_GOLDEN: usize = 300;

/// Words that stand for work left undone. Assembled here so that this file passes its own rule.
fn unfinished() -> [String; 4] {
    [["to", "do!"].concat(), ["unimple", "mented!"].concat(), ["FIX", "ME"].concat(), ["XX", "X"].concat()]
}

pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let unfinished = unfinished();
    let mut findings = Vec::new();
    for file in files {
        let is_text = has_extension(file, &["rs", "hpp", "h", "cpp", "cu", "cuh", "hdp", "md", "toml"]);
        if !is_text && !is_test_input(file) {
            continue;
        }
        let Ok(text) = fs::read_to_string(file) else { continue };
        check_lines(file, &text, &unfinished, &mut findings);
        check_size(file, &text, &mut findings);
    }
    Ok(findings)
}

/// Inputs of tests may hold anything.
fn is_test_input(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "cases")
}

fn check_lines(file: &Path, text: &str, unfinished: &[String], findings: &mut Vec<Finding>) {
    if is_test_input(file) {
        return;
    }
    for (number, line) in text.lines().enumerate() {
        if line.ends_with([' ', '\t']) {
            findings.push(Finding::new(file, number + 1, "white space at the end of the line"));
        }
        if let Some(word) = unfinished.iter().find(|word| line.contains(word.as_str())) {
            findings.push(Finding::new(file, number + 1, format!("unfinished: `{word}`")));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        findings.push(Finding::new(file, text.lines().count(), "no line break at the end of the file"));
    }
}

fn check_size(file: &Path, text: &str, findings: &mut Vec<Finding>) {
    let lines = text.lines().count();
    if is_test_input(file) && !has_extension(file, &["hdp"]) && lines > LONGEST_GOLDEN {
        let message = format!("{lines} lines that are compared; name the plans whose text it is, and check the others");
        findings.push(Finding::new(file, lines, message));
    }
    let is_code = has_extension(file, &["rs", "hpp", "h", "cpp", "cu", "cuh"]);
    let is_test = file.components().any(|part| part.as_os_str() == "tests");
    let is_generated = file.file_name().is_some_and(|name| name == "bindings.rs")
        || text.lines().take(4).any(|line| line.contains("Made by `xtask/"));
    if is_code && !is_test && !is_generated && lines > LONGEST_FILE {
        findings.push(Finding::new(file, lines, format!("{lines} lines; split it where it has a seam")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(file: &str, lines: usize) -> usize {
        let mut findings = Vec::new();
        check_size(Path::new(file), &"x\n".repeat(lines), &mut findings);
        findings.len()
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!((findings("a/src/x.rs", LONGEST_FILE), findings("a/src/x.rs", LONGEST_FILE + 1)), (0, 1));
        assert_eq!(findings("a/tests/x.rs", LONGEST_FILE + 1), 0);
        let golden = |extension: &str, lines| findings(&format!("hidp-build/tests/cases/emit/x.{extension}"), lines);
        assert_eq!(["cpp", "cu", "expected"].map(|extension| golden(extension, LONGEST_GOLDEN)), [0; 3]);
        assert_eq!(["cpp", "cu", "expected"].map(|extension| golden(extension, LONGEST_GOLDEN + 1)), [1; 3]);
        assert_eq!(golden("hdp", LONGEST_GOLDEN + 1), 0);
    }
}
