//! Expected diagnostics, written in comments under the code:
//!
//! ```text
//! x = y = z;
//! //    ^ error[HD0011] no value
//! ```
//!
//! The carets stand under the primary span's part on that line (one caret for an empty span); without carets any column will
//! do, which is also the only way for spans that begin in the first two columns. The text is a part of the headline.

use hidp_build::compiler::diag::{Diagnostic, Severity};
use hidp_build::compiler::source::SourceFile;

use crate::case::{Case, blessing};
use crate::front::Front;

/// A diagnostic as expectations describe it.
#[derive(Clone, Debug)]
struct Expectation {
    /// Line of the code, from 1.
    line: usize,
    /// Columns of the carets, from 0 and half-open, counted in characters.
    columns: Option<(usize, usize)>,
    /// `error[HD0011]`
    code: String,
    /// A part of the headline.
    text: String,
}

/// Compares what was reported with what the case expects, or rewrites the case's expectations.
pub(crate) fn compare(case: &Case, front: &Front) -> Result<(), String> {
    let expected = expectations(&case.text);
    let foreign = front.diagnostics.iter().find(|diagnostic| diagnostic.primary.span.file != front.file);
    if let Some(diagnostic) = foreign {
        return Err(format!("reported in an imported file: {}", diagnostic.headline));
    }
    let file = front.sources.file(front.file);
    let actual: Vec<Expectation> = front.diagnostics.iter().map(|diagnostic| described(diagnostic, file)).collect();
    match difference(expected, actual.clone()) {
        None => Ok(()),
        Some(_) if blessing() => bless(case, &actual),
        Some(why) => Err(format!("diagnostics differ (- expected, + reported):\n{why}")),
    }
}

/// What was expected and not reported, or the other way round.
fn difference(mut missing: Vec<Expectation>, actual: Vec<Expectation>) -> Option<String> {
    let mut unexpected = Vec::new();
    for actual in actual {
        match missing.iter().position(|expected| matches(expected, &actual)) {
            Some(at) => drop(missing.remove(at)),
            None => unexpected.push(actual),
        }
    }
    let mut why = String::new();
    for expected in &missing {
        why.push_str(&format!("  - {}\n", shown(expected)));
    }
    for actual in &unexpected {
        why.push_str(&format!("  + {}\n", shown(actual)));
    }
    (!why.is_empty()).then_some(why)
}

/// Whether the case expects anything.
pub(crate) fn any(text: &str) -> bool {
    !expectations(text).is_empty()
}

fn matches(expected: &Expectation, actual: &Expectation) -> bool {
    expected.line == actual.line
        && expected.code == actual.code
        && actual.text.contains(&expected.text)
        && (expected.columns.is_none() || expected.columns == actual.columns)
}

fn shown(expectation: &Expectation) -> String {
    let Expectation { line, columns, code, text } = expectation;
    match columns {
        Some((start, end)) => format!("line {line}, columns {}-{end}: {code} {text}", start + 1),
        None => format!("line {line}: {code} {text}"),
    }
}

fn expectations(text: &str) -> Vec<Expectation> {
    let mut code_line = 0;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        match expectation(line, code_line) {
            Some(expectation) => found.push(expectation),
            None => code_line = at + 1,
        }
    }
    found
}

/// The expectation that a line holds, about line `code_line`.
fn expectation(line: &str, code_line: usize) -> Option<Expectation> {
    let comment = line.trim_start().strip_prefix("//")?;
    let carets = comment.trim_start();
    let rest = carets.trim_start_matches('^');
    let count = carets.len() - rest.len();
    let start = line.chars().count() - carets.chars().count();
    let body = rest.trim();
    let end = body.find(']')?;
    let code = &body[..=end];
    if !code.starts_with("error[HD") && !code.starts_with("warning[HD") {
        return None;
    }
    Some(Expectation {
        line: code_line,
        columns: (count > 0).then_some((start, start + count)),
        code: code.to_string(),
        text: body[end + 1..].trim().to_string(),
    })
}

fn described(diagnostic: &Diagnostic, file: &SourceFile) -> Expectation {
    let span = diagnostic.primary.span;
    let start = file.line_column(span.start);
    let end = file.line_column(span.end);
    let line_length = file.line(start.line).trim_end().chars().count();
    let end_column = if end.line == start.line { end.column as usize - 1 } else { line_length };
    let start_column = start.column as usize - 1;
    let word = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    Expectation {
        line: start.line as usize,
        columns: Some((start_column, end_column.max(start_column + 1))),
        code: format!("{word}[{}]", diagnostic.code.info().name),
        text: diagnostic.headline.clone(),
    }
}

/// Replaces all expectations by what was reported.
fn bless(case: &Case, actual: &[Expectation]) -> Result<(), String> {
    let mut text = String::new();
    let mut placed = 0;
    for (at, line) in case.text.lines().enumerate() {
        if expectation(line, at).is_some() {
            continue;
        }
        text.push_str(line);
        text.push('\n');
        for expectation in actual.iter().filter(|expectation| expectation.line == at + 1) {
            text.push_str(&written(expectation));
            placed += 1;
        }
    }
    if placed < actual.len() {
        return Err("something is reported on a line that holds an expectation".to_string());
    }
    case.rewrite(&text)
}

fn written(expectation: &Expectation) -> String {
    let Expectation { columns, code, text, .. } = expectation;
    match columns {
        Some((start, end)) if *start >= 2 => {
            format!("//{}{} {code} {text}\n", " ".repeat(start - 2), "^".repeat(end - start))
        }
        _ => format!("// {code} {text}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "first\nsecond line\n//     ^^^^ error[HD0001] part\nthird";

    fn reported(line: usize, columns: (usize, usize), code: &str, headline: &str) -> Vec<Expectation> {
        vec![Expectation { line, columns: Some(columns), code: code.into(), text: headline.into() }]
    }

    #[test]
    fn what_is_expected_is_accepted() {
        assert_eq!(difference(expectations(CODE), reported(2, (7, 11), "error[HD0001]", "a part of it")), None);
        let anywhere = "first\n// error[HD0001] part";
        assert_eq!(difference(expectations(anywhere), reported(1, (0, 3), "error[HD0001]", "part")), None);
    }

    #[test]
    fn every_difference_is_one() {
        for other in [
            reported(1, (7, 11), "error[HD0001]", "part"),
            reported(2, (6, 11), "error[HD0001]", "part"),
            reported(2, (7, 12), "error[HD0001]", "part"),
            reported(2, (7, 11), "error[HD0002]", "part"),
            reported(2, (7, 11), "warning[HD0001]", "part"),
            reported(2, (7, 11), "error[HD0001]", "other"),
            Vec::new(),
            [reported(2, (7, 11), "error[HD0001]", "part"), reported(2, (7, 11), "error[HD0001]", "part")].concat(),
        ] {
            assert!(difference(expectations(CODE), other.clone()).is_some(), "{other:?}");
        }
    }

    #[test]
    fn several_expectations_are_about_the_same_line() {
        let two = format!("{CODE}\n// warning[HD0801]\n// error[HD0002] x");
        let lines: Vec<usize> = expectations(&two).iter().map(|expectation| expectation.line).collect();
        assert_eq!(lines, [2, 4, 4]);
    }

    #[test]
    fn written_expectations_are_read_back() {
        for columns in [(0, 3), (2, 3), (5, 9)] {
            let text = format!("code\n{}", written(&reported(1, columns, "error[HD0001]", "headline")[0]));
            assert_eq!(difference(expectations(&text), reported(1, columns, "error[HD0001]", "headline")), None);
        }
    }
}
