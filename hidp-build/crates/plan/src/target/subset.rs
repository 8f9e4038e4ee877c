//! Reader of the small part of TOML that hardware models use: comments, `key = value` with strings, integers and truth
//! values, `[table]` and `[[array of tables]]`.

use std::collections::BTreeMap;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `"text"` without escapes.
    Text(String),
    /// Decimal, `_` allowed.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
}

/// A table: its keys and values.
pub type Table = BTreeMap<String, Value>;

/// A document: the keys before the first header, then tables in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Keys before the first header.
    pub root: Table,
    /// `[name]` and `[[name]]` in order.
    pub tables: Vec<(String, Table)>,
}

/// What is wrong in which line (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubsetError {
    /// Line, from 1.
    pub line: usize,
    /// What about it.
    pub message: String,
}

/// Reads a document.
pub fn read(text: &str) -> Result<Document, SubsetError> {
    let mut document = Document::default();
    for (number, raw) in text.lines().enumerate() {
        let line = strip_comment(raw).trim();
        if line.is_empty() {
            continue;
        }
        let fail = |message: &str| SubsetError { line: number + 1, message: message.to_string() };
        if let Some(name) = header(line) {
            document.tables.push((name.to_string(), Table::new()));
            continue;
        }
        let (key, value) = line.split_once('=').ok_or_else(|| fail("expected `key = value` or a header"))?;
        let value = read_value(value.trim()).ok_or_else(|| fail("expected a string, an integer or a truth value"))?;
        let table = document.tables.last_mut().map_or(&mut document.root, |(_, table)| table);
        if table.insert(key.trim().to_string(), value).is_some() {
            return Err(fail("key given twice"));
        }
    }
    Ok(document)
}

fn strip_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

fn header(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    Some(inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(inner).trim())
}

fn read_value(text: &str) -> Option<Value> {
    if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return (!inner.contains(['"', '\\'])).then(|| Value::Text(inner.to_string()));
    }
    match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        number => number.replace('_', "").parse().ok().map(Value::Int),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_tables_arrays_and_comments() {
        let document = read("a = 1_000 # one\n[t]\nb = \"x # y\"\n[[l]]\nc = true\n[[l]]\nc = false").unwrap();
        assert_eq!(document.root["a"], Value::Int(1000));
        assert_eq!(document.tables.len(), 3);
        assert_eq!(document.tables[0].1["b"], Value::Text("x # y".into()));
        assert_eq!(document.tables[2].1["c"], Value::Bool(false));
    }

    #[test]
    fn names_the_line_of_an_error() {
        assert_eq!(read("a = 1\nb").unwrap_err().line, 2);
        assert_eq!(read("a = 1\n\na = 2").unwrap_err().line, 3);
        assert_eq!(read("a = x").unwrap_err().line, 1);
    }
}
