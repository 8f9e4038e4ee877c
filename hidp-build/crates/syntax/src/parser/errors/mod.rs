//! What the parser says when something is wrong. Each function reports one error and gives [`Failed`].

mod declarations;
mod expressions;
mod items;
mod maps;
mod statements;

use super::{Failed, Parsed, Parser, Punct, TokenKind};
use crate::ast::Ident;
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::ty::Scalar;

impl Parser<'_> {
    pub(in super::super) fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        let before = self.at.checked_sub(1).map(|at| &self.tokens[at].kind);
        let known = *self.kind() == TokenKind::Unknown || (self.at_eof() && before == Some(&TokenKind::Unknown));
        if !known && !self.stopped {
            self.sink.push(diagnostic);
        }
        Failed
    }

    /// The current token, as a sentence part.
    pub(in super::super) fn describe_current(&self) -> String {
        match self.kind() {
            TokenKind::Eof => "the end of the file".to_string(),
            TokenKind::PragmaStart => "a directive".to_string(),
            TokenKind::PragmaEnd => "the end of the directive's line".to_string(),
            TokenKind::Unknown => "something unknown".to_string(),
            TokenKind::Str(_) => "a string".to_string(),
            TokenKind::Keyword(keyword) => format!("the keyword `{}`", keyword.text()),
            TokenKind::Name
            | TokenKind::Int { .. }
            | TokenKind::Float { .. }
            | TokenKind::Char(_)
            | TokenKind::Punct(_) => format!("`{}`", self.current_text()),
        }
    }

    /// `expected … , found …`
    pub(in super::super) fn expected(&mut self, what: &str) -> Failed {
        let found = self.describe_current();
        let diagnostic = Diagnostic::new(Code::UnexpectedToken, self.span(), format!("expected {what}, found {found}"));
        self.report(diagnostic.label(format!("expected {what}")))
    }

    /// A bracket or separator; `place` says where it belongs.
    pub(in super::super) fn expect(&mut self, punct: Punct, place: &str) -> Parsed<Span> {
        match self.eat(punct) {
            Some(span) => Ok(span),
            None => Err(self.expected(&format!("`{}` {place}", punct.text()))),
        }
    }

    /// The partner of the bracket at `open`.
    pub(in super::super) fn expect_close(&mut self, close: Punct, open: Span) -> Parsed<()> {
        if self.eat(close).is_some() {
            return Ok(());
        }
        let found = self.describe_current();
        Err(self.report(
            Diagnostic::new(Code::Unclosed, self.span(), format!("expected `{}`, found {found}", close.text()))
                .label(format!("expected `{}` or an operator", close.text()))
                .also(open, "opened here"),
        ))
    }

    /// The `;` behind `what`. If it is missing at the end of a line, that is reported and parsing goes on as if it were there.
    pub(in super::super) fn expect_semicolon(&mut self, what: &str) -> Parsed<()> {
        if self.eat(Punct::Semicolon).is_some() {
            return Ok(());
        }
        if let TokenKind::Punct(Punct::Increment | Punct::Decrement) = self.kind() {
            return Err(self.prefix_increment());
        }
        let line_ends = self.on_new_line() || self.at_eof() || self.at_punct(Punct::CloseBrace);
        if !line_ends {
            return Err(self.expected(&format!("`;` behind {what}")));
        }
        let end = self.previous_span().end_point();
        self.report(
            Diagnostic::new(Code::MissingSemicolon, end, format!("expected `;` behind {what}"))
                .suggest(end, ";", "add it"),
        );
        Ok(())
    }

    /// Another suffix, or a `,` before it, where a suffix should end.
    pub(in super::super) fn suffix_goes_on(&mut self) -> Failed {
        let (here, found) = (self.span(), self.describe_current());
        let at = if self.at_punct(Punct::Comma) { here } else { self.previous_span().end_point() };
        self.report(
            Diagnostic::new(Code::UnexpectedToken, here, format!("expected `;` behind a suffix, found {found}"))
                .label("expected `;` behind a suffix")
                .suggest(at, ";", "each suffix of a map ends with a `;` of its own"),
        )
    }

    /// Any name that is no keyword.
    pub(in super::super) fn name(&mut self, what: &str) -> Parsed<Ident> {
        if !self.at_name() {
            return Err(self.expected(what));
        }
        let name = self.current_text().to_string();
        Ok(Ident { name, span: self.bump() })
    }

    /// A name for something new: neither a keyword nor a type.
    pub(in super::super) fn declared_name(&mut self, of: &str) -> Parsed<Ident> {
        let what = format!("the name of {of}");
        let text = self.current_text();
        match self.kind() {
            TokenKind::Keyword(_) => Err(self.reserved_name(&what, "a keyword")),
            TokenKind::Name if Scalar::from_name(text).is_some() => Err(self.reserved_name(&what, "a type")),
            TokenKind::Punct(Punct::Star | Punct::And) => Err(self.pointer_declaration()),
            _ => self.name(&what),
        }
    }

    fn reserved_name(&mut self, what: &str, is: &str) -> Failed {
        let (span, text) = (self.span(), self.current_text());
        self.report(
            Diagnostic::new(Code::ReservedName, span, format!("`{text}` is {is} and cannot be {what}")).suggest(
                span,
                format!("{text}_"),
                "choose another name",
            ),
        )
    }

    pub(in super::super) fn too_deep(&mut self, span: Span) -> Failed {
        let failed = self.report(
            Diagnostic::new(Code::TooDeep, span, "this is nested too deeply")
                .help("store parts of it in locals, or split the function"),
        );
        self.stopped = true;
        self.at = self.tokens.len() - 1;
        failed
    }
}
