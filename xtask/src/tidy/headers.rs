//! Every header of the run time compiles alone, and includes no header of a higher execution level.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Finding, has_extension};

/// Execution levels from the lowest; `<level>_<primitive>.hpp` may include its own and lower ones.
const LEVELS: &[&str] = &["thread", "simd", "team"];

pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for header in files.iter().filter(|f| has_extension(f, &["hpp"])) {
        let text = fs::read_to_string(header)?;
        check_levels(header, &text, &mut findings);
        check_alone(header, &mut findings)?;
    }
    Ok(findings)
}

fn level_of(name: &str) -> Option<usize> {
    LEVELS.iter().position(|level| name.strip_prefix(level).is_some_and(|rest| rest.starts_with('_')))
}

fn check_levels(header: &Path, text: &str, findings: &mut Vec<Finding>) {
    let own = header.file_name().and_then(|n| n.to_str()).and_then(level_of);
    let Some(own) = own else { return };
    for (number, line) in text.lines().enumerate() {
        let Some(target) = line.trim().strip_prefix("#include") else { continue };
        let name = target.trim_matches([' ', '"', '<', '>']).rsplit('/').next().unwrap_or_default();
        if level_of(name).is_some_and(|level| level > own) {
            findings.push(Finding::new(header, number + 1, format!("includes `{name}`, of a higher level")));
        }
    }
}

fn check_alone(header: &Path, findings: &mut Vec<Finding>) -> Result<()> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let output = Command::new(&compiler)
        .args(["-std=c++17", "-fsyntax-only", "-fopenmp", "-Wall", "-Wextra", "-Werror", "-DHIDP_ISA=base"])
        .args(["-I", "hidp-std/include", "-I", "hidp-sys/include", "-include"])
        .arg(header)
        .args(["-x", "c++", "/dev/null"])
        .output()
        .with_context(|| format!("cannot start the C++ compiler `{compiler}`"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let first = text.lines().find(|line| line.contains("error")).unwrap_or("does not compile").to_owned();
        findings.push(Finding::new(header, 1, format!("does not compile alone: {first}")));
    }
    Ok(())
}
