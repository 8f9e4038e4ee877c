//! The run cases of the compiler's tests: every one is in the bundle.

use std::fs;
use std::path::{Path, PathBuf};

/// The line of a case whose entries have versions with every tile.
const VARIANTS: &str = "// variants";

/// All cases of a folder.
pub(crate) fn all(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("the cases are part of the repository").flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "hdp"));
    files.sort();
    files
}

/// Whether a case wants versions with every tile.
pub(crate) fn has_variants(case: &Path) -> bool {
    fs::read_to_string(case).expect("a case is text").lines().any(|line| line == VARIANTS)
}
