//! From text to tokens. Every byte of the text is looked at once; whatever cannot be a token is reported and skipped.

mod comment;
mod number;
mod quote;

pub(super) use comment::Comment;

use super::token::{Keyword, Punct, Token, TokenKind};
use crate::diag::{Code, Diagnostic, Sink};
use crate::source::{FileId, Span};

/// What lexing a file gives.
pub(super) struct Lexed {
    /// Tokens; the last one is [`TokenKind::Eof`].
    pub(super) tokens: Vec<Token>,
    /// Comments that stand on lines of their own, in source order.
    pub(super) comments: Vec<Comment>,
}

/// Lexes the whole of `text`, the text of `file`.
pub(super) fn lex(text: &str, file: FileId, sink: &mut Sink) -> Lexed {
    let mut lexer = Lexer { text, file, at: 0, tokens: Vec::new(), comments: Vec::new(), in_pragma: false, sink };
    lexer.run();
    Lexed { tokens: lexer.tokens, comments: lexer.comments }
}

struct Lexer<'a> {
    text: &'a str,
    file: FileId,
    at: usize,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
    in_pragma: bool,
    sink: &'a mut Sink,
}

/// Whether a name may begin with it.
fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Whether a name may go on with it.
fn continues_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Lexer<'a> {
    fn run(&mut self) {
        self.eat("\u{feff}");
        while let Some(c) = self.peek() {
            self.token(c);
        }
        self.end_pragma();
        // The end is where the last token ends, so that a message about it does not point behind comments.
        let start_of_file = Span::new(self.file, 0, 0);
        let end = self.tokens.last().map_or(start_of_file, |token| token.span.end_point());
        self.tokens.push(Token { kind: TokenKind::Eof, span: end });
    }

    fn token(&mut self, c: char) {
        let start = self.at;
        match c {
            '\n' => {
                self.end_pragma();
                self.at += 1;
            }
            ' ' | '\t' | '\r' => self.at += 1,
            '#' => self.hash(),
            '/' if self.rest().starts_with("//") => self.line_comment(),
            '/' if self.rest().starts_with("/*") => self.block_comment(),
            '\'' => self.character(),
            '"' => self.string(),
            '0'..='9' => self.number(),
            '.' if self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            c if starts_name(c) || c.is_alphabetic() => self.name(),
            _ => match Punct::ALL.iter().find(|punct| self.rest().starts_with(punct.text())) {
                Some(&punct) => {
                    self.at += punct.text().len();
                    self.push(TokenKind::Punct(punct), start);
                }
                None => self.bad_character(c),
            },
        }
    }

    fn name(&mut self) {
        let start = self.at;
        self.skip_while(|c| continues_name(c) || (!c.is_ascii() && c.is_alphanumeric()));
        let text = &self.text[start..self.at];
        if let Some(odd) = text.chars().find(|c| !c.is_ascii()) {
            self.sink.push(
                Diagnostic::new(Code::BadCharacter, self.span(start), format!("`{odd}` cannot be part of a name"))
                    .label("not an ASCII name")
                    .help("names are made of the letters A to Z and a to z, digits and `_`"),
            );
        }
        let kind = Keyword::from_text(text).map_or(TokenKind::Name, TokenKind::Keyword);
        self.push(kind, start);
    }

    fn bad_character(&mut self, c: char) {
        let start = self.at;
        self.at += c.len_utf8();
        let shown = if c.is_control() || c.is_whitespace() {
            format!("character U+{:04X}", c as u32)
        } else {
            format!("character `{c}`")
        };
        let mut diagnostic =
            Diagnostic::new(Code::BadCharacter, self.span(start), format!("{shown} has no meaning in HiDP"));
        let ascii = ascii_lookalike(c);
        if !ascii.is_empty() {
            let text = if ascii == " " { "write an ordinary space".to_string() } else { format!("write `{ascii}`") };
            diagnostic = diagnostic.suggest(self.span(start), ascii, text);
        } else if !c.is_ascii() {
            diagnostic = diagnostic.note(format!("it is U+{:04X}", c as u32));
        }
        self.sink.push(diagnostic);
        if c.is_whitespace() || c.is_control() {
            return;
        }
        let meant = Punct::ALL.iter().find(|punct| punct.text() == ascii);
        self.push(meant.map_or(TokenKind::Unknown, |&punct| TokenKind::Punct(punct)), start);
    }

    fn end_pragma(&mut self) {
        if std::mem::take(&mut self.in_pragma) {
            self.push(TokenKind::PragmaEnd, self.at);
        }
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = self.span(start);
        self.tokens.push(Token { kind, span });
    }

    /// From `start` to where the lexer is.
    fn span(&self, start: usize) -> Span {
        Span::new(self.file, start, self.at)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn skip_while(&mut self, mut wanted: impl FnMut(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    }
}

/// What was probably meant by a character that word processors and papers like; empty if there is none.
fn ascii_lookalike(c: char) -> &'static str {
    match c {
        '\u{2018}' | '\u{2019}' | '`' | '´' => "'",
        '\u{201c}' | '\u{201d}' => "\"",
        '\u{2212}' | '\u{2013}' | '\u{2014}' => "-",
        '×' | '·' | '∗' => "*",
        '÷' => "/",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '≔' => ":=",
        '←' => "=",
        '\u{ff08}' => "(",
        '\u{ff09}' => ")",
        '\u{ff1b}' => ";",
        '\u{ff0c}' => ",",
        c if c.is_whitespace() => " ",
        _ => "",
    }
}
