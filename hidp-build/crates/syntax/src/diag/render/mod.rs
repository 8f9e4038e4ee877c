//! Diagnostics as text, in the look of rustc's.

mod explain;
mod paint;
mod snippet;
mod suggestion;

use super::{Diagnostic, Severity};
use crate::source::{SourceMap, Span};
use paint::{Paint, Row};

/// How diagnostics look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderStyle {
    /// ANSI colours.
    pub color: bool,
    /// The explanation of the code after the message.
    pub explain: bool,
}

/// The diagnostic as rustc would show it; ends in a line break.
pub fn render(sources: &SourceMap, diagnostic: &Diagnostic, style: RenderStyle) -> String {
    let mut out =
        Output { sources, gutter: gutter_width(sources, diagnostic), color: style.color, text: String::new() };
    out.headline(diagnostic);
    snippet::draw(&mut out, diagnostic);
    if !diagnostic.notes.is_empty() || !diagnostic.helps.is_empty() {
        out.bar();
    }
    for note in &diagnostic.notes {
        out.remark("note", note);
    }
    for help in &diagnostic.helps {
        out.remark("help", help);
    }
    if diagnostic.notes.is_empty() && diagnostic.helps.is_empty() && !diagnostic.suggestions.is_empty() {
        out.bar();
    }
    for suggestion in &diagnostic.suggestions {
        suggestion::draw(&mut out, suggestion);
    }
    if style.explain {
        explain::draw(&mut out, diagnostic.code);
    }
    out.text
}

/// The text so far and what every part of it needs to know.
struct Output<'a> {
    sources: &'a SourceMap,
    gutter: usize,
    color: bool,
    text: String,
}

impl Output<'_> {
    fn headline(&mut self, diagnostic: &Diagnostic) {
        let (word, paint) = match diagnostic.severity {
            Severity::Warning => ("warning", Paint::Warning),
            Severity::Error => ("error", Paint::Error),
        };
        let mut row = Row::new();
        row.push(&format!("{word}[{}]", diagnostic.code.info().name), paint);
        row.push(&format!(": {}", diagnostic.headline), Paint::Strong);
        self.row(&row);
    }

    fn row(&mut self, row: &Row) {
        row.write(&mut self.text, self.color);
    }

    /// A row that begins with a line number, or with blanks of the same width, and a sign.
    fn gutter_row(&mut self, number: Option<u32>, sign: &str, rest: impl FnOnce(&mut Row)) {
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let mut row = Row::new();
        row.push(&format!("{number:<width$} {sign}", width = self.gutter), Paint::Gutter);
        rest(&mut row);
        self.row(&row);
    }

    /// A row with nothing but the gutter's bar.
    fn bar(&mut self) {
        self.gutter_row(None, "|", |_| {});
    }

    /// ` --> file:line:column`, or `:::` for a further file.
    fn place(&mut self, arrow: &str, span: Span) {
        let file = self.sources.file(span.file);
        let position = file.line_column(span.start);
        let mut row = Row::new();
        row.push(&format!("{:width$}{arrow} ", "", width = self.gutter), Paint::Gutter);
        row.push(&format!("{}:{}:{}", file.name(), position.line, position.column), Paint::Plain);
        self.row(&row);
    }

    /// `= note: …`, its further lines below its first.
    fn remark(&mut self, word: &str, text: &str) {
        let indent = " ".repeat(self.gutter + 1 + "= : ".len() + word.len());
        for (at, line) in text.lines().enumerate() {
            let mut row = Row::new();
            if at == 0 {
                row.push(&format!("{:width$} = ", "", width = self.gutter), Paint::Gutter);
                row.push(word, Paint::Strong);
                row.push(": ", Paint::Plain);
            } else {
                row.push(&indent, Paint::Plain);
            }
            row.push(line, Paint::Plain);
            self.row(&row);
        }
    }
}

/// Digits of the largest line number that is shown.
fn gutter_width(sources: &SourceMap, diagnostic: &Diagnostic) -> usize {
    let labels = diagnostic.secondary.iter().map(|label| label.span);
    let edits = diagnostic.suggestions.iter().map(|suggestion| suggestion.span);
    let last = std::iter::once(diagnostic.primary.span)
        .chain(labels)
        .chain(edits)
        .map(|span| sources.file(span.file).line_column(span.end).line)
        .max()
        .unwrap_or(1);
    last.to_string().len()
}

#[cfg(test)]
mod tests;
