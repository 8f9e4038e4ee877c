//! A module of the compiler uses its own tree or strictly lower layers, and nothing impure.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Finding, has_extension};

/// Layer of each module below `hidp-build/src/compiler`, as ARCHITECTURE.md lists them.
const LAYERS: &[(&str, u32)] = &[
    ("index", 0),
    ("source", 1),
    ("diag", 2),
    ("ty", 2),
    ("prim", 3),
    ("syntax", 3),
    ("ir", 4),
    ("target", 4),
    ("prove", 5),
    ("traffic", 5),
    ("check", 6),
    ("pass", 6),
    ("plan", 6),
    ("emit", 7),
    ("lower", 7),
    ("pipeline", 8),
    ("explain", 9),
];

/// What the pure compiler must not touch.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::time",
    "std::thread",
    "std::net",
    "HashMap",
    "HashSet",
    "SystemTime",
    "Instant::",
];

pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let root = Path::new("hidp-build/src/compiler");
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| f.starts_with(root) && has_extension(f, &["rs"])) {
        let relative = file.strip_prefix(root).expect("filtered by prefix");
        let text = fs::read_to_string(file)?;
        let code = without_tests(&text);
        check_purity(file, code, &mut findings);
        check_uses(file, &module_of(relative), code, &mut findings);
    }
    Ok(findings)
}

/// Tests may read files and look upwards; they stand last in a module.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

/// `syntax/parser/stmt.rs` and `syntax.rs` belong to `syntax`.
fn module_of(relative: &Path) -> String {
    let first = relative.iter().next().unwrap_or_default().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

fn layer(module: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer)
}

fn check_purity(file: &Path, code: &str, findings: &mut Vec<Finding>) {
    for (number, line) in code.lines().enumerate() {
        let statement = line.split("//").next().unwrap_or(line);
        if let Some(word) = IMPURE.iter().find(|word| statement.contains(**word)) {
            findings.push(Finding::new(file, number + 1, format!("the compiler is pure, but this names `{word}`")));
        }
    }
}

fn check_uses(file: &Path, module: &str, code: &str, findings: &mut Vec<Finding>) {
    if module == "mod" {
        return;
    }
    let Some(own) = layer(module) else {
        findings.push(Finding::new(file, 1, format!("module `{module}` has no layer in xtask/src/tidy/layers.rs")));
        return;
    };
    for (number, line) in code.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for used in line.split("crate::compiler::").skip(1) {
            let name: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let allowed = name.is_empty() || name == module || layer(&name).is_some_and(|other| other < own);
            if !allowed {
                let message = format!("`{module}` (layer {own}) uses `{name}`, which is not in a lower layer");
                findings.push(Finding::new(file, number + 1, message));
            }
        }
    }
}
