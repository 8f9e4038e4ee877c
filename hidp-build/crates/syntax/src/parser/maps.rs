//! Map blocks, their iterators, ranges and suffixes.

use super::{Parsed, Parser, Punct, TokenKind};
use crate::ast::{Call, Expr, Iter, Map, Range};
use crate::source::Span;

/// The primitives that can be suffixes.
const SUFFIXES: [&str; 3] = ["reduce", "scan", "exscan"];

impl Parser<'_> {
    /// `map { iterators statements } suffixes`
    pub(super) fn map(&mut self) -> Parsed<Map> {
        let map_span = self.bump();
        if !self.at_punct(Punct::OpenBrace) {
            return Err(self.expected("`{` behind `map`"));
        }
        let open = self.open_brace();
        let mut iters = Vec::new();
        let mut all_parsed = true;
        while self.at_iter() {
            match self.iter() {
                Ok(iter) => iters.push(iter),
                Err(failed) => {
                    all_parsed = false;
                    self.recover_in_block(failed);
                }
            }
        }
        if iters.is_empty() && all_parsed {
            self.map_without_iterator(map_span);
        }
        let body = self.block_after_open(open);
        let mut suffixes = Vec::new();
        while self.at_suffix() {
            match self.suffix() {
                Ok(suffix) => suffixes.push(suffix),
                Err(failed) => self.recover_in_block(failed),
            }
        }
        Ok(Map { iters, body, suffixes, map_span })
    }

    /// Whether an iterator stands here, be it written with `=` or with a type.
    fn at_iter(&self) -> bool {
        let assigned_range = self.punct_at(1, Punct::Assign) && self.punct_at(2, Punct::OpenBracket);
        let typed = self.name_at(1) && self.punct_at(2, Punct::Bind);
        self.at_name() && (self.punct_at(1, Punct::Bind) || assigned_range || typed || self.is_word_at(1, "in"))
    }

    /// Whether this name stands there.
    pub(super) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        let token = self.tokens.get(self.at + ahead);
        token.is_some_and(|token| token.kind == TokenKind::Name && self.text_of(token.span) == word)
    }

    /// `m := [0:M);`
    fn iter(&mut self) -> Parsed<Iter> {
        if self.is_word_at(1, "in") {
            let name = self.bump();
            return Err(self.range_of_rust(name.to(self.span()), &format!("{} :=", self.text_of(name))));
        }
        if self.name_at(1) {
            self.typed_iterator();
        }
        let name = self.declared_name("an iterator")?;
        if self.at_punct(Punct::Assign) {
            self.iterator_assigned();
        }
        self.bump();
        let range = self.range()?;
        let span = self.since(name.span);
        if self.at_punct(Punct::Comma) && self.name_at(1) && self.punct_at(2, Punct::Bind) {
            self.comma_between_iterators();
            self.bump();
            return Ok(Iter { name, range, span });
        }
        self.expect_semicolon("an iterator")?;
        Ok(Iter { name, range, span })
    }

    /// `[0:M)` with any brackets.
    pub(super) fn range(&mut self) -> Parsed<Range> {
        let starts = self.at_punct(Punct::OpenBracket) || self.at_punct(Punct::OpenParen);
        if !starts && self.bounds_of_rust(self.span()).is_some() {
            let bind = self.previous_span();
            return Err(self.range_of_rust(bind, self.text_of(bind)));
        }
        if !starts {
            return Err(self.range_without_bracket());
        }
        if self.punct_at(1, Punct::Star) {
            return Err(self.iterator_over_all());
        }
        let open = self.bump();
        self.refuse_open_bound(open)?;
        let low = self.expr()?;
        if !self.at_punct(Punct::Colon) {
            return Err(self.range_without_colon(open));
        }
        self.range_after_low(open, low)
    }

    /// At the first colon of a range that was opened at `open`.
    pub(super) fn range_after_low(&mut self, open: Span, low: Expr) -> Parsed<Range> {
        let low_inclusive = self.text_of(open) == "[";
        let mut height = self.height;
        self.bump();
        self.refuse_open_bound(open)?;
        let high = self.expr()?;
        height = height.max(self.height);
        let step = match self.eat(Punct::Colon) {
            None => None,
            Some(_) => Some(Box::new(self.expr()?)),
        };
        self.height = height.max(self.height);
        let high_inclusive = match self.kind() {
            TokenKind::Punct(Punct::CloseBracket) => true,
            TokenKind::Punct(Punct::CloseParen) => false,
            TokenKind::Punct(Punct::CloseBrace) if self.punct_at(1, Punct::Semicolon) => {
                self.unclosed_range(open);
                false
            }
            _ => return Err(self.unclosed_range(open)),
        };
        self.bump();
        let span = self.since(open);
        Ok(Range { low: Box::new(low), low_inclusive, high: Box::new(high), high_inclusive, step, span })
    }

    /// Whether a `reduce`, `scan` or `exscan` over iterators stands here.
    pub(super) fn at_suffix(&self) -> bool {
        if !self.at_name() || !SUFFIXES.contains(&self.current_text()) || !self.punct_at(1, Punct::OpenParen) {
            return false;
        }
        let mut depth = 0usize;
        for token in &self.tokens[self.at + 1..] {
            match token.kind {
                TokenKind::Punct(Punct::OpenParen | Punct::OpenBracket | Punct::OpenBrace) => depth += 1,
                TokenKind::Punct(Punct::CloseParen | Punct::CloseBracket | Punct::CloseBrace) if depth > 1 => {
                    depth -= 1
                }
                TokenKind::Punct(Punct::Bind) if depth == 1 => return true,
                // Between indices and inputs of a recurrence.
                TokenKind::Punct(Punct::Semicolon) if depth > 1 => {}
                TokenKind::Punct(Punct::CloseParen | Punct::CloseBracket | Punct::CloseBrace | Punct::Semicolon)
                | TokenKind::Eof => return false,
                _ => {}
            }
        }
        false
    }

    /// Whether the third argument of what stands here may be a recurrence: a name that is no value of a map.
    pub(super) fn at_fold_of_cells(&self) -> bool {
        let (mut depth, mut commas) = (0usize, 0);
        for (at, token) in self.tokens.iter().enumerate().skip(self.at + 1) {
            match token.kind {
                TokenKind::Punct(Punct::OpenParen | Punct::OpenBracket | Punct::OpenBrace) => depth += 1,
                TokenKind::Punct(Punct::CloseParen | Punct::CloseBracket | Punct::CloseBrace) => {
                    depth = depth.saturating_sub(1);
                }
                TokenKind::Punct(Punct::Comma) if depth == 1 => commas += 1,
                TokenKind::Punct(Punct::Semicolon) | TokenKind::Eof => return false,
                _ => {}
            }
            if commas == 2 {
                let next = &self.tokens[(at + 1).min(self.tokens.len() - 1)];
                return next.kind == TokenKind::Name && !self.text_of(next.span).starts_with('_');
            }
        }
        false
    }

    fn suffix(&mut self) -> Parsed<Call> {
        let call = self.suffix_call()?;
        if self.at_punct(Punct::Comma) || self.at_suffix() {
            return Err(self.suffix_goes_on());
        }
        self.expect_semicolon("a suffix")?;
        Ok(call)
    }
}
