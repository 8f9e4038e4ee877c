//! Tables of TOML documents, read with errors that name line, key and what was expected.

use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// Line, from 1.
    pub line: usize,
    /// What about it.
    pub message: String,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// Line of a byte of a text, from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// Reads a document.
pub(crate) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, DocumentError> {
    DeTable::parse(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        DocumentError { line, message: error.message().to_owned() }
    })
}

/// A table of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'d> {
    text: &'d str,
    /// Its name; empty for the document itself.
    name: &'d str,
    /// Where its header is.
    start: usize,
    values: &'d DeTable<'d>,
}

impl<'d> Table<'d> {
    /// The whole document, of this text.
    pub(crate) fn root(text: &'d str, document: &'d Spanned<DeTable<'d>>) -> Table<'d> {
        Table { text, name: "", start: 0, values: document.get_ref() }
    }

    /// Its keys with their values.
    pub(crate) fn entries(self) -> impl Iterator<Item = (&'d str, &'d Spanned<DeValue<'d>>)> {
        self.values.iter().map(|(key, value)| (key.get_ref().as_ref(), value))
    }

    /// The value of a key.
    pub(crate) fn value(self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.values.get(key)
    }

    /// The tables of a name: one, or those of an array.
    pub(crate) fn tables(self, name: &str) -> Vec<Table<'d>> {
        self.values.get_key_value(name).map_or_else(Vec::new, |(key, value)| self.inner(key.get_ref(), value))
    }

    /// The tables that a value is; none if there is something else in it.
    pub(crate) fn inner(self, name: &'d str, value: &'d Spanned<DeValue<'d>>) -> Vec<Table<'d>> {
        let table = |value: &'d Spanned<DeValue<'d>>| {
            let values = value.get_ref().as_table()?;
            Some(Table { text: self.text, name, start: value.span().start, values })
        };
        let tables: Option<Vec<_>> = match value.get_ref().as_array() {
            Some(array) => array.iter().map(table).collect(),
            None => table(value).map(|table| vec![table]),
        };
        tables.unwrap_or_default()
    }

    /// A string.
    pub(crate) fn text(self, key: &str) -> Result<&'d str, DocumentError> {
        self.take(key, "a string", DeValue::as_str)
    }

    /// A number that may be 0.
    pub(crate) fn natural(self, key: &str) -> Result<u32, DocumentError> {
        self.take(key, "a number of at most 32 bits", natural)
    }

    /// Several such numbers.
    pub(crate) fn naturals(self, key: &str) -> Result<Vec<u32>, DocumentError> {
        let numbers = |value: &DeValue<'_>| value.as_array()?.iter().map(|value| natural(value.get_ref())).collect();
        self.take(key, "a list of numbers", numbers)
    }

    /// A value that `of` takes.
    pub(crate) fn take<T>(
        self,
        key: &str,
        expected: &str,
        of: impl FnOnce(&'d DeValue<'d>) -> Option<T>,
    ) -> Result<T, DocumentError> {
        let Some(value) = self.value(key) else {
            return Err(self.error(key, self.start, &format!("is missing: expected {expected}")));
        };
        let other = || self.error(key, value.span().start, &format!("is not {expected}"));
        of(value.get_ref()).ok_or_else(other)
    }

    /// What is wrong with a value.
    pub(crate) fn wrong(self, key: &str, what: &str) -> DocumentError {
        self.error(key, self.value(key).map_or(self.start, |value| value.span().start), what)
    }

    fn error(self, key: &str, at: usize, what: &str) -> DocumentError {
        let dot = if self.name.is_empty() { "" } else { "." };
        DocumentError { line: line_of(self.text, at), message: format!("`{}{dot}{key}` {what}", self.name) }
    }
}

/// A number that may be 0.
fn natural(value: &DeValue<'_>) -> Option<u32> {
    let number = value.as_integer()?;
    u32::from_str_radix(number.as_str(), number.radix()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, of: impl FnOnce(Table<'_>) -> String) -> String {
        match parse(text) {
            Ok(document) => of(Table::root(text, &document)),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn reads_numbers_texts_lists_and_tables() {
        let text = "a = 1_000 # one\nh = 0x1F\nl = [1,\n 2]\n[t]\nb = \"x # \\\"y\\\"\"\n[[r]]\nc = 1\n[[r]]\nc = 2";
        let read = |root: Table<'_>| {
            let t = root.tables("t")[0];
            let rows: Vec<_> = root.tables("r").into_iter().map(|row| row.natural("c")).collect();
            format!(
                "{:?} {:?} {:?} {:?} {rows:?}",
                root.natural("a"),
                root.natural("h"),
                root.naturals("l"),
                t.text("b")
            )
        };
        assert_eq!(with(text, read), "Ok(1000) Ok(31) Ok([1, 2]) Ok(\"x # \\\"y\\\"\") [Ok(1), Ok(2)]");
    }

    #[test]
    fn errors_name_line_key_and_what_was_expected() {
        let number = |text: &str| with(text, |root| root.tables("t")[0].natural("b").unwrap_err().to_string());
        assert_eq!(number("\n[t]\na = 1"), "line 2: `t.b` is missing: expected a number of at most 32 bits");
        for value in ["-1", "\"1\"", "4294967296", "1.0", "true"] {
            assert_eq!(number(&format!("[t]\n\nb = {value}")), "line 3: `t.b` is not a number of at most 32 bits");
        }
        assert_eq!(number("[t]\nb = 1\nb = 2"), "line 3: duplicate key");
        assert_eq!(number("[t]\nb"), "line 2: key with no value, expected `=`");
    }
}
