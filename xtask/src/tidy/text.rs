//! Rules about text: sizes of files, unfinished places, whitespace.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Finding, has_extension};

/// A longer source file has a seam somewhere.
const LONGEST_FILE: usize = 600;

/// Words that stand for work left undone. Assembled here so that this file passes its own rule.
fn unfinished() -> [String; 4] {
    [["to", "do!"].concat(), ["unimple", "mented!"].concat(), ["FIX", "ME"].concat(), ["XX", "X"].concat()]
}

pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let unfinished = unfinished();
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| has_extension(f, &["rs", "hpp", "h", "cpp", "cu", "cuh", "hdp", "md", "toml"]))
    {
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
    let is_code = has_extension(file, &["rs", "hpp", "h", "cpp", "cu", "cuh"]);
    let is_test = file.components().any(|part| part.as_os_str() == "tests");
    let is_generated = file.file_name().is_some_and(|name| name == "bindings.rs")
        || text.lines().take(4).any(|line| line.contains("Made by `xtask/"));
    if is_code && !is_test && !is_generated && lines > LONGEST_FILE {
        findings.push(Finding::new(file, lines, format!("{lines} lines; split it where it has a seam")));
    }
}
