//! Files of records.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::subset::{self, Table, Value};
use crate::rt::entry::Record;

/// The layout that this version reads and writes.
pub(crate) const FORMAT: i64 = 1;

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
        let document = subset::read(text).map_err(|error| format!("line {}: {}", error.line, error.message))?;
        match document.root.get("format") {
            Some(Value::Int(FORMAT)) => {}
            _ => return Err(format!("this version reads `format = {FORMAT}`")),
        }
        let mut file = TuneFile { path: path.to_owned(), records: Vec::new() };
        for (name, table) in &document.tables {
            if name != "record" {
                log::warn!("`{path}`: a table `{name}` is ignored");
                continue;
            }
            match record(table) {
                Ok(record) => file.records.push(record),
                Err(key) => log::warn!("`{path}`: a record is ignored, as its `{key}` is missing or has another type"),
            }
        }
        Ok(file)
    }
}

fn record(table: &Table) -> Result<(String, Record), &'static str> {
    let text = |key: &'static str| match table.get(key) {
        Some(Value::Text(text)) => Ok(&*String::leak(text.clone())),
        _ => Err(key),
    };
    let threads = match table.get("threads") {
        Some(Value::Int(threads)) => u32::try_from(*threads).map_err(|_| "threads")?,
        _ => return Err("threads"),
    };
    let record = Record {
        source: text("source")?,
        device: text("device")?,
        architecture: text("architecture")?,
        vendor: text("vendor")?,
        isa: text("isa")?,
        threads,
        toolchain: text("toolchain")?,
        host: if table.contains_key("host") { text("host")? } else { "" },
        rules: text("rules")?,
    };
    Ok((text("entry")?.to_owned(), record))
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
    }

    #[test]
    fn malformed_files_and_records_are_left_out() {
        assert_eq!(
            TuneFile::read("f", "format = 1\nnonsense").unwrap_err(),
            "line 2: expected `key = value` or a header"
        );
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
        assert!(TuneFile::load(Path::new("there/is/no such file")).records.is_empty());
    }
}
