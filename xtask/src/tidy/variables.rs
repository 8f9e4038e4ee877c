//! `docs/environment.md` has every environment variable of ours that the crates of users read, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Finding, has_extension};

const TABLE: &str = "docs/environment.md";
const READERS: [&str; 2] = ["hidp-build", "hidp-std"];

pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let table = fs::read_to_string(TABLE)?;
    let told = names(&table, '`');
    let mut macros = BTreeSet::new();
    let mut read = BTreeSet::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| has_extension(file, &["hpp", "h", "cuh"])) {
        macros.extend(defined(&fs::read_to_string(file)?));
    }
    for file in files.iter().filter(|file| is_read_by_users(file)) {
        let named = names(&fs::read_to_string(file)?, '"');
        let untold = named.iter().filter(|name| !told.contains(*name) && !macros.contains(*name) && !is_of_tests(name));
        findings.extend(untold.map(|name| Finding::new(file, 1, format!("the variable {name} is not in {TABLE}"))));
        read.extend(named);
    }
    let unread = told.difference(&read).map(|name| Finding::new(Path::new(TABLE), 1, format!("nobody reads {name}")));
    findings.extend(unread);
    Ok(findings)
}

/// Rust of the crates that users build, their tests apart.
fn is_read_by_users(file: &Path) -> bool {
    let is_test = |part: &str| part == "tests" || part == "tests.rs";
    READERS.iter().any(|folder| file.starts_with(folder))
        && has_extension(file, &["rs"])
        && !file.iter().any(|part| part.to_str().is_some_and(is_test))
}

/// Unit tests talk to their child processes by such variables.
fn is_of_tests(name: &str) -> bool {
    name.starts_with("HIDP_TEST_")
}

/// Names of the form `HIDP_…` that stand alone between two of these quotes.
fn names(text: &str, quote: char) -> BTreeSet<String> {
    let is_name = |part: &&str| {
        part.len() > "HIDP_".len()
            && part.starts_with("HIDP_")
            && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    text.lines().flat_map(|line| line.split(quote)).filter(is_name).map(str::to_owned).collect()
}

/// Macros that a header defines.
fn defined(text: &str) -> BTreeSet<String> {
    let name = |line: &str| line.trim_start().strip_prefix("#define ")?.split(['(', ' ']).next().map(str::to_owned);
    text.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_between_quotes() {
        let found = names(
            "read(\"HIDP_A\"); print(\"HIDP_A is set, HIDP_B not\"); // HIDP_C\nconst D: &str = \"HIDP_D1\";",
            '"',
        );
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["HIDP_A", "HIDP_D1"]);
    }

    #[test]
    fn macros_are_no_variables() {
        assert_eq!(defined("#define HIDP_FUNCTION(x) x\n  #define HIDP_B 1\n").len(), 2);
    }
}
