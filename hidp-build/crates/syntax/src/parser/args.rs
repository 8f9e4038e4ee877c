//! Arguments of calls.

use super::{Parsed, Parser, Punct, TokenKind};
use crate::ast::{Arg, Bind, Ident};
use crate::source::Span;

impl Parser<'_> {
    /// Behind the opening parenthesis, up to and with the closing one. Only suffixes may name iterators, only other calls may bind
    /// inputs of recurrences.
    pub(super) fn args(&mut self, open: Span, of_suffix: bool) -> Parsed<(Vec<Arg>, Vec<Bind>)> {
        let mut args = Vec::new();
        let mut binds = Vec::new();
        let mut height = 0;
        let at_binds = |parser: &Self| !of_suffix && parser.at_binds();
        while !self.at_punct(Punct::CloseParen) && !at_binds(self) {
            self.height = 0;
            args.push(self.arg(of_suffix)?);
            height = height.max(self.height);
            if self.at_punct(Punct::Colon) {
                return Err(self.section_in_parentheses(open));
            }
            if self.eat(Punct::Comma).is_none() {
                break;
            }
            if self.at_punct(Punct::CloseParen) {
                return Err(self.expected("an argument"));
            }
        }
        if at_binds(self) {
            self.bump();
            height = height.max(self.binds(&mut binds)?);
        }
        self.expect_close(Punct::CloseParen, open)?;
        self.height = height;
        Ok((args, binds))
    }

    /// Whether `; name =` stands here, rather than the end of a statement that lacks a parenthesis.
    fn at_binds(&self) -> bool {
        let looks_so = self.at_punct(Punct::Semicolon) && self.name_at(1) && self.punct_at(2, Punct::Assign);
        let (end, next) = (self.span().end as usize, self.tokens[(self.at + 1).min(self.tokens.len() - 1)].span);
        looks_so && (!self.text[end..next.start as usize].contains('\n') || self.closes_before_semicolon())
    }

    /// Whether what is open is closed before the next semicolon but one.
    fn closes_before_semicolon(&self) -> bool {
        let mut depth = 0usize;
        for token in &self.tokens[self.at + 1..] {
            match token.kind {
                TokenKind::Punct(Punct::OpenParen | Punct::OpenBracket) => depth += 1,
                TokenKind::Punct(Punct::CloseParen | Punct::CloseBracket) if depth > 0 => depth -= 1,
                TokenKind::Punct(Punct::CloseParen) => return true,
                TokenKind::Punct(Punct::Semicolon | Punct::OpenBrace | Punct::CloseBrace) | TokenKind::Eof => {
                    return false;
                }
                _ => {}
            }
        }
        false
    }

    /// `s = A, t = B[lo:hi)`, and how high the expressions are.
    fn binds(&mut self, binds: &mut Vec<Bind>) -> Parsed<usize> {
        let mut height = 0;
        loop {
            let name = self.name("an input of the recurrence")?;
            self.expect(Punct::Assign, "between an input and what it is")?;
            self.height = 0;
            let value = self.expr()?;
            height = height.max(self.height);
            binds.push(Bind { name, value });
            if self.eat(Punct::Comma).is_none() {
                return Ok(height);
            }
        }
    }

    fn arg(&mut self, of_suffix: bool) -> Parsed<Arg> {
        if let TokenKind::Str(name) = self.kind().clone() {
            let span = self.bump();
            return if self.at_punct(Punct::Colon) {
                self.with_neutral(Ident { name, span })
            } else {
                Ok(Arg::Operator { name, span })
            };
        }
        if self.at_name() && self.punct_at(1, Punct::Bind) {
            return if of_suffix { self.over() } else { Err(self.iterator_in_call()) };
        }
        if self.at_name() && self.punct_at(1, Punct::Colon) {
            let op = self.name("an operator")?;
            return self.with_neutral(op);
        }
        self.expr().map(Arg::Expr)
    }

    /// At the colon of `op: neutral`.
    fn with_neutral(&mut self, op: Ident) -> Parsed<Arg> {
        self.bump();
        Ok(Arg::WithNeutral { op, neutral: self.expr()? })
    }

    /// `k := [*]`
    fn over(&mut self) -> Parsed<Arg> {
        let iter = self.name("an iterator")?;
        self.bump();
        let stars =
            self.at_punct(Punct::OpenBracket) && self.punct_at(1, Punct::Star) && self.punct_at(2, Punct::CloseBracket);
        if !stars {
            return Err(self.partial_suffix_range());
        }
        self.bump();
        self.bump();
        self.bump();
        let span = self.since(iter.span);
        Ok(Arg::Over { iter, span })
    }
}
