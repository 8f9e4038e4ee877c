//! Doc examples that would never run: those of packages with `doctest = false`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Finding;

/// Finds them.
pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for manifest in files.iter().filter(|file| file.ends_with("Cargo.toml")) {
        if !fs::read_to_string(manifest)?.lines().any(|line| line == "doctest = false") {
            continue;
        }
        let sources = manifest.with_file_name("src");
        for file in
            files.iter().filter(|file| file.starts_with(&sources) && file.extension().is_some_and(|e| e == "rs"))
        {
            findings.extend(of_file(file, &fs::read_to_string(file)?));
        }
    }
    Ok(findings)
}

fn of_file(file: &Path, text: &str) -> Vec<Finding> {
    let mut inside = false;
    let mut findings = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//!").or_else(|| line.trim_start().strip_prefix("///"));
        let Some(language) = comment.and_then(|comment| comment.trim().strip_prefix("```")) else { continue };
        inside = !inside;
        if inside && !["text", "toml"].contains(&language) {
            findings.push(Finding::new(
                file,
                at + 1,
                "this package runs no examples of its documentation: say ```text",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_that_would_run_are_found() {
        let lines = |text: &str| of_file(Path::new("a.rs"), text).iter().map(|f| f.line).collect::<Vec<_>>();
        assert_eq!(lines("//! What.\n//! ```text\n//! a\n//! ```\n//! ```\n//! f();\n//! ```\nfn f() {}\n"), [5]);
        assert_eq!(lines("    /// ```rust\n    /// f();\n    /// ```\n// ```\n"), [1]);
    }

    /// Packages without and with examples that run, each with one: that of the first alone is found, and only in its sources.
    #[test]
    fn packages_say_whether_their_examples_run() {
        let root = std::env::temp_dir().join(format!("hidp-tidy-examples-{}", std::process::id()));
        let example = "//! ```\n//! f();\n//! ```\n";
        let texts = [
            ("off/Cargo.toml", "[package]\nname = \"off\"\n\n[lib]\ndoctest = false\n"),
            ("off/src/deep/a.rs", example),
            ("off/src/a.txt", example),
            ("off/tests/a.rs", example),
            ("on/Cargo.toml", "[package]\nname = \"on\" # not doctest = false\n"),
            ("on/src/lib.rs", example),
        ];
        let files = texts.map(|(name, _)| root.join(name));
        for (file, (_, text)) in files.iter().zip(texts) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let found = check(&files).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found.iter().map(|finding| (&finding.file, finding.line)).collect::<Vec<_>>(), [(&files[1], 1)]);
        assert!(check(&[root.join("gone/Cargo.toml")]).is_err());
    }
}
