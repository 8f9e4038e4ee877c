//! Sequences in FASTA form.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

/// A sequence and what its file says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) title: String,
    pub(crate) letters: Vec<u8>,
}

impl Record {
    /// The only sequence of a file.
    pub(crate) fn read(path: &Path) -> Result<Record> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        parse(&text).with_context(|| format!("in {}", path.display()))
    }

    /// The first word of the title.
    pub(crate) fn name(&self) -> &str {
        self.title.split_whitespace().next().unwrap_or("unnamed")
    }

    /// The letters as positions in an alphabet.
    pub(crate) fn codes(&self, alphabet: &[u8]) -> Result<Vec<u8>> {
        let code = |(at, letter): (usize, &u8)| {
            let found = alphabet.iter().position(|known| *known == letter.to_ascii_uppercase());
            let Some(code) = found.and_then(|found| u8::try_from(found).ok()) else {
                let (name, place) = (self.name(), at + 1);
                let letter = char::from(*letter).escape_default();
                bail!(
                    "sequence `{name}`, position {place}: `{letter}` is none of {}",
                    String::from_utf8_lossy(alphabet)
                );
            };
            Ok(code)
        };
        self.letters.iter().enumerate().map(code).collect()
    }
}

fn parse(text: &str) -> Result<Record> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let title =
        lines.next().and_then(|line| line.strip_prefix('>')).context("the first line is no title: `>name …`")?;
    let mut letters = Vec::new();
    for line in lines {
        ensure!(!line.starts_with('>'), "a second sequence begins: `{line}`");
        letters.extend(line.bytes().filter(|letter| !letter.is_ascii_whitespace()));
    }
    Ok(Record { title: title.trim().to_owned(), letters })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined() {
        let record = parse("> a b\nMK\n\nvl v\r\n").unwrap();
        assert_eq!((record.name(), &record.letters[..]), ("a", &b"MKvlv"[..]));
        assert_eq!(record.codes(b"KLMV").unwrap(), [2, 0, 3, 1, 3]);
        assert_eq!(parse(">empty").unwrap().letters, b"");
    }

    #[test]
    fn what_is_no_sequence_is_refused() {
        assert!(parse("MKV").unwrap_err().to_string().contains("no title"));
        assert!(parse(">a\nM\n>b\nK").unwrap_err().to_string().contains("second sequence begins: `>b`"));
        let record = parse(">a\nMK1").unwrap();
        assert_eq!(record.codes(b"KM").unwrap_err().to_string(), "sequence `a`, position 3: `1` is none of KM");
    }
}
