//! `EDGE_CASES.md` names tests that exist.

use std::fs;
use std::path::Path;

/// Files and functions in backticks: `path`, `path::function`, and `::function` of the file before it.
fn named(text: &str) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let mut file = String::new();
        for word in line.split('`').skip(1).step_by(2) {
            let (path, function) =
                word.split_once("::").map_or((word, None), |(path, function)| (path, Some(function)));
            if path.ends_with(".hdp") || path.ends_with(".rs") {
                file = path.into();
            } else if !path.is_empty() {
                continue;
            }
            found.push((file.clone(), function.map(Into::into)));
        }
    }
    found
}

fn text_of(file: &str) -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    fs::read_to_string(tests)
        .or_else(|_| fs::read_to_string(workspace))
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn every_test_that_is_named_exists() {
    let named = named(include_str!("../EDGE_CASES.md"));
    assert!(named.len() > 60, "only {} are named", named.len());
    for (file, function) in named {
        let text = text_of(&file);
        let Some(function) = function else { continue };
        let declares = |line: &str| {
            let line = line.trim_start();
            if file.ends_with(".rs") {
                line.starts_with(&format!("fn {function}("))
            } else {
                line.split_whitespace().next() == Some("function")
                    && line.split_whitespace().any(|word| word == function)
            }
        };
        assert!(text.lines().any(declares), "{file} has no `{function}`");
    }
}
