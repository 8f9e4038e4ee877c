//! Source lines with carets and labels under them.

use super::paint::{Paint, column_of, displayed};
use super::{Diagnostic, Output, Severity};
use crate::ordered::OrdMap;
use crate::source::{FileId, SourceFile, Span};

/// A label on one line, in columns from 0.
struct Mark {
    start: usize,
    end: usize,
    text: String,
    primary: bool,
}

/// The marks of each line of a file.
type Lines = OrdMap<u32, Vec<Mark>>;

pub(super) fn draw(out: &mut Output<'_>, diagnostic: &Diagnostic) {
    let primary = diagnostic.primary.span;
    let paint = match diagnostic.severity {
        Severity::Warning => Paint::Warning,
        Severity::Error => Paint::Error,
    };
    out.place("-->", primary);
    draw_file(out, diagnostic, primary.file, paint);
    let mut others: Vec<Span> =
        diagnostic.secondary.iter().map(|label| label.span).filter(|span| span.file != primary.file).collect();
    others.sort_by_key(|span| span.file);
    others.dedup_by_key(|span| span.file);
    for span in others {
        out.place(":::", span);
        draw_file(out, diagnostic, span.file, paint);
    }
}

fn draw_file(out: &mut Output<'_>, diagnostic: &Diagnostic, id: FileId, paint: Paint) {
    let file = out.sources.file(id);
    let mut lines = Lines::new();
    let primary = std::iter::once((&diagnostic.primary, true));
    for (label, primary) in primary.chain(diagnostic.secondary.iter().map(|label| (label, false))) {
        if label.span.file == id {
            add_marks(&mut lines, file, label.span, &label.text, primary);
        }
    }
    out.bar();
    let mut before: Option<u32> = None;
    for (&number, marks) in &lines {
        match before.map_or(0, |before| number - before - 1) {
            0 => {}
            1 => draw_line(out, file, number - 1),
            _ => out.gutter_row(None, "...", |_| {}),
        }
        draw_line(out, file, number);
        draw_marks(out, marks, paint);
        before = Some(number);
    }
}

/// A span over several lines is marked on its first and last line; the text stands at its end.
fn add_marks(lines: &mut Lines, file: &SourceFile, span: Span, text: &str, primary: bool) {
    let first = file.line_column(span.start).line;
    let last = if span.is_empty() { first } else { file.line_column(span.end - 1).line };
    let column = |line: u32, offset: u32| {
        let start = file.line_start(line);
        column_of(file.line(line), offset.saturating_sub(start) as usize)
    };
    let mut mark = |line: u32, start: usize, end: usize, text: &str| {
        let mark = Mark { start, end: end.max(start + 1), text: text.to_string(), primary };
        lines.entry(line).or_default().push(mark);
    };
    if first == last {
        mark(first, column(first, span.start), column(first, span.end), text);
        return;
    }
    let first_line = file.line(first);
    mark(first, column(first, span.start), column_of(first_line, first_line.trim_end().len()), "");
    let last_line = file.line(last);
    let indent = column_of(last_line, last_line.len() - last_line.trim_start().len());
    mark(last, indent, column(last, span.end), text);
}

fn draw_line(out: &mut Output<'_>, file: &SourceFile, number: u32) {
    let shown = displayed(file.line(number));
    out.gutter_row(Some(number), "|", |row| {
        row.push(" ", Paint::Plain);
        row.push(&shown, Paint::Plain);
    });
}

fn draw_marks(out: &mut Output<'_>, marks: &[Mark], paint: Paint) {
    let paint_of = |mark: &Mark| if mark.primary { paint } else { Paint::Gutter };
    let mut sorted: Vec<&Mark> = marks.iter().collect();
    sorted.sort_by_key(|mark| (mark.start, mark.end, mark.primary));
    let end = marks.iter().map(|mark| mark.end).max().unwrap_or(0);
    let inline = sorted.pop_if(|mark| mark.end == end);
    out.gutter_row(None, "|", |row| {
        let base = row.len() + 1;
        // The primary carets go last, over the others.
        let (primary, secondary): (Vec<&Mark>, Vec<&Mark>) = marks.iter().partition(|mark| mark.primary);
        for mark in secondary.into_iter().chain(primary) {
            let sign = if mark.primary { "^" } else { "-" };
            row.put(base + mark.start, &sign.repeat(mark.end - mark.start), paint_of(mark));
        }
        if let Some(mark) = inline.filter(|mark| !mark.text.is_empty()) {
            row.put(base + end + 1, &mark.text, paint_of(mark));
        }
    });
    sorted.retain(|mark| !mark.text.is_empty());
    if sorted.is_empty() {
        return;
    }
    let mut rows: Vec<Option<&Mark>> = vec![None];
    rows.extend(sorted.iter().rev().map(|mark| Some(*mark)));
    for (below, ending) in rows.into_iter().enumerate() {
        let hanging = &sorted[..sorted.len() - below.saturating_sub(1)];
        out.gutter_row(None, "|", |row| {
            let base = row.len() + 1;
            for mark in hanging {
                row.put(base + mark.start, "|", paint_of(mark));
            }
            if let Some(mark) = ending {
                row.put(base + mark.start, &mark.text, paint_of(mark));
            }
        });
    }
}
