//! Tuning records, as far as a build reads them: it embeds those whose stamp matches the entry. The run time reads their rules.

use crate::target::document::{DocumentError, Table, parse};

/// The layout that this version reads.
const FORMAT: u32 = 1;

/// A record of a tuning file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// `file::function`
    pub entry: String,
    /// [`super::Dispatch::source`] of the entry that was measured.
    pub source: String,
    /// Where and how it was measured: the other texts by name.
    pub texts: [(&'static str, String); 8],
    /// The number of threads.
    pub threads: u32,
}

/// Texts of a record besides its entry and source.
const TEXTS: [&str; 8] = ["device", "architecture", "vendor", "isa", "toolchain", HOST, "rules", VERSIONS];
/// The text that only records of devices have.
const HOST: &str = "host";
/// The versions that the rules name, each with its hash; a record may be without.
const VERSIONS: &str = "versions";

impl Record {
    /// Whether it is for versions for devices.
    pub fn is_for_devices(&self) -> bool {
        self.text("isa") == "cuda"
    }
    fn text(&self, key: &str) -> &str {
        self.texts.iter().find(|(known, _)| *known == key).map_or("", |(_, value)| value)
    }
    /// Whether it was measured with this code: with all of the entry's, or with that of the versions that it names.
    pub fn holds(&self, source: &str, versions: &[String]) -> bool {
        let named = self.text(VERSIONS);
        let unchanged = |version: &str| versions.iter().any(|known| known == version);
        self.source == source || (!named.is_empty() && named.split(", ").all(unchanged))
    }
}

/// Reads a tuning file. Beside the records, says what in it is ignored and why.
pub fn read_records(text: &str) -> (Vec<Record>, Vec<String>) {
    let document = match parse(text) {
        Ok(document) => document,
        Err(error) => return (Vec::new(), vec![format!("all of it: {error}")]),
    };
    let root = Table::root(text, &document);
    if root.natural("format") != Ok(FORMAT) {
        return (Vec::new(), vec![format!("all of it: this version reads `format = {FORMAT}`")]);
    }
    let (mut records, mut ignored) = (Vec::new(), Vec::new());
    for (name, _) in root.entries() {
        match name {
            "format" => {}
            "record" if root.tables(name).is_empty() => ignored.push(root.wrong(name, "is not a table").to_string()),
            "record" => {}
            other => ignored.push(root.wrong(other, "is not known").to_string()),
        }
    }
    for table in root.tables("record") {
        match record(table) {
            Ok(record) => records.push(record),
            Err(error) => ignored.push(format!("a record: {error}")),
        }
    }
    (records, ignored)
}

fn record(table: Table<'_>) -> Result<Record, DocumentError> {
    let known = |key: &str| TEXTS.contains(&key) || ["entry", "source", "threads"].contains(&key);
    if let Some((key, _)) = table.entries().find(|(key, _)| !known(key)) {
        return Err(table.wrong(key, "is not known"));
    }
    let mut texts = TEXTS.map(|key| (key, String::new()));
    for (key, value) in
        texts.iter_mut().filter(|(key, _)| ![HOST, VERSIONS].contains(key) || table.value(key).is_some())
    {
        *value = table.text(key)?.to_owned();
    }
    let text = |key| table.text(key).map(str::to_owned);
    Ok(Record { entry: text("entry")?, source: text("source")?, texts, threads: table.natural("threads")? })
}

/// A hash that is the same on every machine: FNV-1a in 16 digits.
pub fn stable_hash(text: impl AsRef<[u8]>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in text.as_ref() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "format = 1\n[[record]]\nentry = \"a::b\"\nsource = \"1f\"\ndevice = \"d\"\narchitecture = \"a\"\n\
                          vendor = \"v\"\nisa = \"v3\"\nthreads = 2\ntoolchain = \"t\"\nrules = \"otherwise: team\"\n";

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let (records, ignored) = read_records(RECORD);
        assert_eq!((records.len(), ignored.len()), (1, 0));
        assert_eq!((records[0].entry.as_str(), records[0].threads, records[0].is_for_devices()), ("a::b", 2, false));
        let (records, ignored) = read_records(&RECORD.replace("\"v3\"", "\"cuda\"\nhost = \"h\""));
        assert!(records[0].is_for_devices() && records[0].texts.contains(&(HOST, "h".into())), "{ignored:?}");
        assert!(records[0].holds("1f", &[]) && !records[0].holds("2f", &[]), "no versions are named");
        let (records, _) = read_records(&format!("{RECORD}versions = \"rows a1, team b2\"\n"));
        let holds =
            |versions: &[&str]| records[0].holds("2f", &versions.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(holds(&["rows a1", "serial c3", "team b2"]) && !holds(&["rows a1", "team b3"]) && !holds(&["rows a1"]));
        let ignored = |text: &str| {
            let (records, ignored) = read_records(text);
            assert!(records.is_empty());
            ignored.join("\n")
        };
        assert_eq!(ignored("a = 1"), "all of it: this version reads `format = 1`");
        assert_eq!(ignored("format = 1\na"), "all of it: line 2: key with no value, expected `=`");
        assert_eq!(ignored(&RECORD.replace("[[record]]", "[other]")), "line 2: `other` is not known");
        for value in ["1", "[1, {}]"] {
            assert_eq!(ignored(&format!("format = 1\nrecord = {value}")), "line 2: `record` is not a table");
        }
        assert_eq!(ignored(&format!("{RECORD}hots = \"h\"\n")), "a record: line 12: `record.hots` is not known");
        for (at, line) in RECORD.lines().enumerate().skip(2) {
            let key = line.split(' ').next().unwrap();
            let expected = if key == "threads" { "a number of at most 32 bits" } else { "a string" };
            assert_eq!(
                ignored(&RECORD.replace(&format!("{line}\n"), "")),
                format!("a record: line 2: `record.{key}` is missing: expected {expected}")
            );
            assert_eq!(
                ignored(&RECORD.replace(line, &format!("{key} = true"))),
                format!("a record: line {}: `record.{key}` is not {expected}", at + 1)
            );
        }
    }

    #[test]
    fn hashes_are_those_of_the_definition() {
        assert_eq!(stable_hash(""), "cbf29ce484222325");
        assert_eq!(stable_hash("a"), "af63dc4c8601ec8c");
    }
}
