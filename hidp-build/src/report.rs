//! Errors of the build: rendered texts, and messages that belong to no place in a program.

use std::fmt;

use hidp_syntax::diag::{Code, Diagnostic, RenderStyle, Severity, render};
use hidp_syntax::source::SourceMap;

/// The result of a build.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// Why a build failed, as text for the terminal. `Debug` prints the same text, because `main` of a build script prints errors with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    text: String,
}

impl Error {
    pub(crate) fn new(text: String) -> Self {
        Self { text }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Error {}

/// An error or warning that has no place in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    code: Code,
    headline: String,
    notes: Vec<String>,
    helps: Vec<String>,
}

impl Problem {
    pub(crate) fn new(code: Code, headline: impl Into<String>) -> Self {
        Self { code, headline: headline.into(), notes: Vec::new(), helps: Vec::new() }
    }
    #[must_use]
    pub(crate) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }
    /// The same notes under another headline.
    pub(crate) fn again(self, code: Code, headline: impl Into<String>) -> Self {
        Self { code, headline: headline.into(), ..self }
    }
    #[must_use]
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(text.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.code.info();
        let word = match info.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        writeln!(f, "{word}[{}]: {}", info.name, self.headline)?;
        let notes = self.notes.iter().map(|text| ("note", text));
        for (word, text) in notes.chain(self.helps.iter().map(|text| ("help", text))) {
            let mut lines = text.lines();
            writeln!(f, "  = {word}: {}", lines.next().unwrap_or(""))?;
            lines.try_for_each(|line| writeln!(f, "          {line}"))?;
        }
        Ok(())
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Error::new(problem.to_string())
    }
}

/// Everything that was reported.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Errors in programs, as rustc shows them.
    pub(crate) programs: Vec<String>,
    /// Errors that have no place in a program.
    pub(crate) problems: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl Report {
    pub(crate) fn diagnostics(&mut self, sources: &SourceMap, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics {
            let text = render(sources, diagnostic, RenderStyle { color: false, explain: false });
            match diagnostic.severity {
                Severity::Error => self.programs.push(text),
                Severity::Warning => self.warnings.push(text),
            }
        }
    }
    pub(crate) fn problem(&mut self, problem: &Problem) {
        match problem.code.info().severity {
            Severity::Error => self.problems.push(problem.to_string()),
            Severity::Warning => self.warnings.push(problem.to_string()),
        }
    }
    pub(crate) fn has_errors(&self) -> bool {
        !self.programs.is_empty() || !self.problems.is_empty()
    }
    /// The errors as one, with their number below if there are several.
    pub(crate) fn error(&self) -> Option<Error> {
        let all: Vec<&str> = self.programs.iter().chain(&self.problems).map(String::as_str).collect();
        let mut text = all.join("\n");
        match all.len() {
            0 => return None,
            1 => {}
            count => text.push_str(&format!("\nerror: {count} errors in HiDP programs\n")),
        }
        Some(Error::new(text))
    }
    /// The errors in programs, as messages that rustc puts behind a word of its own: `HD0401: iterations of this map …`.
    pub(crate) fn messages(&self) -> Vec<String> {
        let message = |text: &String| match text.strip_prefix("error[").and_then(|rest| rest.split_once("]: ")) {
            Some((code, rest)) => format!("{code}: {}\n", rest.trim_end()),
            None => text.clone(),
        };
        self.programs.iter().map(message).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_read_like_diagnostics() {
        let problem = Problem::new(Code::NoSources, "no `.hdp` file in `src/kernels`").note("one\ntwo").help("three");
        assert_eq!(
            problem.to_string(),
            "error[HD0902]: no `.hdp` file in `src/kernels`\n  = note: one\n          two\n  = help: three\n"
        );
    }

    #[test]
    fn debug_prints_the_text_for_main() {
        let error = Error::from(Problem::new(Code::NoSources, "nothing"));
        assert_eq!(format!("{error:?}"), "\nerror[HD0902]: nothing");
    }

    #[test]
    fn several_errors_are_counted() {
        let mut report = Report::default();
        assert_eq!(report.error(), None);
        report.problem(&Problem::new(Code::IdleTuning, "idle"));
        assert_eq!((report.error(), report.warnings.len()), (None, 1));
        report.problem(&Problem::new(Code::NoSources, "a"));
        report.problem(&Problem::new(Code::NoCompiler, "b"));
        assert!(report.error().is_some_and(|error| error.to_string().ends_with("error: 2 errors in HiDP programs")));
    }

    #[test]
    fn messages_begin_with_their_code() {
        let programs = vec!["error[HD0401]: a\n --> b.hdp:1:2\n\n".into()];
        let report = Report { programs, ..Report::default() };
        assert_eq!(report.messages(), ["HD0401: a\n --> b.hdp:1:2\n"]);
    }
}
