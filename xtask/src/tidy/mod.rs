//! `cargo xtask tidy`: rules that no compiler checks.

mod examples;
mod growth;
mod headers;
mod layers;
mod limits;
mod models;
mod numbers;
mod rust;
mod text;
mod variables;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// One broken rule.
pub(crate) struct Finding {
    file: PathBuf,
    line: usize,
    message: String,
}

impl Finding {
    fn new(file: &Path, line: usize, message: impl Into<String>) -> Self {
        Finding { file: file.to_path_buf(), line, message: message.into() }
    }
}

/// Checks every rule and reports all that is broken.
pub(crate) fn run() -> Result<()> {
    let files = tracked_files()?;
    let mut findings = layers::check(&files)?;
    findings.extend(growth::check(&files)?);
    findings.extend(examples::check(&files)?);
    findings.extend(text::check(&files)?);
    findings.extend(headers::check(&files)?);
    findings.extend(models::check(&files)?);
    findings.extend(limits::check(&files)?);
    findings.extend(numbers::check()?);
    findings.extend(variables::check(&files)?);
    if !crate::bindings::are_current()? {
        let bindings = Path::new("hidp-sys/src/bindings.rs");
        findings.push(Finding::new(bindings, 1, "the ABI's header has changed: run `cargo xtask bindings`"));
    }
    for Finding { file, line, message } in &findings {
        eprintln!("{}:{line}: {message}", file.display());
    }
    if !findings.is_empty() {
        bail!("tidy found {} broken rules", findings.len());
    }
    eprintln!("tidy: {} files are in order", files.len());
    Ok(())
}

/// The packages that make the compiler, `hidp-build` among them.
pub(crate) fn compiler_packages() -> Vec<String> {
    layers::packages().collect()
}

/// Files that git tracks or would track, in order. A source package without git has every file below the root.
fn tracked_files() -> Result<Vec<PathBuf>> {
    let listing = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .output()
        .context("cannot start git")?;
    if !listing.status.success() {
        bail!("`git ls-files` failed: {}", String::from_utf8_lossy(&listing.stderr));
    }
    let mut files: Vec<PathBuf> = listing
        .stdout
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()))
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Whether the file's name ends in one of the extensions.
fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    file.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e))
}
