//! Errors of items and headers.

use super::super::{Failed, Parser, Punct};
use crate::ast::{Ident, TypeName};
use crate::diag::{Code, Diagnostic, near};
use crate::source::Span;
use crate::ty::Scalar;

/// The words that items begin with.
const ITEM_WORDS: [&str; 8] = ["function", "codelet", "recurrence", "struct", "const", "import", "extern", "static"];

impl Parser<'_> {
    /// Reports a file in which nothing stands.
    pub(in super::super) fn empty_file(&mut self) {
        let start = Span { start: 0, end: 0, ..self.span() };
        self.report(
            Diagnostic::new(Code::EmptyFile, start, "this file is empty")
                .label("nothing but blanks and comments")
                .help(
                    "a function over arrays: `function scale input float a, x[N]; output float y[N]; { y = a * x; }`",
                ),
        );
    }

    pub(in super::super) fn struct_without_fields(&mut self, name: Span) -> Failed {
        if self.at_punct(Punct::Semicolon) {
            let name = self.text_of(name);
            let span = self.span();
            return self.report(
                Diagnostic::new(Code::BadDeclaration, span, format!("the struct `{name}` has no fields"))
                    .help(format!("a struct of a C header is declared by `extern struct {name};`")),
            );
        }
        self.expected("`{` and the fields of the struct")
    }

    pub(in super::super) fn extern_with_body(&mut self, what: &str) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(
                Code::BadHeader,
                span,
                format!("`extern` takes {what} from a C++ header, so it has no body here"),
            )
            .help("remove `extern`, or end the declaration with `;`"),
        )
    }

    pub(in super::super) fn extern_array_function(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadHeader, span, "an extern function names its result and scalar parameters")
                .help("`extern function bool my_less(float a, float b);`"),
        )
    }

    pub(in super::super) fn static_scalar_function(&mut self, word: Span) {
        let through_blank = Span { end: self.previous_span().start, ..word };
        self.report(
            Diagnostic::new(Code::BadHeader, word, "`static` is for functions over arrays")
                .note("a function of scalars never gets a Rust wrapper")
                .suggest(through_blank, "", "remove it"),
        );
    }

    pub(in super::super) fn header_with_parentheses(&mut self, name: &Ident) -> Failed {
        let name_text = &name.name;
        self.report(
            Diagnostic::new(Code::BadHeader, name.span, format!("the function `{name_text}` has no result type"))
                .help(format!("a function of scalars names its result: `function float {name_text}(float x)`"))
                .help(format!(
                    "a function over arrays lists its parameters without parentheses: `function {name_text} input float x[N];`"
                )),
        )
    }

    pub(in super::super) fn header_without_body(&mut self, no_params: bool, name: Span) -> Failed {
        if self.at_eof() || self.at_end_of_items_body() {
            let name = self.text_of(name);
            return self.expected(&format!("the body of `{name}`"));
        }
        if self.at_tunable() {
            let span = self.span();
            return self.report(
                Diagnostic::new(Code::NotSupported, span, "tunables of functions are not supported by this version")
                    .help("codelets have tunables"),
            );
        }
        self.expected(if no_params { "`input`, `output`, `inout` or `{`" } else { "`{` or another parameter list" })
    }

    /// Behind `function word name` without `(`: perhaps a list's keyword is misspelt.
    pub(in super::super) fn scalar_function_without_parameters(&mut self, first: &TypeName) -> Failed {
        let second = self.previous_span();
        match near::suggest(self.text_of(second), ["input", "output", "inout"]) {
            Some(near) if Scalar::from_name(&first.name).is_none() => self.report(
                Diagnostic::new(
                    Code::BadHeader,
                    second,
                    format!("expected a parameter list, found `{}`", self.text_of(second)),
                )
                .suggest(second, near, format!("did you mean `{near}`?")),
            ),
            _ => self.expected("`(` and the parameters of the function"),
        }
    }

    pub(in super::super) fn scalar_function_without_body(&mut self) -> Failed {
        if self.at_punct(Punct::Semicolon) {
            let span = self.span();
            return self.report(
                Diagnostic::new(Code::BadHeader, span, "this function has no body")
                    .help("a function of a C++ header is declared with `extern`; order of functions does not matter"),
            );
        }
        self.expected("`{` and the body of the function")
    }

    pub(in super::super) fn recurrence_that_writes(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadRecurrence, span, "a recurrence writes nothing but its cells")
                .label("only `input` may stand here")
                .help("where a recurrence is used, its value is assigned"),
        )
    }

    /// Whether a word stands here that was probably meant to begin an item.
    pub(in super::super) fn at_probable_item(&self) -> bool {
        self.at_codelet()
            || self.at_tunable()
            || (self.name_at(1) && near::suggest(self.current_text(), ITEM_WORDS).is_some())
    }

    pub(in super::super) fn expected_item(&mut self) -> Failed {
        let (span, word) = (self.span(), self.current_text());
        if self.at_tunable() {
            return self.report(
                Diagnostic::new(Code::BadTunable, span, "a tunable belongs to a codelet")
                    .label("stands by itself")
                    .help("it stands before the body: `codelet sum \"parts\" tunable long p = {64, 256}; { … }`"),
            );
        }
        let found = self.describe_current();
        let headline = format!("expected a function, codelet, recurrence, struct, constant or import, found {found}");
        let mut diagnostic = Diagnostic::new(Code::ExpectedItem, span, headline);
        if let Some(near) = near::suggest(word, ITEM_WORDS).filter(|_| self.at_name()) {
            diagnostic = diagnostic.suggest(span, near, format!("did you mean `{near}`?"));
        }
        self.report(diagnostic)
    }
}
