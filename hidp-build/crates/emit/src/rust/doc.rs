//! Documentation of wrappers.

use super::danger::Danger;
use super::signature::{Parameter, Passing, Signature};
use hidp_ir::imp::Site;
use hidp_ir::par::FaultKind;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::SourceMap;

/// The comment above the function, its parameters, results and faults, as Markdown.
pub(super) fn lines(
    sources: &SourceMap,
    above: &[String],
    signature: &Signature,
    sites: &[&Site],
    danger: &Danger,
) -> Vec<String> {
    let mut lines = comment(above);
    parameters(signature, &mut lines);
    errors(sources, sites, &mut lines);
    safety(danger, &mut lines);
    lines
}

/// A comment of the program as Markdown, with an empty line behind it if there is one.
pub(super) fn comment(above: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = above.iter().map(|line| escape(line)).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn parameters(signature: &Signature, lines: &mut Vec<String>) {
    lines.push("| in HiDP | in Rust |".into());
    lines.push("|---|---|".into());
    for parameter in &signature.parameters {
        let Parameter { direction, declared, passing, rust_name, .. } = parameter;
        let place = match passing {
            Passing::Result => "returned".to_owned(),
            Passing::Value | Passing::Reference | Passing::View(_) => {
                format!("`{}`", rust_name.trim_start_matches("r#"))
            }
        };
        lines.push(format!("| {direction} `{}` | {place} |", declared.replace('|', "\\|")));
    }
}

fn errors(sources: &SourceMap, sites: &[&Site], lines: &mut Vec<String>) {
    lines.push(String::new());
    lines.push("# Errors".into());
    let mut kinds: OrdMap<FaultKind, Vec<String>> = OrdMap::new();
    for site in sites {
        let position = sources.position(site.span);
        let text = snippet(sources, site);
        let place = format!("`{}` (line {})", text.replace('`', "'"), position.line);
        let places = kinds.entry(site.kind).or_default();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if kinds.is_empty() {
        lines.push("If the shapes of the arguments do not fit together.".into());
        return;
    }
    lines.push("If the shapes of the arguments do not fit together, and for these faults:".into());
    for (kind, places) in kinds {
        // Memory may run out wherever arrays are made.
        let places = if kind == FaultKind::Allocation { String::new() } else { format!(": {}", places.join(", ")) };
        lines.push(format!("- {}{places}", describe(kind)));
    }
}

fn safety(danger: &Danger, lines: &mut Vec<String>) {
    if danger.is_none() {
        return;
    }
    lines.push(String::new());
    lines.push("# Safety".into());
    for name in &danger.unchecked {
        lines.push(format!("No index of `{name}` may be outside its array: its checks are off (`unchecked`)."));
    }
    for name in &danger.natives {
        lines.push(format!("The native function `{name}` must be sound for the values that it is called with."));
    }
}

/// The expression of a site on one line, shortened.
pub(super) fn snippet(sources: &SourceMap, site: &Site) -> String {
    const LONGEST: usize = 100;
    let words: Vec<&str> = sources.snippet(site.span).split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

const fn describe(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Index => "index outside its array",
        FaultKind::Segment => "segment outside its array",
        FaultKind::Shape => "different shapes",
        FaultKind::Stride => "stride that is not positive",
        FaultKind::NegativeSize => "negative size",
        FaultKind::DivisionByZero => "integer division by zero",
        FaultKind::Shift => "shift by too much",
        FaultKind::Narrowing => "value that does not fit its type",
        FaultKind::EmptyFold => "fold of nothing",
        FaultKind::Allocation => "not enough memory",
        FaultKind::SizeOverflow => "size that overflows",
        FaultKind::HistogramKey => "key that is no bin",
        FaultKind::SortDirection => "sort direction other than 1 and -1",
        FaultKind::SegmentOverlap => "output segments that overlap",
    }
}

/// A line of a comment as Markdown that means just its text: no links, no HTML, no code to test.
fn escape(line: &str) -> String {
    let mut escaped = String::new();
    let mut in_code = false;
    for letter in line.trim().chars() {
        match letter {
            '`' => in_code = !in_code,
            '[' | ']' | '<' | '>' | '|' | '*' | '_' | '#' if !in_code => escaped.push('\\'),
            _ => {}
        }
        escaped.push(if letter == '\t' { ' ' } else { letter });
    }
    // Fences, and a code span that does not end on its line, would reach further than the comment.
    if in_code || escaped.contains("```") { escaped.replace('`', "'") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn comments_stay_text() {
        assert_eq!(escape("C = A[M][K] * B, see `x[i]`"), "C = A\\[M\\]\\[K\\] \\* B, see `x[i]`");
        assert_eq!(escape("    indented <b>"), "indented \\<b\\>");
        assert_eq!(escape("```"), "'''");
        assert_eq!(escape("it`s"), "it's");
    }
}
