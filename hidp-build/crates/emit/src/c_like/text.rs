//! Text under construction: indentation, and `#line` directives that know where they are.

use hidp_syntax::source::{SourceMap, Span};

/// Lines of code.
#[derive(Clone, Debug)]
pub struct Text {
    text: String,
    depth: usize,
    lines: u32,
    /// Name of the generated file, if there are `#line` directives.
    file: Option<String>,
    /// Where the next line comes from, unless from the generated file itself.
    wanted: Option<Place>,
    /// Where the compiler takes the next line to come from.
    current: Option<Place>,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: String,
    line: u32,
}

impl Text {
    /// Nothing yet. With a `file`, there are directives where [`Text::at`] asks for them.
    pub fn new(file: Option<String>) -> Self {
        Self { text: String::new(), depth: 0, lines: 0, file, wanted: None, current: None }
    }
    /// A line; empty ones are not indented.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if has_code(line) {
            self.lead();
        }
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
        if let Some(place) = &mut self.current {
            place.line += 1;
        }
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
            self.wanted = Some(Place { file: sources.file(span.file).name().to_owned(), line });
        }
    }
    /// What follows belongs to the generated file itself.
    pub fn here(&mut self) {
        self.wanted = None;
    }
    /// The directive before the next line, if it needs one.
    fn lead(&mut self) {
        let Some(own) = &self.file else { return };
        if self.wanted == self.current {
            return;
        }
        let directive = match (&self.wanted, &self.current) {
            (None, _) => format!("#line {} {}", self.lines + 2, quoted(own)),
            (Some(to), Some(from)) if to.file == from.file => format!("#line {}", to.line),
            (Some(to), _) => format!("#line {} {}", to.line, quoted(&to.file)),
        };
        self.raw(&directive);
        self.current.clone_from(&self.wanted);
    }
    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Whether it matters where a line comes from.
fn has_code(line: &str) -> bool {
    let jumps = ["return;", "break;", "continue;", "} else {"];
    !jumps.contains(&line) && line.contains(|c: char| c.is_ascii_alphanumeric())
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
    fn lines_that_follow_one_another_need_no_directive() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.hdp", "x\ny\n");
        let mut text = Text::new(Some("a.cpp".to_owned()));
        text.at(&sources, Span::new(file, 0, 1));
        text.line("x");
        text.at(&sources, Span::new(file, 2, 3));
        text.line("y");
        assert_eq!(text.finish(), "#line 1 \"a.hdp\"\nx\ny\n");
    }

    #[test]
    fn line_directives_lead_there_and_back() {
        let mut sources = SourceMap::new();
        let file = sources.add("a \"b\".hdp", "x\ny\n");
        let mut text = Text::new(Some("a.cpp".to_owned()));
        text.line("first");
        text.at(&sources, Span::new(file, 2, 3));
        text.open("y {");
        text.line("more of y;");
        text.close("}");
        text.here();
        text.line("last");
        let own = "y {\n#line 2\n  more of y;\n}\n#line 8 \"a.cpp\"\nlast\n";
        assert_eq!(text.finish(), format!("first\n#line 2 \"a \\\"b\\\".hdp\"\n{own}"));
    }
}
