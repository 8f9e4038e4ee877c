//! Sequences in FASTA form.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// A sequence and what its file says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) title: String,
    /// Positions of the letters in the alphabet.
    pub(crate) codes: Vec<u8>,
}

/// All sequences of a file.
pub(crate) fn read(path: &Path, alphabet: &[u8]) -> Result<Vec<Record>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text, alphabet).with_context(|| format!("in {}", path.display()))
}

fn parse(text: &str, alphabet: &[u8]) -> Result<Vec<Record>> {
    let mut records: Vec<Record> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix('>') {
            records.push(Record { title: title.trim().to_owned(), codes: Vec::new() });
            continue;
        }
        let Some(record) = records.last_mut() else { bail!("the first line is no title: `>name …`") };
        for letter in line.bytes().filter(|letter| !letter.is_ascii_whitespace()) {
            let found = alphabet.iter().position(|known| *known == letter.to_ascii_uppercase());
            let Some(code) = found.and_then(|found| u8::try_from(found).ok()) else {
                let (name, place) = (record.name(), record.codes.len() + 1);
                let letter = char::from(letter).escape_default();
                bail!(
                    "sequence `{name}`, position {place}: `{letter}` is none of {}",
                    String::from_utf8_lossy(alphabet)
                );
            };
            record.codes.push(code);
        }
    }
    Ok(records)
}

impl Record {
    /// The first word of the title.
    pub(crate) fn name(&self) -> &str {
        self.title.split_whitespace().next().unwrap_or("unnamed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_told_apart() {
        let records = parse(">a first\nAC\ngt\n>b\n\n>c\nT", b"ACGT").unwrap();
        let codes: Vec<(&str, &[u8])> = records.iter().map(|record| (record.name(), &record.codes[..])).collect();
        assert_eq!(codes, [("a", &[0, 1, 2, 3][..]), ("b", &[]), ("c", &[3])]);
    }

    #[test]
    fn what_is_no_sequence_is_refused() {
        let error = |text: &str| parse(text, b"ACGT").unwrap_err().to_string();
        assert!(error("ACGT").contains("no title"));
        assert_eq!(error(">a\nAC\nGN"), "sequence `a`, position 4: `N` is none of ACGT");
    }
}
