//! Cases on disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diff;

/// One `.hdp` file.
pub(crate) struct Case {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// File name without extension.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

/// Whether goldens are rewritten.
pub(crate) fn blessing() -> bool {
    std::env::var("HIDP_BLESS").is_ok_and(|value| value == "1")
}

/// The names of all folders of cases.
pub(crate) fn folders() -> Vec<String> {
    let mut folders: Vec<String> = entries(&root())
        .into_iter()
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    folders.sort();
    folders
}

/// The cases of a kind in the order of their names, only those whose name holds `HIDP_CASE` where that is set. Files in
/// deeper folders belong to cases but are none.
pub(crate) fn of_kind(kind: &str) -> Vec<Case> {
    let wanted = std::env::var("HIDP_CASE").unwrap_or_default();
    let mut paths = entries(&root().join(kind));
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hdp"));
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&wanted)));
    paths.sort();
    paths.into_iter().map(|path| Case::read(path, kind)).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listing = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    listing.map(|entry| entry.expect("a readable folder").path()).collect()
}

impl Case {
    fn read(path: PathBuf, kind: &str) -> Case {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let header = format!("// test: {kind}");
        assert_eq!(text.lines().next(), Some(header.as_str()), "{} must begin with its header", path.display());
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Case { path, name, text }
    }

    /// Whether a comment line of the case is this.
    pub(crate) fn says(&self, what: &str) -> bool {
        self.text.lines().any(|line| line.strip_prefix("// ") == Some(what))
    }

    /// Compares with the file beside the case that has this extension, or rewrites it.
    pub(crate) fn golden(&self, extension: &str, actual: &str) -> Result<(), String> {
        golden(&self.path.with_extension(extension), actual)
    }

    /// Replaces the case itself.
    pub(crate) fn rewrite(&self, text: &str) -> Result<(), String> {
        if text == self.text { Ok(()) } else { fs::write(&self.path, text).map_err(|error| error.to_string()) }
    }
}

/// Compares a file with what it should hold, or rewrites it.
pub(crate) fn golden(path: &Path, actual: &str) -> Result<(), String> {
    let expected = fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return Ok(());
    }
    if blessing() {
        return fs::write(path, actual).map_err(|error| format!("{}: {error}", path.display()));
    }
    Err(format!("{} differs (- expected, + actual):\n{}", path.display(), diff::lines(&expected, actual)))
}
