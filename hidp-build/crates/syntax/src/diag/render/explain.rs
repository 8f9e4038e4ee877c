//! The explanation of a code below its message.

use super::Output;
use super::paint::{Paint, Row};
use crate::diag::Code;

/// Columns that prose is wrapped to.
const WIDTH: usize = 96;

pub(super) fn draw(out: &mut Output<'_>, code: Code) {
    let info = code.info();
    let indent = " ".repeat(out.gutter + 3);
    let mut row = Row::new();
    row.push(&format!("{:width$} = ", "", width = out.gutter), Paint::Gutter);
    row.push(info.name, Paint::Strong);
    row.push(&format!(": {}", info.title), Paint::Plain);
    out.row(&row);
    let mut in_code = false;
    for line in info.explanation.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            prose_row(out, &format!("{indent}    {line}"));
        } else {
            wrapped(line).iter().for_each(|part| prose_row(out, &format!("{indent}{part}")));
        }
    }
}

fn prose_row(out: &mut Output<'_>, text: &str) {
    let mut row = Row::new();
    row.push(text, Paint::Plain);
    out.row(&row);
}

/// The words of a line on as many lines as they need; one empty line for none.
fn wrapped(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let current = lines.last_mut().expect("never empty");
        if !current.is_empty() && current.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_string());
        } else {
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
    }
    lines
}
