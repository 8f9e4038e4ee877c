//! Recursive-descent parser. It reports every error it can tell apart and goes on at the next `;`, `}` or item.
//!
//! A function that returns [`Parsed`] has reported an error when it returns [`Failed`]; whoever cannot go on passes that up,
//! statements and items recover.

mod args;
mod codelets;
mod directives;
mod errors;
mod expressions;
mod functions;
mod items;
mod maps;
pub(super) mod operators;
mod pins;
mod primary;
mod recovery;
mod recurrences;
mod statements;

use super::ast;
use super::lexer::{self, Comment};
use super::token::{Keyword, Punct, Token, TokenKind};
use crate::diag::Sink;
use crate::source::{FileId, SourceMap, Span};

/// How high an expression's tree may be. Every phase recurses over the tree, so this and [`MAX_DEPTH`] bound the stack that
/// any program needs.
const MAX_HEIGHT: usize = 200;

/// How deep statements and expressions may be nested: 100 statements or parentheses, or three times as many right operands.
const MAX_DEPTH: usize = 300;
const NESTED: usize = 3;
const RIGHT_OPERAND: usize = 1;

/// An error was reported.
struct Failed;

type Parsed<T> = Result<T, Failed>;

/// Parses a file. What cannot be parsed is reported and left out.
pub fn parse(sources: &SourceMap, file: FileId, sink: &mut Sink) -> ast::File {
    let text = sources.file(file).text();
    let lexed = lexer::lex(text, file, sink);
    let mut parser = Parser {
        text,
        tokens: lexed.tokens,
        comments: lexed.comments,
        at: 0,
        depth: 0,
        height: 0,
        open_braces: Vec::new(),
        suspect: None,
        unclosed_at: None,
        stopped: false,
        sink,
    };
    parser.file()
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
    at: usize,
    /// Of the statements and expressions that are open, in the unit of [`MAX_DEPTH`].
    depth: usize,
    /// Height of the expression that was parsed last.
    height: usize,
    /// Where the braces that are open were opened.
    open_braces: Vec<Span>,
    /// A brace of this item and its partner, where the partner stands further left than the brace's line: if a brace is
    /// missing, then probably between the two.
    suspect: Option<(Span, Span)>,
    /// Where a missing closing brace was reported: once is enough for all that are open there.
    unclosed_at: Option<usize>,
    /// Set where the nesting is too deep: nothing behind it is looked at.
    stopped: bool,
    sink: &'a mut Sink,
}

impl<'a> Parser<'a> {
    fn kind(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    /// The kind of the token `ahead` of the current one.
    fn kind_at(&self, ahead: usize) -> &TokenKind {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span of the token before the current one; at the start of the file, its first byte.
    fn previous_span(&self) -> Span {
        match self.at.checked_sub(1) {
            Some(previous) => self.tokens[previous].span,
            None => self.span().start_point(),
        }
    }

    /// From a start to the end of the last token eaten.
    fn since(&self, start: Span) -> Span {
        if self.previous_span().end > start.start { start.to(self.previous_span()) } else { start.start_point() }
    }

    fn text_of(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The text of the current token.
    fn current_text(&self) -> &'a str {
        self.text_of(self.span())
    }

    fn bump(&mut self) -> Span {
        let span = self.span();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        span
    }

    fn at_punct(&self, punct: Punct) -> bool {
        *self.kind() == TokenKind::Punct(punct)
    }

    fn punct_at(&self, ahead: usize, punct: Punct) -> bool {
        *self.kind_at(ahead) == TokenKind::Punct(punct)
    }

    fn at_keyword(&self, keyword: Keyword) -> bool {
        *self.kind() == TokenKind::Keyword(keyword)
    }

    fn at_name(&self) -> bool {
        *self.kind() == TokenKind::Name
    }

    fn name_at(&self, ahead: usize) -> bool {
        *self.kind_at(ahead) == TokenKind::Name
    }

    fn at_eof(&self) -> bool {
        *self.kind() == TokenKind::Eof
    }

    fn eat(&mut self, punct: Punct) -> Option<Span> {
        self.at_punct(punct).then(|| self.bump())
    }

    fn eat_keyword(&mut self, keyword: Keyword) -> Option<Span> {
        self.at_keyword(keyword).then(|| self.bump())
    }

    /// Whether a line break lies between the last token eaten and the current one.
    fn on_new_line(&self) -> bool {
        self.text[self.previous_span().end as usize..self.span().start as usize].contains('\n')
    }

    /// Runs `parse` one level deeper; an error if that is too deep.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.deeper_by(NESTED, parse)
    }

    fn deeper_by<T>(&mut self, cost: usize, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth + cost > MAX_DEPTH {
            return Err(self.too_deep(self.span()));
        }
        self.depth += cost;
        let result = parse(self);
        self.depth -= cost;
        result
    }
}
