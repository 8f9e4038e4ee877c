//! Suggestions are followed: the edit must make its message go away, and a program that was accepted stays one.

use hidp_build::compiler::diag::{Diagnostic, Severity, Suggestion};

use crate::front::Front;

/// Applies every suggestion to `text`, each alone, and looks at what `again` says of the result.
pub(crate) fn all_help(text: &str, front: &Front, again: impl Fn(&str) -> Front) -> Result<(), String> {
    for diagnostic in &front.diagnostics {
        for suggestion in diagnostic.suggestions.iter().filter(|suggestion| suggestion.span.file == front.file) {
            let edited = edited(text, suggestion);
            let Diagnostic { headline, .. } = diagnostic;
            let after = again(&edited).diagnostics;
            if after.iter().any(|other| same(other, diagnostic)) {
                return Err(format!("`{}` does not help against: {headline}", suggestion.text));
            }
            if let Some(error) = after.iter().find(|other| is_error(other) && !front.diagnostics.iter().any(is_error)) {
                return Err(format!("`{}` helps against: {headline}; but then: {}", suggestion.text, error.headline));
            }
        }
    }
    Ok(())
}

fn edited(text: &str, suggestion: &Suggestion) -> String {
    let (start, end) = (suggestion.span.start as usize, suggestion.span.end as usize);
    format!("{}{}{}", &text[..start], suggestion.replacement, &text[end..])
}

fn is_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error
}

fn same(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.code == b.code && a.headline == b.headline && a.primary.span.start == b.primary.span.start
}
