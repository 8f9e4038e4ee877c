//! Errors of expressions.

use super::super::{Failed, Parsed, Parser, Punct, RIGHT_OPERAND, TokenKind, operators};
use crate::ast::{Expr, ExprKind};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

impl Parser<'_> {
    pub(in super::super) fn string_as_value(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::UnexpectedToken, span, "a string is no value")
                .help("strings name operators of primitives, `\"+\"`, and imported files"),
        )
    }

    /// Whether the current token stands directly behind a `-`.
    pub(in super::super) fn behind_minus(&self) -> bool {
        let before = self.previous_span();
        before.end == self.span().start && self.text_of(before) == "-"
    }

    /// At the `>` of `a->v`.
    pub(in super::super) fn arrow(&mut self) -> Failed {
        let span = self.previous_span().to(self.span());
        self.report(Diagnostic::new(Code::NotHidp, span, "HiDP has no `->`").note("HiDP has no pointers").suggest(
            span,
            ".",
            "a field is read with `.`",
        ))
    }

    pub(in super::super) fn type_as_value(&mut self) -> Failed {
        let (span, text) = (self.span(), self.current_text());
        self.report(
            Diagnostic::new(Code::UnexpectedToken, span, format!("expected an expression, found the type `{text}`"))
                .help(format!("a conversion is written `{text}(x)` or `({text})x`")),
        )
    }

    pub(in super::super) fn pointer_operator(&mut self) -> Failed {
        let (span, text) = (self.span(), self.current_text());
        self.report(
            Diagnostic::new(Code::NotHidp, span, format!("there is no prefix operator `{text}`"))
                .note("HiDP has no pointers")
                .help("elements are read and written by index: `a[i]`"),
        )
    }

    /// At the second `*` of `a ** b`.
    pub(in super::super) fn power(&mut self, left: &Expr, star: Span) -> Failed {
        let operator = star.to(self.bump());
        let right = match self.deeper_by(RIGHT_OPERAND, Self::unary) {
            Ok(right) => right,
            Err(failed) => return failed,
        };
        // `a * b ** c` is a product with a power, `-b ** c` a power's negation.
        let mut base = left;
        while let ExprKind::Binary { right: last, .. } | ExprKind::Unary { operand: last, .. } = &base.kind
            && last.span.end == base.span.end
        {
            base = last;
        }
        let power = format!("pow({}, {})", self.text_of(base.span), self.text_of(right.span));
        self.report(Diagnostic::new(Code::NotHidp, operator, "HiDP has no `**`").suggest(
            base.span.to(right.span),
            power,
            "a power is a function",
        ))
    }

    /// At `++` or `--`, before or behind an operand.
    pub(in super::super) fn prefix_increment(&mut self) -> Failed {
        let operator = self.bump();
        let sign = &self.text_of(operator)[..1];
        let before = self.at.checked_sub(2).map(|at| &self.tokens[at]);
        let behind_name = before.is_some_and(|token| {
            token.kind == TokenKind::Name && !self.text[token.span.end as usize..operator.start as usize].contains('\n')
        });
        let mut diagnostic = Diagnostic::new(Code::Increment, operator, format!("HiDP has no `{sign}{sign}`"));
        if behind_name {
            diagnostic = diagnostic.suggest(operator, format!(" {sign}= 1"), "write the assignment");
        } else if self.at_name() {
            let name = self.current_text();
            let span = operator.to(self.span());
            diagnostic = diagnostic.suggest(span, format!("{name} {sign}= 1"), "write the assignment");
        } else {
            diagnostic = diagnostic.help(format!("add with an assignment of its own: `x {sign}= 1;`"));
        }
        self.report(diagnostic)
    }

    /// At a comma between expressions.
    pub(in super::super) fn comma_operator(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::CommaOperator, span, "HiDP has no comma operator")
                .help("write a statement for each part"),
        )
    }

    /// At the comma of `x = 1, y = 2;`.
    pub(in super::super) fn comma_between_assignments(&mut self) -> Failed {
        let span = self.span();
        self.report(Diagnostic::new(Code::CommaOperator, span, "HiDP has no comma operator").suggest(
            span,
            ";",
            "end the statement here",
        ))
    }

    /// At the comma of `A[i, j]`.
    pub(in super::super) fn comma_in_subscript(&mut self) -> Failed {
        let comma = self.span();
        let next = self.tokens[(self.at + 1).min(self.tokens.len() - 1)].span;
        let through_blank = Span { end: next.start.max(comma.end), ..comma };
        self.report(Diagnostic::new(Code::CommaOperator, comma, "each dimension has its own brackets").suggest(
            through_blank,
            "][",
            "close and open brackets",
        ))
    }

    /// At `=` where a value was expected to end.
    pub(in super::super) fn assignment_as_value(&mut self, left: Span) -> Failed {
        let equals = self.span();
        self.report(
            Diagnostic::new(Code::AssignmentAsValue, equals, "an assignment has no value")
                .also(left, "assigned here")
                .suggest(equals, "==", "compare with `==`"),
        )
    }

    /// Reports `x = y = z`; `first` is the first `=`.
    pub(in super::super) fn refuse_chained_assignment(&mut self, first: Span) -> Parsed<()> {
        let TokenKind::Punct(punct) = *self.kind() else { return Ok(()) };
        if operators::assignment(punct).is_none() {
            return Ok(());
        }
        let second = self.span();
        Err(self.report(
            Diagnostic::new(Code::AssignmentAsValue, second, "an assignment has no value")
                .label("second assignment of this statement")
                .also(first, "first assignment")
                .help("write two statements"),
        ))
    }

    pub(in super::super) fn call_of_value(&mut self, value: Span) -> Failed {
        let open = self.span();
        let mut diagnostic =
            Diagnostic::new(Code::UnexpectedToken, open, "this value cannot be called").also(value, "a value");
        if self.range_until_close() {
            diagnostic = diagnostic.suggest(open, "[", "a section is opened by `[`");
        }
        self.report(diagnostic)
    }

    /// At the colon of `a(0:3)`.
    pub(in super::super) fn section_in_parentheses(&mut self, open: Span) -> Failed {
        let span = self.span();
        self.report(Diagnostic::new(Code::BadRange, span, "arguments hold no ranges").suggest(
            open,
            "[",
            "a section of an array is opened by `[`",
        ))
    }

    /// Whether a colon stands before the bracket that closes the one that stands here.
    fn range_until_close(&self) -> bool {
        let rest = &self.tokens[self.at..];
        let colon = rest.iter().position(|token| token.kind == TokenKind::Punct(Punct::Colon));
        let end = rest.iter().position(|token| {
            matches!(token.kind, TokenKind::Punct(Punct::CloseParen | Punct::CloseBracket | Punct::Semicolon))
        });
        colon.zip(end).is_some_and(|(colon, end)| colon < end)
    }
}
