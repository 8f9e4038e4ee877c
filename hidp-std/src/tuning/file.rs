//! Files of records.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::rt::entry::Record;

/// The layout that this version reads and writes.
pub(crate) const FORMAT: u32 = 1;

/// Records by the names of their entries.
#[derive(Debug, Default)]
pub(crate) struct TuneFile {
    /// Where they come from, for messages.
    pub(crate) path: String,
    pub(crate) records: Vec<(String, Record)>,
}

impl TuneFile {
    /// Reads a file, once in the life of the program. What is wrong with it is logged, and the file (or the record) ignored.
    pub(crate) fn load(path: &Path) -> &'static TuneFile {
        static LOADED: Mutex<BTreeMap<String, &'static TuneFile>> = Mutex::new(BTreeMap::new());
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let path = path.display().to_string();
        loaded.entry(path.clone()).or_insert_with(|| {
            let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
            let file = text.and_then(|text| TuneFile::read(&path, &text)).unwrap_or_else(|reason| {
                log::warn!("tuning records of `{path}` are ignored: {reason}");
                TuneFile { path, records: Vec::new() }
            });
            Box::leak(Box::new(file))
        })
    }

    /// Reads the text of a file. A record that lacks something is logged and left out.
    pub(crate) fn read(path: &str, text: &str) -> Result<TuneFile, String> {
        let parsed = DeTable::parse(text);
        let document =
            parsed.map_err(|error| said(text, error.span().map_or(0, |span| span.start), error.message()))?;
        if document.get_ref().get("format").and_then(|value| natural(value.get_ref())) != Some(FORMAT) {
            return Err(format!("this version reads `format = {FORMAT}`"));
        }
        let mut file = TuneFile { path: path.to_owned(), records: Vec::new() };
        for (key, value) in document.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("format", _) => {}
                ("record", DeValue::Array(records)) => {
                    file.records.extend(records.iter().filter_map(|record| logged(path, Row::record(text, record))));
                }
                ("record", _) => file.records.extend(logged(path, Row::record(text, value))),
                (other, _) => {
                    let reason = format!("`{other}` is not known");
                    log::warn!("`{path}`: ignored: {}", said(text, key.span().start, &reason));
                }
            }
        }
        Ok(file)
    }
}

/// A record of a file, if it is one.
fn logged<T>(path: &str, record: Result<T, String>) -> Option<T> {
    record.inspect_err(|reason| log::warn!("`{path}`: a record is ignored: {reason}")).ok()
}

/// A table that should be a record.
struct Row<'r> {
    text: &'r str,
    start: usize,
    values: &'r DeTable<'r>,
}

impl<'r> Row<'r> {
    fn record(text: &'r str, row: &'r Spanned<DeValue<'r>>) -> Result<(String, Record), String> {
        const KEYS: [&str; 11] = [
            "entry",
            "source",
            "device",
            "architecture",
            "vendor",
            "isa",
            "threads",
            "toolchain",
            "host",
            "rules",
            "versions",
        ];
        let start = row.span().start;
        let values = row.get_ref().as_table().ok_or_else(|| said(text, start, "`record` is not a table"))?;
        if let Some(key) = values.keys().find(|key| !KEYS.contains(&key.get_ref().as_ref())) {
            return Err(said(text, key.span().start, &format!("`{}` is not known", key.get_ref())));
        }
        let row = Row { text, start, values };
        let leaked = |key| row.string(key).map(|text| &*String::leak(text.to_owned()));
        let record = Record {
            source: leaked("source")?,
            device: leaked("device")?,
            architecture: leaked("architecture")?,
            vendor: leaked("vendor")?,
            isa: leaked("isa")?,
            threads: row.take("threads", "a number of at most 32 bits", natural)?,
            toolchain: leaked("toolchain")?,
            host: if values.contains_key("host") { leaked("host")? } else { "" },
            rules: leaked("rules")?,
            versions: if values.contains_key("versions") { leaked("versions")? } else { "" },
        };
        Ok((row.string("entry")?.to_owned(), record))
    }

    fn string(&self, key: &str) -> Result<&'r str, String> {
        self.take(key, "a string", DeValue::as_str)
    }

    fn take<T>(&self, key: &str, expected: &str, of: impl FnOnce(&'r DeValue<'r>) -> Option<T>) -> Result<T, String> {
        let Some(value) = self.values.get(key) else {
            return Err(said(self.text, self.start, &format!("`{key}` is missing: expected {expected}")));
        };
        let other = || said(self.text, value.span().start, &format!("`{key}` is not {expected}"));
        of(value.get_ref()).ok_or_else(other)
    }
}

/// What is wrong at a byte of a text.
fn said(text: &str, at: usize, what: &str) -> String {
    let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    format!("line {line}: {what}")
}

fn natural(value: &DeValue<'_>) -> Option<u32> {
    let number = value.as_integer()?;
    u32::from_str_radix(number.as_str(), number.radix()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "format = 1\n[[record]]\nentry = \"a::b\"\nsource = \"1f\"\ndevice = \"d\"\narchitecture = \"a\"\n\
                          vendor = \"v\"\nisa = \"v3\"\nthreads = 2\ntoolchain = \"t\"\nrules = \"otherwise: team\"\n";

    #[test]
    fn records_are_read() {
        let file = TuneFile::read("f", RECORD).unwrap();
        let [(entry, record)] = &file.records[..] else { panic!("{file:?}") };
        assert_eq!((entry.as_str(), record.source, record.threads), ("a::b", "1f", 2));
        assert_eq!((record.device, record.isa, record.rules), ("d", "v3", "otherwise: team"));
        let named = TuneFile::read("f", &format!("{RECORD}versions = \"team a1\"\n")).unwrap();
        assert_eq!((record.versions, named.records[0].1.versions), ("", "team a1"));
        assert_eq!(TuneFile::read("f", &RECORD.replace("[[record]]", "[record]")).unwrap().records.len(), 1);
    }

    #[test]
    fn malformed_files_and_records_are_left_out() {
        assert_eq!(TuneFile::read("f", "format = 1\nnonsense").unwrap_err(), "line 2: key with no value, expected `=`");
        assert_eq!(TuneFile::read("f", "").unwrap_err(), "this version reads `format = 1`");
        assert!(TuneFile::read("f", &RECORD.replace("format = 1", "format = 2")).is_err());
        for line in RECORD.lines().skip(2) {
            let without = RECORD.replace(&format!("{line}\n"), "");
            assert!(TuneFile::read("f", &without).unwrap().records.is_empty(), "{line}");
        }
        for threads in ["-1", "\"2\"", "5000000000"] {
            let text = RECORD.replace("threads = 2", &format!("threads = {threads}"));
            assert!(TuneFile::read("f", &text).unwrap().records.is_empty(), "{threads}");
        }
        for value in ["1", "[1, {}]"] {
            let text = format!("format = 1\nrecord = {value}\n");
            assert!(TuneFile::read("f", &text).unwrap().records.is_empty(), "{value}");
        }
        assert!(TuneFile::load(Path::new("there/is/no such file")).records.is_empty());
    }
}
