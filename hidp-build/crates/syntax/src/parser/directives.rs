//! `#pragma hidp` lines.

use super::{Failed, Parsed, Parser, Punct, TokenKind};
use crate::ast::{Directive, DirectiveKind, Expr, Ident, Level, PinWord};
use crate::diag::{Code, Diagnostic, near};
use crate::source::Span;

const WORDS: [&str; 32] = [
    "kernel",
    "block",
    "warp",
    "subwarp",
    "subwarp2",
    "thread",
    "ordered",
    "unordered",
    "unchecked",
    "nocontract",
    "unroll",
    "schedule",
    "allow",
    "on",
    "tblock",
    "partition",
    "tile",
    "reg",
    "lanes",
    "vec",
    "threads",
    "chunk",
    "at_once",
    "registers",
    "span",
    "split",
    "order",
    "shared",
    "global",
    "stream",
    "cached",
    "only",
];

/// Words that are reserved for directives of mappings.
const LATER: [&str; 2] = ["constant", "private"];

impl Parser<'_> {
    /// All directive lines that stand here.
    pub(super) fn directives(&mut self) -> Vec<Directive> {
        let mut directives = Vec::new();
        while *self.kind() == TokenKind::PragmaStart {
            let start = self.bump();
            if *self.kind() == TokenKind::PragmaEnd {
                self.bad_directive(start, "a directive without a word");
            }
            while *self.kind() != TokenKind::PragmaEnd && !self.at_eof() {
                match self.directive() {
                    Ok(directive) => directives.push(directive),
                    Err(Failed) => self.skip_directive(),
                }
                self.eat(Punct::Comma);
            }
            if *self.kind() == TokenKind::PragmaEnd {
                self.bump();
            }
        }
        directives
    }

    fn directive(&mut self) -> Parsed<Directive> {
        let start = self.span();
        if !self.at_name() {
            return Err(self.bad_directive(start, "a directive is a word"));
        }
        let target = self.pin_target();
        let word_at = self.span();
        let word = self.current_text();
        if !self.at_name() {
            return Err(self.bad_directive(word_at, "a directive is a word"));
        }
        self.bump();
        let has_argument = self.at_punct(Punct::OpenParen);
        if LATER.contains(&word) {
            return Err(self.later_directive(word_at, word));
        }
        let names_one = has_argument && self.name_at(1) && self.punct_at(2, Punct::Colon);
        let pin = PinWord::called(word).filter(|word| match word {
            // Alone it is a level.
            PinWord::Thread => has_argument || target.is_some(),
            // With a number alone it is about the loop that follows.
            PinWord::Unroll => names_one || target.is_some(),
            PinWord::On
            | PinWord::Tblock
            | PinWord::Partition
            | PinWord::Tile
            | PinWord::Reg
            | PinWord::Lanes
            | PinWord::Vec
            | PinWord::Threads
            | PinWord::Chunk
            | PinWord::AtOnce
            | PinWord::Registers
            | PinWord::Joined
            | PinWord::Separate
            | PinWord::Span
            | PinWord::Split
            | PinWord::Order
            | PinWord::Shared
            | PinWord::Global
            | PinWord::Stream
            | PinWord::Cached
            | PinWord::Only => true,
        });
        if let Some(word) = pin {
            let kind = self.pin(target, word)?;
            return Ok(Directive { kind, span: self.since(start) });
        }
        if target.is_some() {
            return Err(self.bad_directive(start, &format!("`{word}` is for every target, or for none")));
        }
        let kind = match (word, has_argument) {
            ("block", true) => DirectiveKind::BlockSize(self.directive_argument()?),
            ("unroll", true) => DirectiveKind::Unroll(self.directive_argument()?),
            ("unroll", false) => {
                return Err(self.bad_directive(start, "`unroll` needs the number of iterations: `unroll(4)`"));
            }
            ("schedule", true) => DirectiveKind::Schedule(self.rows()?),
            ("schedule", false) => {
                return Err(self.bad_directive(start, "`schedule` needs sums of indices: `schedule(i + j)`"));
            }
            ("allow", true) => DirectiveKind::Allow(self.codes()?),
            ("allow", false) => {
                return Err(self.bad_directive(start, "`allow` needs the codes of warnings: `allow(HD0821)`"));
            }
            _ => plain(word).ok_or_else(|| self.unknown_directive(start, word))?,
        };
        if self.at_punct(Punct::OpenParen) {
            return Err(self.bad_directive(start, &format!("`{word}` takes no argument")));
        }
        Ok(Directive { kind, span: self.since(start) })
    }

    pub(super) fn directive_argument(&mut self) -> Parsed<Expr> {
        let open = self.bump();
        if self.at_punct(Punct::CloseParen) {
            return Err(self.bad_directive(open, "a number is missing between the parentheses"));
        }
        let value = self.expr()?;
        if self.at_punct(Punct::Comma) {
            return Err(self.bad_directive(self.span(), "this directive takes one number"));
        }
        self.expect_close(Punct::CloseParen, open)?;
        Ok(value)
    }

    /// `(i + j; i)`
    fn rows(&mut self) -> Parsed<Vec<Expr>> {
        let open = self.bump();
        let mut rows = Vec::new();
        loop {
            rows.push(self.expr()?);
            if self.eat(Punct::Semicolon).is_none() {
                break;
            }
        }
        self.expect_close(Punct::CloseParen, open)?;
        Ok(rows)
    }

    /// Codes of diagnostics in parentheses.
    fn codes(&mut self) -> Parsed<Vec<Ident>> {
        let open = self.bump();
        let mut codes = Vec::new();
        loop {
            if !self.at_name() {
                return Err(self.bad_directive(self.span(), "a code is missing: `allow(HD0821)`"));
            }
            let name = self.current_text().to_owned();
            codes.push(Ident { name, span: self.bump() });
            if self.eat(Punct::Comma).is_none() {
                break;
            }
        }
        self.expect_close(Punct::CloseParen, open)?;
        Ok(codes)
    }

    /// To the next word outside parentheses, or the end of the line.
    fn skip_directive(&mut self) {
        let mut open = 0usize;
        while *self.kind() != TokenKind::PragmaEnd && !self.at_eof() {
            match self.kind() {
                TokenKind::Punct(Punct::OpenParen) => open += 1,
                TokenKind::Punct(Punct::CloseParen) => open = open.saturating_sub(1),
                TokenKind::Name if open == 0 && self.punct_before(Punct::CloseParen) => return,
                _ => {}
            }
            self.bump();
        }
    }

    fn punct_before(&self, punct: Punct) -> bool {
        self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::Punct(punct)
    }

    fn unknown_directive(&mut self, span: Span, word: &str) -> Failed {
        let mut diagnostic = Diagnostic::new(Code::UnknownDirective, span, format!("there is no directive `{word}`"));
        match near::suggest(word, WORDS) {
            Some(near) => diagnostic = diagnostic.suggest(span, near, format!("did you mean `{near}`?")),
            None => diagnostic = diagnostic.help(format!("the directives are {}", listed(&WORDS))),
        }
        self.report(diagnostic)
    }

    fn later_directive(&mut self, span: Span, word: &str) -> Failed {
        self.report(
            Diagnostic::new(
                Code::NotSupported,
                span,
                format!("the directive `{word}` is reserved, and not supported by this version"),
            )
            .help("remove it: the planner chooses what it would pin"),
        )
    }

    fn bad_directive(&mut self, span: Span, headline: &str) -> Failed {
        self.report(Diagnostic::new(Code::BadDirective, span, headline))
    }

    /// Directives before something that they cannot apply to.
    pub(super) fn misplaced_directives(&mut self, directives: &[Directive]) -> Failed {
        let Some((first, last)) = directives.first().zip(directives.last()) else {
            return self.expected("a statement");
        };
        let next = self.describe_current();
        self.report(
            Diagnostic::new(
                Code::MisplacedDirective,
                first.span.to(last.span),
                format!("a directive applies to a statement or a function, not to {next}"),
            )
            .also(self.span(), "what follows it"),
        )
    }
}

/// A directive that is one word.
fn plain(word: &str) -> Option<DirectiveKind> {
    Some(match word {
        "kernel" => DirectiveKind::Level(Level::Kernel),
        "block" => DirectiveKind::Level(Level::Block),
        "warp" => DirectiveKind::Level(Level::Warp),
        "subwarp" => DirectiveKind::Level(Level::Subwarp),
        "subwarp2" => DirectiveKind::Level(Level::Subwarp2),
        "thread" => DirectiveKind::Level(Level::Thread),
        "ordered" => DirectiveKind::Ordered,
        "unordered" => DirectiveKind::Unordered,
        "unchecked" => DirectiveKind::Unchecked,
        "nocontract" => DirectiveKind::NoContract,
        _ => return None,
    })
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
