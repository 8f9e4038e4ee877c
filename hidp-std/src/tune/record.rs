//! The file of records, as the tuner changes it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::cannot_write;
use crate::Context;
use crate::rt::entry::{Entry, Record};
use crate::tuning::{Device, FORMAT, TuneFile};

/// The file and its records.
pub(super) struct File {
    path: PathBuf,
    records: Vec<(String, Record)>,
}

impl File {
    /// Reads what is there. A file that cannot be read is not written over.
    pub(super) fn open(path: &Path) -> Result<File, String> {
        let shown = path.display().to_string();
        let records = match fs::read_to_string(path) {
            Ok(text) => TuneFile::read(&shown, &text).map_err(|error| format!("`{shown}`: {error}"))?.records,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(format!("cannot read `{shown}`: {error}")),
        };
        Ok(File { path: path.to_owned(), records })
    }

    /// Replaces what is known of an entry on this device; without rules the compiler's own will decide.
    pub(super) fn put(&mut self, entry: &Entry, cx: &Context, rules: Option<&str>) -> Result<(), String> {
        let Device { name, architecture, vendor } = Device::this();
        let (isa, threads) = (cx.isa().name(), cx.threads());
        let same = |known: &str, record: &Record| {
            known == entry.name && record.device == name && record.isa == isa && record.threads == threads
        };
        self.records.retain(|(known, record)| !same(known, record));
        if let Some(rules) = rules {
            let record = Record {
                source: entry.dispatch.source,
                device: name,
                architecture,
                vendor,
                isa,
                threads,
                toolchain: entry.dispatch.toolchain,
                rules: String::leak(rules.to_owned()),
            };
            self.records.push((entry.name.to_owned(), record));
        }
        self.records.sort_by(|a, b| a.0.cmp(&b.0));
        fs::write(&self.path, self.text()).map_err(|error| cannot_write(&self.path, &error))
    }

    fn text(&self) -> String {
        let mut text = format!("# Tuning records, written by the tuner. Commit them.\nformat = {FORMAT}\n");
        for (entry, record) in &self.records {
            let Record { source, device, architecture, vendor, isa, threads, toolchain, rules } = record;
            let _ = writeln!(text, "\n[[record]]\nentry = \"{entry}\"\nsource = \"{source}\"\ndevice = \"{device}\"");
            let _ = writeln!(text, "architecture = \"{architecture}\"\nvendor = \"{vendor}\"\nisa = \"{isa}\"");
            let _ = writeln!(text, "threads = {threads}\ntoolchain = \"{toolchain}\"\nrules = \"{rules}\"");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::testing::SUMS;

    #[test]
    fn a_record_replaces_the_one_before() {
        let path = std::env::temp_dir().join(format!("hidp-record-{}.toml", std::process::id()));
        let cx = Context::builder().threads(1).build().unwrap();
        let other = Context::builder().threads(2).build().unwrap();
        let rules =
            |path: &Path| File::open(path).unwrap().records.iter().map(|(_, record)| record.rules).collect::<Vec<_>>();
        File::open(&path).unwrap().put(&SUMS, &cx, Some("otherwise: team")).unwrap();
        File::open(&path).unwrap().put(&SUMS, &other, Some("parallel < 4: team; otherwise: rows")).unwrap();
        assert_eq!(rules(&path), ["otherwise: team", "parallel < 4: team; otherwise: rows"]);
        File::open(&path).unwrap().put(&SUMS, &cx, Some("otherwise: rows")).unwrap();
        assert_eq!(rules(&path), ["parallel < 4: team; otherwise: rows", "otherwise: rows"]);
        File::open(&path).unwrap().put(&SUMS, &cx, None).unwrap();
        assert_eq!(rules(&path), ["parallel < 4: team; otherwise: rows"]);
        fs::write(&path, "nonsense").unwrap();
        assert!(File::open(&path).is_err());
        fs::remove_file(path).unwrap();
    }
}
