//! What has been measured, a line a chunk of samples, in a file that is only added to.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::{Context, Result};

/// Samples of a function that lie together, and the largest error among them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chunk {
    pub(super) name: String,
    pub(super) width: String,
    pub(super) from: u64,
    pub(super) count: u64,
    pub(super) error: f64,
    pub(super) at: String,
}

impl Chunk {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let mut word = || words.next();
        let (name, width) = (word()?.to_owned(), word()?.to_owned());
        let (from, count) = (word()?.parse().ok()?, word()?.parse().ok()?);
        let error = word()?.parse().ok()?;
        Some(Self { name, width, from, count, error, at: word()?.to_owned() })
    }

    fn line(&self) -> String {
        format!("{} {} {} {} {} {}\n", self.name, self.width, self.from, self.count, self.error, self.at)
    }
}

pub(super) struct Progress {
    chunks: BTreeMap<(String, String), Vec<Chunk>>,
    file: File,
}

impl Progress {
    /// Reads what is there. A last line that is not whole is of a command that was stopped, and forgotten.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let whole = &text[..text.rfind('\n').map_or(0, |at| at + 1)];
        if whole.len() < text.len() {
            fs::write(path, whole)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut progress = Self { chunks: BTreeMap::new(), file };
        for line in whole.lines() {
            let chunk = Chunk::parse(line).with_context(|| format!("{}: `{line}` is no chunk", path.display()))?;
            progress.keep(chunk);
        }
        Ok(progress)
    }

    fn keep(&mut self, chunk: Chunk) {
        self.chunks.entry((chunk.name.clone(), chunk.width.clone())).or_default().push(chunk);
    }

    pub(super) fn add(&mut self, chunk: Chunk) -> Result<()> {
        self.file.write_all(chunk.line().as_bytes())?;
        self.file.flush()?;
        self.keep(chunk);
        Ok(())
    }

    fn of(&self, name: &str, width: &str) -> &[Chunk] {
        self.chunks.get(&(name.to_owned(), width.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// The first sample that has not been looked at.
    pub(super) fn next(&self, name: &str, width: &str) -> Option<u64> {
        Some(self.of(name, width).last().map_or(0, |chunk| chunk.from + chunk.count))
    }

    /// The largest error so far, and of how many samples.
    pub(super) fn worst(&self, name: &str, width: &str) -> (f64, u64) {
        let of = self.of(name, width);
        (of.iter().map(|chunk| chunk.error).fold(0.0, f64::max), of.iter().map(|chunk| chunk.count).sum())
    }

    /// A chunk with an error above the bound.
    pub(super) fn beyond(&self, bound: f64) -> Option<&Chunk> {
        self.chunks.values().flatten().find(|chunk| chunk.error > bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_command_goes_on() {
        let path = std::env::temp_dir().join(format!("hidp-maths-progress-{}", std::process::id()));
        let chunk = |from, error| Chunk {
            name: "exp".into(),
            width: "float".into(),
            from,
            count: 8,
            error,
            at: "0x1p+0 0x0p+0 0x1p+1".into(),
        };
        let mut progress = Progress::open(&path).unwrap();
        assert_eq!(progress.next("exp", "float"), Some(0));
        progress.add(chunk(0, 0.75)).unwrap();
        progress.add(chunk(8, 0.5)).unwrap();
        fs::write(&path, fs::read_to_string(&path).unwrap() + "exp float 16").unwrap();
        let mut again = Progress::open(&path).unwrap();
        assert_eq!((again.next("exp", "float"), again.next("exp", "double")), (Some(16), Some(0)));
        assert_eq!((again.worst("exp", "float"), again.beyond(1.0)), ((0.75, 16), None));
        again.add(chunk(16, 1.25)).unwrap();
        assert_eq!(Progress::open(&path).unwrap().beyond(1.0), Some(&chunk(16, 1.25)));
        fs::remove_file(path).unwrap();
    }
}
