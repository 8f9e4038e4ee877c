//! Errors of statements and blocks.

use super::super::{Failed, Keyword, Parser, Punct, TokenKind, operators};
use crate::ast::{BinaryOp, Expr, ExprKind};
use crate::diag::{Code, Diagnostic, prints};
use crate::source::Span;

impl Parser<'_> {
    pub(in super::super) fn unclosed_block(&mut self) -> Failed {
        if self.unclosed_at.replace(self.at) == Some(self.at) {
            return Failed;
        }
        let found = self.describe_current();
        let span = self.span();
        let mut diagnostic = Diagnostic::new(Code::Unclosed, span, format!("expected `}}`, found {found}"));
        if let Some((open, close)) = self.suspect {
            diagnostic = diagnostic
                .also(open, "this brace is probably the one that is not closed")
                .also(close, "its partner by counting stands further left");
        } else if let Some(open) = self.open_braces.last() {
            diagnostic = diagnostic.also(*open, "this brace is not closed");
        }
        self.report(diagnostic)
    }

    /// Remembers the first pair of braces whose lines are not indented alike: the closing one stands further left.
    pub(in super::super) fn note_indentation(&mut self, open: Span, close: Span) {
        let indent = |at: u32| {
            let line = self.text[..at as usize].rfind('\n').map_or(0, |line_break| line_break + 1);
            let blanks = self.text[line..].len() - self.text[line..].trim_start_matches([' ', '\t']).len();
            (line, blanks)
        };
        let ((open_line, open_indent), (close_line, close_indent)) = (indent(open.start), indent(close.start));
        let begins_its_line = close_line + close_indent == close.start as usize;
        if self.suspect.is_none() && open_line != close_line && begins_its_line && close_indent < open_indent {
            self.suspect = Some((open, close));
        }
    }

    pub(in super::super) fn unmatched_brace(&mut self) -> Failed {
        let span = self.span();
        self.report(Diagnostic::new(Code::Unclosed, span, "this `}` closes nothing").suggest(span, "", "remove it"))
    }

    pub(in super::super) fn empty_statement(&mut self) -> Failed {
        let span = self.span();
        let body = matches!(
            self.at.checked_sub(1).map(|at| &self.tokens[at].kind),
            Some(TokenKind::Punct(Punct::CloseParen) | TokenKind::Keyword(Keyword::Else))
        );
        let diagnostic = Diagnostic::new(Code::EmptyStatement, span, "this `;` is an empty statement");
        self.report(if body {
            diagnostic.suggest(span, " { }", "for a body that does nothing write `{ }`")
        } else {
            diagnostic.suggest(span, "", "remove it")
        })
    }

    pub(in super::super) fn else_without_if(&mut self) -> Failed {
        let span = self.span();
        self.bump();
        self.report(Diagnostic::new(Code::UnexpectedToken, span, "`else` without `if`"))
    }

    pub(in super::super) fn local_const(&mut self) -> Failed {
        let word = self.bump();
        let through_blank = Span { end: self.span().start, ..word };
        self.report(Diagnostic::new(Code::BadDeclaration, word, "constants are declared at file level").suggest(
            through_blank,
            "",
            "declare a variable",
        ))
    }

    pub(in super::super) fn late_parameters(&mut self) -> Failed {
        let word = self.bump();
        let text = self.text_of(word);
        self.report(Diagnostic::new(
            Code::BadHeader,
            word,
            format!("`{text}` lists stand before the body of the function"),
        ))
    }

    /// A statement that C has and HiDP has not.
    pub(in super::super) fn foreign_statement(&mut self, word: &str) -> Option<Failed> {
        let instead = match word {
            "do" => "write `while (condition) { … }`",
            "switch" | "case" | "default" => "write a chain of `if` and `else`",
            "goto" => "write a loop with `break` or `continue`",
            _ => return None,
        };
        let is_ordinary = matches!(
            self.kind_at(1),
            TokenKind::Punct(punct) if operators::assignment(*punct).is_some() || *punct == Punct::OpenBracket
        );
        if is_ordinary {
            return None;
        }
        let span = self.bump();
        let failed = self.report(Diagnostic::new(Code::NotHidp, span, format!("HiDP has no `{word}`")).help(instead));
        if word == "do" && self.at_punct(Punct::OpenBrace) {
            self.skip_braces();
        }
        Some(failed)
    }

    /// Behind an expression that begins a statement, where `=` was expected.
    pub(in super::super) fn no_assignment(&mut self, value: &Expr) -> Failed {
        match self.kind() {
            TokenKind::Punct(Punct::Increment | Punct::Decrement) => return self.prefix_increment(),
            TokenKind::Punct(Punct::Comma) => return self.comma_operator(),
            TokenKind::Punct(Punct::Semicolon) => {}
            TokenKind::Punct(Punct::Not) if matches!(value.kind, ExprKind::Name(_)) => {
                return self.macro_call(value.span);
            }
            TokenKind::Name if *self.kind_at(1) == TokenKind::Punct(Punct::Assign) && !self.on_new_line() => {
                return self.assigning_function(value.span);
            }
            TokenKind::Name
            | TokenKind::Str(_)
            | TokenKind::Int { .. }
            | TokenKind::Float { .. }
            | TokenKind::Char(_)
                if !self.on_new_line() =>
            {
                return self.expected("an operator or `=`");
            }
            _ if !self.on_new_line() && !self.at_punct(Punct::CloseBrace) => {
                return self.expected("`=` or another assignment");
            }
            _ => {}
        }
        let mut diagnostic = Diagnostic::new(Code::NoEffect, value.span, "this statement has no effect");
        diagnostic = match value.kind {
            ExprKind::Binary { op: BinaryOp::Eq, op_span, .. } => diagnostic.suggest(op_span, "=", "assign with `=`"),
            _ => diagnostic.help("assign the value, or remove the statement"),
        };
        self.report(diagnostic)
    }

    /// At a name with `=` behind it, as `min=` of other languages.
    fn assigning_function(&mut self, target: Span) -> Failed {
        let (name, target) = (self.text_of(self.span()).to_owned(), self.text_of(target).to_owned());
        let span = self.bump().to(self.span());
        let diagnostic = Diagnostic::new(Code::NotHidp, span, format!("HiDP has no `{name}=`"));
        self.report(diagnostic.help(format!("write `{target} = {name}({target}, …)`")))
    }

    /// At the `!` behind the name of a macro of Rust.
    fn macro_call(&mut self, name: Span) -> Failed {
        let text = self.text_of(name).to_owned();
        let span = name.to(self.span());
        let diagnostic = Diagnostic::new(Code::NotHidp, span, format!("HiDP has no macros, and no `{text}!`"));
        self.report(if prints(&text) { diagnostic.instead_of_printing() } else { diagnostic })
    }

    pub(in super::super) fn not_assignable(&mut self, target: &Expr) -> Failed {
        let equals = self.span();
        self.report(
            Diagnostic::new(Code::NotAssignable, target.span, "this cannot be assigned to")
                .label("neither a variable, an element, a section nor a field")
                .also(equals, "assigned here"),
        )
    }

    /// At the `=` behind a call.
    pub(in super::super) fn assigned_call(&mut self, callee: Span) -> Failed {
        let (name, span) = (self.text_of(callee), self.span());
        self.report(
            Diagnostic::new(Code::NotAssignable, span, "the result of a call cannot be assigned to")
                .also(callee, format!("`{name}` is called here"))
                .help("an element of an array is written with brackets: `a[i]`"),
        )
    }

    /// At an operator behind a call that is a statement.
    pub(in super::super) fn computing_statement(&mut self, callee: Span) -> Failed {
        let (name, span) = (self.text_of(callee), self.span());
        self.report(
            Diagnostic::new(Code::NoEffect, span, "this statement has no effect")
                .also(callee, format!("the result of `{name}` is computed with and lost"))
                .help("assign the value, or call the function alone"),
        )
    }

    pub(in super::super) fn swapped_section(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::UnexpectedToken, span, "`swap` exchanges whole arrays")
                .help("to exchange parts, copy one of them to a local array first"),
        )
    }

    pub(in super::super) fn condition_missing(&mut self, word: Span) -> Failed {
        let text = self.text_of(word).to_string();
        self.expected(&format!("`(` behind `{text}`"))
    }

    pub(in super::super) fn condition_without_parentheses(&mut self, condition: Span) {
        let text = self.text_of(condition);
        self.report(Diagnostic::new(Code::UnexpectedToken, condition, "a condition stands in parentheses").suggest(
            condition,
            format!("({text})"),
            "add them",
        ));
    }
}
