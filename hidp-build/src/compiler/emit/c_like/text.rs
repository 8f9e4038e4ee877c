//! Text under construction: indentation, and `#line` directives that know where they are.

use crate::compiler::source::{SourceMap, Span};

/// Lines of code.
#[derive(Clone, Debug)]
pub struct Text {
    text: String,
    depth: usize,
    lines: u32,
    /// Name of the generated file, if there are `#line` directives.
    file: Option<String>,
}

impl Text {
    /// Nothing yet. With a `file`, [`Text::at`] prints directives.
    pub fn new(file: Option<String>) -> Self {
        Self { text: String::new(), depth: 0, lines: 0, file }
    }
    /// A line; empty ones are not indented.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("  ", self.depth));
        }
        self.raw(line);
    }
    /// A line at the margin: a directive.
    pub fn directive(&mut self, line: impl AsRef<str>) {
        self.raw(line.as_ref());
    }
    fn raw(&mut self, line: &str) {
        debug_assert!(!line.contains('\n'));
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }
    /// A line that opens a block: `if (x) {`.
    pub fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }
    /// Closes one block and opens the next: `} else {`.
    pub fn reopen(&mut self, line: impl AsRef<str>) {
        self.depth -= 1;
        self.open(line);
    }
    /// A line that closes a block: `}`.
    pub fn close(&mut self, line: impl AsRef<str>) {
        self.depth -= 1;
        self.line(line);
    }
    /// What follows belongs to this place of a source file.
    pub fn at(&mut self, sources: &SourceMap, span: Span) {
        if self.file.is_some() {
            let line = sources.position(span).line;
            let directive = format!("#line {line} {}\n", quoted(sources.file(span.file).name()));
            if !self.text.ends_with(&directive) {
                self.directive(directive.trim_end());
            }
        }
    }
    /// What follows belongs to the generated file itself.
    pub fn here(&mut self) {
        if let Some(file) = &self.file {
            let directive = format!("#line {} {}", self.lines + 2, quoted(file));
            self.directive(directive);
        }
    }
    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A C string literal.
fn quoted(name: &str) -> String {
    let mut quoted = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push('?'),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_indent_and_directives_do_not() {
        let mut text = Text::new(None);
        text.open("if (a) {");
        text.directive("#pragma x");
        text.line("b();");
        text.reopen("} else {");
        text.line("");
        text.close("}");
        assert_eq!(text.finish(), "if (a) {\n#pragma x\n  b();\n} else {\n\n}\n");
    }

    #[test]
    fn line_directives_lead_there_and_back() {
        let mut sources = SourceMap::new();
        let file = sources.add("a \"b\".hdp", "x\ny\n");
        let mut text = Text::new(Some("a.cpp".to_owned()));
        text.line("first");
        text.at(&sources, Span::new(file, 2, 3));
        text.line("y");
        text.here();
        assert_eq!(text.finish(), "first\n#line 2 \"a \\\"b\\\".hdp\"\ny\n#line 5 \"a.cpp\"\n");
    }
}
