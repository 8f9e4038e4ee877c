//! Characters and strings.

use super::Lexer;
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::token::TokenKind;

impl Lexer<'_> {
    /// At `'`. Always makes a token.
    pub(super) fn character(&mut self) {
        let start = self.at;
        let content = self.quoted('\'');
        let value = match content.as_deref() {
            None => return self.push(TokenKind::Unknown, start),
            Some(&[c]) => u8::try_from(c).unwrap_or_else(|_| {
                self.bad_quote(start, "a character literal holds one ASCII character");
                0
            }),
            Some([]) => {
                self.bad_quote(start, "this character literal is empty");
                0
            }
            Some([..]) => {
                self.bad_quote(start, "a character literal holds one character");
                0
            }
        };
        self.push(TokenKind::Char(value), start);
    }

    /// At `"`. A string without end may hold anything, so it is no token that the parser would look at.
    pub(super) fn string(&mut self) {
        let start = self.at;
        match self.quoted('"') {
            Some(content) => {
                let text = content.into_iter().map(|c| char::from_u32(c).unwrap_or('\u{fffd}')).collect();
                self.push(TokenKind::Str(text), start);
            }
            None => self.push(TokenKind::Unknown, start),
        }
    }

    /// Up to the closing quote: characters with escapes resolved (`\x80` to `\xff` as those values). `None` without a
    /// closing quote on the line.
    fn quoted(&mut self, quote: char) -> Option<Vec<u32>> {
        let start = self.at;
        self.at += 1;
        let mut content = Vec::new();
        loop {
            match self.peek() {
                None | Some('\n') => {
                    self.unclosed_quote(start, quote);
                    return None;
                }
                Some(c) if c == quote => {
                    self.at += 1;
                    return Some(content);
                }
                Some('\\') => content.push(self.escape()),
                Some(c) => {
                    self.at += c.len_utf8();
                    // A character beyond ASCII must not look like an escape of one byte.
                    content.push(if quote == '\'' && !c.is_ascii() { u32::MAX } else { c as u32 });
                }
            }
        }
    }

    /// At `\`.
    fn escape(&mut self) -> u32 {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.peek().filter(|c| *c != '\n') else {
            return u32::from(b'\\');
        };
        self.at += c.len_utf8();
        match c {
            'n' => u32::from(b'\n'),
            't' => u32::from(b'\t'),
            'r' => u32::from(b'\r'),
            '0' => 0,
            '\\' | '\'' | '"' => c as u32,
            'x' => self.hex_escape(start),
            _ => {
                let span = self.span(start);
                self.sink.push(
                    Diagnostic::new(Code::BadQuote, span, format!("`\\{c}` is no escape"))
                        .help("the escapes are `\\n`, `\\t`, `\\r`, `\\0`, `\\\\`, `\\'`, `\\\"` and `\\x41`"),
                );
                u32::from(b'?')
            }
        }
    }

    fn hex_escape(&mut self, start: usize) -> u32 {
        let digits_start = self.at;
        while self.at - digits_start < 2 && self.rest().starts_with(|c: char| c.is_ascii_hexdigit()) {
            self.at += 1;
        }
        let digits = &self.text[digits_start..self.at];
        if digits.len() != 2 {
            self.bad_quote(start, "`\\x` is followed by two hexadecimal digits");
        }
        u32::from_str_radix(digits, 16).unwrap_or(0)
    }

    fn unclosed_quote(&mut self, start: usize, quote: char) {
        let what = if quote == '"' { "string" } else { "character literal" };
        let opening = Span::new(self.file, start, start + 1);
        self.sink.push(
            Diagnostic::new(Code::BadQuote, opening, format!("this {what} has no closing quote on its line"))
                .label("opened here"),
        );
    }

    fn bad_quote(&mut self, start: usize, headline: &str) {
        let span = self.span(start);
        self.sink.push(Diagnostic::new(Code::BadQuote, span, headline));
    }
}
