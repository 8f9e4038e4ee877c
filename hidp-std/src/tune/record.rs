//! The file of records, as the tuner changes it.

use std::fs;
use std::path::{Path, PathBuf};

use toml_writer::ToTomlValue;

use super::cannot_write;
use crate::Context;
use crate::rt::entry::{Entry, Record};
use crate::tuning::{Device, FORMAT, TuneFile, Tuning, named, parse, print, processor, tuned};

/// Rules to record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) rules: String,
    /// Whether calls on the processor were compared with calls on the device.
    pub(super) places: bool,
}

/// The record of an entry in a context. The few of a run stay as long as the program runs.
fn record(entry: &Entry, cx: &Context, Recorded { rules, places }: Recorded) -> Record {
    let leak = |text: String| -> &'static str { String::leak(text) };
    let versions = parse(entry, &rules).ok().and_then(|rules| named(entry, &rules)).unwrap_or_default();
    let usual = |device: Device| Record {
        source: entry.dispatch.source,
        device: leak(device.name),
        architecture: leak(device.architecture),
        vendor: leak(device.vendor),
        isa: cx.isa().name(),
        threads: cx.threads(),
        toolchain: entry.dispatch.toolchain,
        host: if places { leak(processor(cx)) } else { "" },
        rules: leak(rules),
        versions: leak(versions.join(", ")),
    };
    match cx.queue() {
        None => usual(Device::this().clone()),
        Some(queue) => Record {
            source: entry.dispatch.device_source,
            isa: Record::CUDA,
            threads: queue.facts().threads(),
            toolchain: entry.dispatch.device_toolchain,
            ..usual(Device::of(queue.facts()))
        },
    }
}

/// The context with these rules for an entry.
pub(super) fn with_rules(entry: &'static Entry, cx: &Context, rules: &str) -> Context {
    let record = record(entry, cx, Recorded { rules: rules.to_owned(), places: false });
    let file = TuneFile { path: "the tuner".into(), records: vec![(entry.name.to_owned(), record)] };
    cx.with_tuning(Tuning::File(Box::leak(Box::new(file))))
}

/// Makes tuning records of what calls of a context have learnt, for the processor: see [`Select`](crate::Select) and [`Context::selections`].
/// Rules that were measured before stay behind them. Says how many entries have a record by this.
///
/// # Errors
/// A message if the file cannot be read or written, or there are no threads for a context of the processor.
pub fn record_selections(cx: &Context, file: impl AsRef<Path>) -> Result<usize, String> {
    let mut learnt: Vec<(&'static Entry, Vec<String>)> = Vec::new();
    for selection in cx.selections() {
        let entry = selection.table();
        match learnt.last_mut() {
            Some((last, rules)) if std::ptr::eq(*last, entry) => rules.push(selection.rule()),
            Some(_) | None => learnt.push((entry, vec![selection.rule()])),
        }
    }
    if learnt.is_empty() {
        return Ok(0);
    }
    let processor = cx.on_processor().map_err(|error| error.to_string())?;
    let mut records = File::open(file.as_ref())?;
    for (entry, rules) in &learnt {
        let before = tuned(cx, entry, false).map(|tuned| print(entry, &tuned.rules));
        let rules = rules.iter().cloned().chain(before).collect::<Vec<_>>().join("; ");
        records.put(entry, &processor, Some(Recorded { rules, places: false }))?;
    }
    Ok(learnt.len())
}

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

    /// Replaces what is known of an entry on this processor, or this device; without rules the compiler's own will decide.
    pub(super) fn put(&mut self, entry: &Entry, cx: &Context, rules: Option<Recorded>) -> Result<(), String> {
        let own = record(entry, cx, rules.clone().unwrap_or_default());
        let same = |known: &str, record: &Record| {
            known == entry.name && (record.device, record.isa, record.threads) == (own.device, own.isa, own.threads)
        };
        self.records.retain(|(known, record)| !same(known, record));
        if rules.is_some() {
            self.records.push((entry.name.to_owned(), own));
        }
        self.records.sort_by(|a, b| a.0.cmp(&b.0));
        fs::write(&self.path, self.text()).map_err(|error| cannot_write(&self.path, &error))
    }

    fn text(&self) -> String {
        let mut text = format!("# Tuning records, written by the tuner. Commit them.\nformat = {FORMAT}\n");
        for (entry, record) in &self.records {
            let Record { source, device, architecture, vendor, isa, threads, toolchain, host, rules, versions } =
                record;
            text.push_str("\n[[record]]\n");
            let mut put = |key: &str, value: String| text.push_str(&format!("{key} = {value}\n"));
            put("entry", entry.to_toml_value());
            put("source", source.to_toml_value());
            put("device", device.to_toml_value());
            put("architecture", architecture.to_toml_value());
            put("vendor", vendor.to_toml_value());
            put("isa", isa.to_toml_value());
            put("threads", threads.to_toml_value());
            put("toolchain", toolchain.to_toml_value());
            if !host.is_empty() {
                put("host", host.to_toml_value());
            }
            put("rules", rules.to_toml_value());
            if !versions.is_empty() {
                put("versions", versions.to_toml_value());
            }
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
        let put = |cx: &Context, rules: Option<&str>| {
            let rules = rules.map(|rules| Recorded { rules: rules.into(), places: false });
            File::open(&path).unwrap().put(&SUMS, cx, rules).unwrap();
        };
        put(&cx, Some("otherwise: team"));
        put(&other, Some("parallel < 4: team; otherwise: rows"));
        assert_eq!(rules(&path), ["otherwise: team", "parallel < 4: team; otherwise: rows"]);
        put(&cx, Some("otherwise: rows"));
        assert_eq!(rules(&path), ["parallel < 4: team; otherwise: rows", "otherwise: rows"]);
        put(&cx, None);
        assert_eq!(rules(&path), ["parallel < 4: team; otherwise: rows"]);
        assert_eq!(File::open(&path).unwrap().records[0].1.versions, "team b2, rows a1");
        let mut file = File::open(&path).unwrap();
        let strange = "a \"b\" \\ c";
        file.records[0].1.device = strange;
        fs::write(&path, file.text()).unwrap();
        assert_eq!(File::open(&path).unwrap().records[0].1.device, strange);
        fs::write(&path, "nonsense").unwrap();
        assert!(File::open(&path).is_err());
        fs::remove_file(path).unwrap();
    }
}
