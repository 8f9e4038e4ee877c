//! Suggestions as the edited line.

use super::Output;
use super::paint::{Paint, Row, column_of, displayed};
use crate::diag::Suggestion;
use crate::source::SourceFile;

pub(super) fn draw(out: &mut Output<'_>, suggestion: &Suggestion) {
    let mut row = Row::new();
    row.push("help", Paint::Strong);
    row.push(&format!(": {}", suggestion.text), Paint::Plain);
    out.row(&row);
    out.bar();
    let file = out.sources.file(suggestion.span.file);
    let inserts = suggestion.span.is_empty() && !suggestion.replacement.contains('\n');
    if inserts { draw_insertion(out, file, suggestion) } else { draw_difference(out, file, suggestion) }
}

/// The line with the new text, marked by `+`.
fn draw_insertion(out: &mut Output<'_>, file: &SourceFile, suggestion: &Suggestion) {
    let number = file.line_column(suggestion.span.start).line;
    let at = (suggestion.span.start - file.line_start(number)) as usize;
    let mut line = file.line(number).to_string();
    line.insert_str(at.min(line.len()), &suggestion.replacement);
    let (start, end) = (column_of(&line, at), column_of(&line, at + suggestion.replacement.len()));
    out.gutter_row(Some(number), "|", |row| {
        row.push(" ", Paint::Plain);
        row.push(&displayed(&line), Paint::Plain);
    });
    out.gutter_row(None, "|", |row| row.put(row.len() + 1 + start, &"+".repeat(end - start), Paint::Added));
}

/// The lines before and after.
fn draw_difference(out: &mut Output<'_>, file: &SourceFile, suggestion: &Suggestion) {
    let first = file.line_column(suggestion.span.start).line;
    let last = file.line_column(suggestion.span.end).line;
    let head_length = (suggestion.span.start - file.line_start(first)) as usize;
    let tail_start = (suggestion.span.end - file.line_start(last)) as usize;
    let head = file.line(first).get(..head_length).unwrap_or("");
    let tail = file.line(last).get(tail_start..).unwrap_or("");
    for number in first..=last {
        difference_row(out, number, "-", file.line(number), Paint::Removed);
    }
    let edited = format!("{head}{}{tail}", suggestion.replacement);
    if edited.trim().is_empty() {
        return;
    }
    for (number, line) in (first..).zip(edited.split('\n')) {
        difference_row(out, number, "+", line, Paint::Added);
    }
}

fn difference_row(out: &mut Output<'_>, number: u32, sign: &str, line: &str, paint: Paint) {
    let gutter = out.gutter;
    let mut row = Row::new();
    row.push(&format!("{number:<gutter$} "), Paint::Gutter);
    row.push(sign, paint);
    row.push(" ", Paint::Plain);
    row.push(&displayed(line), Paint::Plain);
    out.row(&row);
}
