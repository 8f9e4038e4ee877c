//! What users compile on every clean build grows only knowingly.
//!
//! Time would be measured on a busy machine; code is counted instead, in words, literals and signs, without comments and tests.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Finding, layers, rust};

/// The size of `hidp-build` and the crates below it when their build time was last reviewed.
const KNOWN: usize = 1_085_000;

/// By how many hundredths the size may differ from that.
const SLACK: usize = 15;

pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let mut sizes = Vec::new();
    for folder in layers::folders() {
        let sources = rust::read_crate(folder, files)?;
        sizes.push((folder, sources.iter().map(|(_, source)| source.size()).sum()));
    }
    let message = judge(KNOWN, sizes.iter().map(|(_, size)| size).sum());
    let parts = || sizes.iter().map(|(folder, size)| format!("\n  {size:7} {}", folder.display())).collect::<String>();
    let finding = |text: String| Finding::new(Path::new(file!()), 1, text + &parts());
    Ok(message.map(finding).into_iter().collect())
}

/// What is wrong with a size, given the one that is known.
fn judge(known: usize, size: usize) -> Option<String> {
    let word = if size * 100 > known * (100 + SLACK) {
        "more"
    } else if size * (100 + SLACK) < known * 100 {
        "less"
    } else {
        return None;
    };
    Some(format!(
        "users compile {size} tokens with `hidp-build`, which is more than {SLACK} % {word} than the {known} that are known here: \
         see \"What users compile\" in CONTRIBUTING.md"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_and_stale_numbers_are_found() {
        assert_eq!(judge(1000, 1000), None);
        assert_eq!((judge(1000, 1150), judge(1150, 1000)), (None, None));
        assert!(judge(1000, 1151).unwrap().contains("more than 15 % more than the 1000"));
        assert!(judge(1151, 1000).unwrap().contains("more than 15 % less than the 1151"));
    }
}
