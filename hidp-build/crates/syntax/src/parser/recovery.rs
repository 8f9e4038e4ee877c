//! Where the parser goes on after an error. Everything here consumes at least one token or stops where its caller does.

use super::{Failed, Keyword, Parsed, Parser, Punct, TokenKind};
use crate::source::Span;

impl Parser<'_> {
    /// Whether nothing that stands here can belong to a body: an item begins, or the file ends.
    pub(super) fn at_end_of_items_body(&self) -> bool {
        match self.kind() {
            TokenKind::Eof => true,
            TokenKind::Keyword(keyword) => starts_item(*keyword) && *keyword != Keyword::Const,
            // Nothing else begins with two names and a text.
            TokenKind::Name => self.at_codelet() && matches!(self.kind_at(2), TokenKind::Str(_)),
            _ => false,
        }
    }

    /// After an error in a block: behind the next `;` or nested block, or before something that begins a statement on its
    /// own line, or before the block's end.
    pub(super) fn recover_in_block(&mut self, Failed: Failed) {
        loop {
            if self.at_punct(Punct::CloseBrace) || self.at_end_of_items_body() {
                return;
            }
            if self.at_punct(Punct::OpenBrace) {
                self.skip_braces();
                return;
            }
            if self.eat(Punct::Semicolon).is_some() {
                return;
            }
            self.bump();
            if self.starts_statement_line() {
                return;
            }
        }
    }

    /// After an error in the head of a loop: before the brace that opens its body, if that stands on the same line.
    pub(super) fn recover_before_body(&mut self, failed: Failed) -> Parsed<()> {
        while !self.at_punct(Punct::OpenBrace) {
            if self.at_eof() || self.at_punct(Punct::CloseBrace) {
                return Err(failed);
            }
            self.bump();
            if self.on_new_line() {
                return Err(failed);
            }
        }
        Ok(())
    }

    pub(super) fn starts_statement_line(&self) -> bool {
        let begins = match self.kind() {
            TokenKind::PragmaStart => true,
            TokenKind::Keyword(keyword) => matches!(
                keyword,
                Keyword::Map
                    | Keyword::If
                    | Keyword::For
                    | Keyword::While
                    | Keyword::Return
                    | Keyword::Break
                    | Keyword::Continue
                    | Keyword::Atomic
                    | Keyword::Swap
            ),
            _ => false,
        };
        begins && self.on_new_line()
    }

    /// After an error in a parameter list: behind its `;`, or before the next list or the body.
    pub(super) fn recover_in_header(&mut self, Failed: Failed) {
        loop {
            let next_list =
                matches!(self.kind(), TokenKind::Keyword(Keyword::Input | Keyword::Output | Keyword::Inout));
            let body = self.at_punct(Punct::OpenBrace) || self.at_punct(Punct::CloseBrace);
            if next_list || body || self.at_end_of_items_body() || self.eat(Punct::Semicolon).is_some() {
                return;
            }
            self.bump();
        }
    }

    /// After an error in a parenthesised head that began at `start`: behind its closing parenthesis, if that stands before
    /// the body; otherwise the error is passed on.
    pub(super) fn recover_behind_parenthesis(&mut self, failed: Failed, start: Span) -> Parsed<()> {
        let mut at = self.at;
        while at > 0 && self.tokens[at].span.start > start.start {
            at -= 1;
        }
        let mut open = 0usize;
        while at + 1 < self.tokens.len() {
            match self.tokens[at].kind {
                TokenKind::Punct(Punct::OpenParen) => open += 1,
                TokenKind::Punct(Punct::CloseParen) => {
                    open = open.saturating_sub(1);
                    if open == 0 && at >= self.at {
                        self.at = at + 1;
                        return Ok(());
                    }
                }
                TokenKind::Punct(Punct::OpenBrace | Punct::CloseBrace) if at >= self.at => break,
                _ => {}
            }
            at += 1;
        }
        Err(failed)
    }

    /// After an error in an item that began at token `start`: before the next item.
    pub(super) fn recover_between_items(&mut self, Failed: Failed, start: usize) {
        if self.at == start {
            self.bump();
        }
        self.open_braces.clear();
        loop {
            match *self.kind() {
                TokenKind::Eof | TokenKind::PragmaStart => return,
                TokenKind::Keyword(keyword) if starts_item(keyword) => return,
                TokenKind::Name if self.on_new_line() && self.at_probable_item() => return,
                TokenKind::Punct(Punct::OpenBrace) => self.skip_braces(),
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Over a brace and all up to its partner, the next function or the end of the file.
    pub(super) fn skip_braces(&mut self) {
        let mut open = 0usize;
        loop {
            match *self.kind() {
                TokenKind::Eof | TokenKind::Keyword(Keyword::Function | Keyword::Import) => return,
                TokenKind::Punct(Punct::OpenBrace) => open += 1,
                TokenKind::Punct(Punct::CloseBrace) => {
                    open -= 1;
                    if open == 0 {
                        self.bump();
                        return;
                    }
                }
                _ => {}
            }
            self.bump();
        }
    }
}

/// Whether items begin with it.
fn starts_item(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::Function
            | Keyword::Recurrence
            | Keyword::Static
            | Keyword::Extern
            | Keyword::Struct
            | Keyword::Const
            | Keyword::Import
    )
}
