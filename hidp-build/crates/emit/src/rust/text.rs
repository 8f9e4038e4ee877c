//! Lines with indentation.

use std::fmt::Write;

/// A text that grows line by line.
#[derive(Debug, Default)]
pub(super) struct Text {
    text: String,
    depth: usize,
}

impl Text {
    /// A line; an empty one has no indentation.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            // Writing to a string does not fail.
            let _ = write!(self.text, "{:indent$}{line}", "", indent = 4 * self.depth);
        }
        self.text.push('\n');
    }
    /// Opens with one line, indents what `inside` writes, closes with another.
    pub(super) fn nest(&mut self, open: impl AsRef<str>, close: impl AsRef<str>, inside: impl FnOnce(&mut Self)) {
        self.line(open);
        self.indent(inside);
        self.line(close);
    }
    /// Indents what `inside` writes.
    pub(super) fn indent(&mut self, inside: impl FnOnce(&mut Self)) {
        self.depth += 1;
        inside(self);
        self.depth -= 1;
    }
    /// `open a, b close` on one line if it fits, else one item a line.
    pub(super) fn list(&mut self, open: &str, items: &[String], close: &str) {
        let one = format!("{open}{}{close}", items.join(", "));
        if 4 * self.depth + one.chars().count() <= 100 {
            self.line(one);
        } else {
            self.nest(open.trim_end(), close.trim_start(), |text| {
                items.iter().for_each(|item| text.line(format!("{item},")))
            });
        }
    }
    /// A documentation comment.
    pub(super) fn doc(&mut self, lines: &[String]) {
        for line in lines {
            self.line(if line.is_empty() { "///".to_owned() } else { format!("/// {line}") });
        }
    }
    pub(super) fn finish(self) -> String {
        self.text
    }
}
