//! Whether there is room for what is about to be made. Otherwise a disk that is full is found an hour later, by a program that does not say so.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// What a folder that holds everything may still grow by: what an edit changes is made beside what it was before.
const LEAST: u64 = 500_000_000;

/// Fails if the file system has less than what a folder will need, in bytes from nothing, beyond what it holds already.
pub(crate) fn check(command: &str, folder: &Path, needed: u64) -> Result<()> {
    let there = size(folder);
    let exists = folder.ancestors().find(|folder| folder.is_dir()).context("a folder that exists")?;
    let free = fs4::available_space(exists)
        .with_context(|| format!("cannot see how much space there is in `{}`", exists.display()))?;
    let missing = missing(needed, there, free);
    ensure!(
        missing == 0,
        "no space for `{command}`: {} are missing. `{}` grows to {}; it holds {}, and its file system has {} left",
        gigabytes(missing),
        folder.display(),
        gigabytes(needed),
        gigabytes(there),
        gigabytes(free),
    );
    Ok(())
}

/// What has to be freed.
fn missing(needed: u64, there: u64, free: u64) -> u64 {
    needed.saturating_sub(there).max(LEAST).saturating_sub(free)
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// What the files of a folder hold; of one that is not there, or changes meanwhile, what can be seen.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size(&entry.path()),
        Ok(_) => entry.metadata().map_or(0, |file| file.len()),
        Err(_) => 0,
    };
    entries.map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    #[test]
    fn what_is_there_is_needed_no_more() {
        assert_eq!(missing(5 * GB, 0, 6 * GB), 0);
        assert_eq!(missing(5 * GB, 0, 3 * GB), 2 * GB);
        assert_eq!(missing(5 * GB, 4 * GB, GB), 0);
        assert_eq!(missing(5 * GB, 9 * GB, LEAST - 7), 7);
    }

    #[test]
    fn what_is_missing_is_said() {
        let sources = Path::new("src");
        assert!(size(sources) > 100_000 && size(&sources.join("none")) == 0);
        check("a command", sources, 1).unwrap();
        let error = check("a command", &sources.join("none"), u64::MAX / 2).unwrap_err().to_string();
        assert!(error.starts_with("no space for `a command`: ") && error.contains("holds 0.0 GB"), "{error}");
    }
}
