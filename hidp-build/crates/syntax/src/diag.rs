//! Diagnostics as data: a code, a headline, labelled spans, an explanation and a suggestion. [`render`] turns them into text.

use crate::source::Span;

pub mod code;
pub mod near;
mod printing;
mod render;

pub use code::{Code, CodeInfo};
pub use printing::prints;
pub use render::{RenderStyle, render};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Compilation goes on.
    Warning,
    /// No code is generated.
    Error,
}

/// A span with a text under its carets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What about it; may be empty.
    pub text: String,
}

/// A change that makes the program compile, or nearly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What it does, as a sentence part: `cast it explicitly`.
    pub text: String,
    /// Bytes to replace.
    pub span: Span,
    /// By what.
    pub replacement: String,
}

/// One message to the user. The explanation that belongs to its code comes from the table, not from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which one.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// One sentence, lower case, no full stop.
    pub headline: String,
    /// The place that is to blame.
    pub primary: Label,
    /// Further places that explain it.
    pub secondary: Vec<Label>,
    /// Sentences after `= note:`.
    pub notes: Vec<String>,
    /// Sentence after `= help:` with the edit.
    pub suggestions: Vec<Suggestion>,
    /// Sentences after `= help:` without an edit.
    pub helps: Vec<String>,
}

impl Diagnostic {
    /// A diagnostic with the severity of its code.
    pub fn new(code: Code, span: Span, headline: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.info().severity,
            headline: headline.into(),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            notes: Vec::new(),
            suggestions: Vec::new(),
            helps: Vec::new(),
        }
    }
    /// Text under the primary carets.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }
    /// A further place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }
    /// A fact that explains it.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }
    /// Advice without an edit.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(text.into());
        self
    }
    /// Advice with an edit.
    #[must_use]
    pub fn suggest(mut self, span: Span, replacement: impl Into<String>, text: impl Into<String>) -> Self {
        self.suggestions.push(Suggestion { text: text.into(), span, replacement: replacement.into() });
        self
    }
}

/// Collects diagnostics; phases end where it holds an error.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    diagnostics: Vec<Diagnostic>,
    /// Warnings that the program says are meant, and where.
    allowed: Vec<(Code, Span)>,
}

impl Sink {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
    /// Leaves out the warnings with this code that begin within `span`, whenever they are reported.
    pub fn allow(&mut self, code: Code, span: Span) {
        self.allowed.push((code, span));
    }
    /// Whether an error is among them.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
    /// All that are not allowed, in order of file, position and report, without exact repetitions.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        let Sink { diagnostics, allowed } = &mut self;
        diagnostics.retain(|diagnostic| {
            let at = diagnostic.primary.span;
            let covers = |span: &Span| span.file == at.file && (span.start..span.end).contains(&at.start);
            let meant = allowed.iter().any(|(code, span)| *code == diagnostic.code && covers(span));
            diagnostic.severity == Severity::Error || !meant
        });
        self.diagnostics.sort_by_key(|d| (d.primary.span.file, d.primary.span.start));
        let mut kept: Vec<Diagnostic> = Vec::new();
        for diagnostic in self.diagnostics {
            let at = |diagnostic: &Diagnostic| (diagnostic.primary.span.file, diagnostic.primary.span.start);
            let mut beside = kept.iter().rev().take_while(|other| at(other) == at(&diagnostic));
            if beside.all(|other| *other != diagnostic) {
                kept.push(diagnostic);
            }
        }
        kept
    }
}
