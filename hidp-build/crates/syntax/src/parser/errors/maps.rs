//! Errors of ranges, maps and suffixes.

use super::super::{Failed, Parsed, Parser, Punct, TokenKind};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

impl Parser<'_> {
    /// Reports `[:n]`, `[a:]`, which other languages have.
    pub(in super::super) fn refuse_open_bound(&mut self, open: Span) -> Parsed<()> {
        let closes =
            self.at_punct(Punct::CloseBracket) || (self.at_punct(Punct::CloseParen) && self.text_of(open) == "[");
        if !self.at_punct(Punct::Colon) && !closes {
            return Ok(());
        }
        let span = self.span();
        let headline = if self.at_punct(Punct::Colon) || self.previous_span() != open {
            "a range needs both bounds"
        } else {
            "an index is missing between the brackets"
        };
        Err(self.report(
            Diagnostic::new(Code::BadRange, span, headline)
                .also(open, "opened here")
                .help("all of a dimension is `[*]`, a part of it `[low:high)` or `[low:high]`"),
        ))
    }

    pub(in super::super) fn unclosed_range(&mut self, open: Span) -> Failed {
        let (span, found) = (self.span(), self.describe_current());
        self.report(
            Diagnostic::new(
                Code::BadRange,
                span,
                format!("expected `]` or `)` at the end of the range, found {found}"),
            )
            .also(open, "opened here"),
        )
    }

    /// At the type of `int i := [0:N);`, which is skipped.
    pub(in super::super) fn typed_iterator(&mut self) {
        let ty = self.bump();
        let through_blank = Span { end: self.span().start, ..ty };
        self.report(
            Diagnostic::new(Code::BadRange, ty, "an iterator is declared without a type")
                .note("iterators are `long`")
                .suggest(through_blank, "", "remove it"),
        );
    }

    /// At the `=` of `i = [0:N);`.
    pub(in super::super) fn iterator_assigned(&mut self) {
        let span = self.span();
        self.report(Diagnostic::new(Code::BadRange, span, "an iterator is declared with `:=`").suggest(
            span,
            ":=",
            "write `:=`",
        ));
    }

    /// At the comma of `i := [0:N), j := [0:M);`.
    pub(in super::super) fn comma_between_iterators(&mut self) {
        let span = self.span();
        self.report(Diagnostic::new(Code::CommaOperator, span, "each iterator ends in `;`").suggest(
            span,
            ";",
            "write `;`",
        ));
    }

    /// At `i := [*]` among the arguments of a call that is no suffix.
    pub(in super::super) fn iterator_in_call(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::MisplacedSuffix, span, "iterators are folded over only by a suffix of their map")
                .help("`reduce`, `scan` and `exscan` over iterators stand directly behind the map, as statements"),
        )
    }

    pub(in super::super) fn range_without_bracket(&mut self) -> Failed {
        let found = self.describe_current();
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadRange, span, format!("expected a range, found {found}"))
                .label("expected `[` or `(`")
                .help("an iterator runs over a range: `i := [0:N);`"),
        )
    }

    /// `0..n` or `0..=n` from the current token to the end of the statement or the next brace: all of it and its bounds.
    pub(in super::super) fn bounds_of_rust(&self, from: Span) -> Option<(Span, String)> {
        let rest = &self.text[from.start as usize..];
        let all = rest[..rest.find([';', '{', '\n'])?].trim_end();
        let (low, high) = all.split_once("..")?;
        let (high, close) = high.strip_prefix('=').map_or((high, ')'), |high| (high, ']'));
        let plain = !low.trim().is_empty() && !high.trim().is_empty() && !high.contains("..");
        let span = Span { end: from.start + all.len() as u32, ..from };
        plain.then(|| (span, format!("[{}:{}{close}", low.trim(), high.trim())))
    }

    /// A range as Rust writes it; what stands before it, up to the current token or before, is to be `instead`.
    pub(in super::super) fn range_of_rust(&mut self, before: Span, instead: &str) -> Failed {
        if self.is_word_at(0, "in") {
            self.bump();
        }
        let diagnostic = match self.bounds_of_rust(self.span()) {
            Some((range, text)) => {
                let span = before.to(range);
                Diagnostic::new(Code::BadRange, span, "an iterator is declared with `:=`, and its range in brackets")
                    .suggest(span, format!("{instead} {text}"), "write the range with its ends")
            }
            None => {
                Diagnostic::new(Code::BadRange, before, "an iterator is declared with `:=`, and its range in brackets")
                    .help("from 0 up to and without `N`: `i := [0:N);`")
            }
        };
        self.report(diagnostic)
    }

    /// At the iterator of `for i in 0..n {`.
    pub(in super::super) fn loop_of_rust(&mut self) -> Failed {
        let name = self.bump();
        self.bump();
        let found = self.bounds_of_rust(self.span());
        let i = self.text_of(name).to_owned();
        let headline = "a loop has a start, a condition and a step";
        let diagnostic = match found {
            Some((range, _)) => {
                let text = self.text_of(range);
                let (low, high) = text.split_once("..").unwrap_or((text, text));
                let (compare, high) = high.strip_prefix('=').map_or(("<", high), |high| ("<=", high));
                let header = format!("(long {i} = {}; {i} {compare} {}; {i} += 1)", low.trim(), high.trim());
                let span = name.to(range);
                Diagnostic::new(Code::NotHidp, span, headline).suggest(span, header, "write all three")
            }
            None => Diagnostic::new(Code::NotHidp, name, headline).help("write `for (long i = 0; i < n; i += 1)`"),
        };
        self.report(diagnostic.help("iterations that do not depend on each other are a map: `map { i := [0:N); … }`"))
    }

    pub(in super::super) fn range_without_colon(&mut self, open: Span) -> Failed {
        let closes = self.at_punct(Punct::CloseBracket) || self.at_punct(Punct::CloseParen);
        let span = if closes { open.to(self.span()) } else { self.since(open) };
        self.report(
            Diagnostic::new(Code::BadRange, span, "a range has two bounds")
                .help("from 0 up to and without `N` is `[0:N)`, with `N` it is `[0:N]`"),
        )
    }

    pub(in super::super) fn iterator_over_all(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadRange, span, "an iterator needs its bounds")
                .help("`[*]` stands in sections and behind a map; an iterator runs over a range such as `[0:N)`"),
        )
    }

    pub(in super::super) fn partial_suffix_range(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadRange, span, "a suffix folds over all values of an iterator")
                .label("expected `[*]`")
                .help("to fold over a part of them, give the map a smaller range"),
        )
    }

    pub(in super::super) fn map_without_iterator(&mut self, map: Span) -> Failed {
        self.report(
            Diagnostic::new(Code::MapWithoutIterator, map, "this map has no iterators")
                .help("begin it with one, such as `i := [0:N);`"),
        )
    }

    pub(in super::super) fn misplaced_iterator(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::MisplacedIterator, span, "an iterator is declared at the start of a map")
                .note("iterators come before the statements of their map")
                .help("a variable is assigned with `=`"),
        )
    }

    pub(in super::super) fn misplaced_suffix(&mut self) -> Failed {
        let span = self.span();
        let name = self.current_text();
        let behind_directive = self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::PragmaEnd;
        let headline = format!("a `{name}` over iterators stands directly behind a map");
        let mut diagnostic = Diagnostic::new(Code::MisplacedSuffix, span, headline).label("no map ends here");
        if behind_directive {
            diagnostic = diagnostic.help("directives for a map and its suffixes stand before the map");
        }
        self.report(diagnostic)
    }
}
