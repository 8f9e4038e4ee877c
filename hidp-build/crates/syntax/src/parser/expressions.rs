//! Expressions: precedence, prefix and postfix operators. What they are built from is in [`super::primary`].

use super::operators::{infix, precedence};
use super::{MAX_HEIGHT, Parsed, Parser, Punct, RIGHT_OPERAND, TokenKind};
use crate::ast::{Expr, ExprKind, Subscript, UnaryOp};
use crate::source::Span;

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(Self::select)
    }

    /// `c ? a : b`
    fn select(&mut self) -> Parsed<Expr> {
        let condition = self.binary(1)?;
        if self.eat(Punct::Question).is_none() {
            return Ok(condition);
        }
        let mut height = self.height;
        let then = self.expr()?;
        height = height.max(self.height);
        self.expect(Punct::Colon, "between the two values of `? :`")?;
        let otherwise = self.deeper(Self::select)?;
        self.height = height.max(self.height);
        let span = condition.span.to(otherwise.span);
        let kind =
            ExprKind::Select { condition: Box::new(condition), then: Box::new(then), otherwise: Box::new(otherwise) };
        self.grown(kind, span)
    }

    /// Operators that bind at least as tightly as `lowest`.
    fn binary(&mut self, lowest: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let TokenKind::Punct(punct) = *self.kind() {
            let Some(op) = infix(punct).filter(|op| precedence(*op) >= lowest) else { break };
            let op_span = self.bump();
            if punct == Punct::Star && self.at_punct(Punct::Star) && self.previous_span().end == self.span().start {
                return Err(self.power(&left, op_span));
            }
            let left_height = self.height;
            let right = self.deeper_by(RIGHT_OPERAND, |parser| parser.binary(precedence(op) + 1))?;
            self.height = left_height.max(self.height);
            let span = left.span.to(right.span);
            let kind = ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), op_span };
            left = self.grown(kind, span)?;
        }
        Ok(left)
    }

    pub(super) fn unary(&mut self) -> Parsed<Expr> {
        let op = match self.kind() {
            TokenKind::Punct(Punct::Minus) => UnaryOp::Neg,
            TokenKind::Punct(Punct::Plus) => UnaryOp::Plus,
            TokenKind::Punct(Punct::Not) => UnaryOp::Not,
            TokenKind::Punct(Punct::Tilde) => UnaryOp::BitNot,
            TokenKind::Punct(Punct::Increment | Punct::Decrement) => return Err(self.prefix_increment()),
            TokenKind::Punct(Punct::Star | Punct::And) => return Err(self.pointer_operator()),
            TokenKind::Punct(Punct::OpenParen) if self.at_cast() => return self.cast(),
            _ => return self.postfix(),
        };
        let start = self.bump();
        let operand = self.deeper(Self::unary)?;
        let span = start.to(operand.span);
        self.grown(ExprKind::Unary { op, operand: Box::new(operand) }, span)
    }

    /// `(type)e`
    fn cast(&mut self) -> Parsed<Expr> {
        let start = self.bump();
        let ty = self.type_name()?;
        self.expect_close(Punct::CloseParen, start)?;
        let operand = self.deeper(Self::unary)?;
        let span = start.to(operand.span);
        self.grown(ExprKind::Cast { ty, operand: Box::new(operand), call_style: false }, span)
    }

    /// Subscripts and fields behind a value.
    pub(super) fn postfix(&mut self) -> Parsed<Expr> {
        let mut value = self.primary()?;
        loop {
            if self.at_punct(Punct::OpenBracket) {
                value = self.subscripted(value)?;
            } else if self.eat(Punct::Dot).is_some() {
                let field = self.name("a field's name")?;
                let span = value.span.to(field.span);
                value = self.grown(ExprKind::Field { base: Box::new(value), field }, span)?;
            } else if self.at_punct(Punct::OpenParen) {
                return Err(self.call_of_value(value.span));
            } else {
                return Ok(value);
            }
        }
    }

    fn subscripted(&mut self, base: Expr) -> Parsed<Expr> {
        let mut height = self.height;
        let mut subscripts = Vec::new();
        while self.at_punct(Punct::OpenBracket) {
            subscripts.push(self.subscript()?);
            height = height.max(self.height);
        }
        self.height = height;
        let span = self.since(base.span);
        self.grown(ExprKind::Index { base: Box::new(base), subscripts }, span)
    }

    /// `[e]`, `[*]`, `[a:b)`, `[adjacent t of p]`
    pub(super) fn subscript(&mut self) -> Parsed<Subscript> {
        let open = self.span();
        if self.at_piece() {
            return self.piece();
        }
        if self.punct_at(1, Punct::Star) && self.punct_at(2, Punct::CloseBracket) {
            self.bump();
            self.bump();
            self.bump();
            return Ok(Subscript::All(self.since(open)));
        }
        self.bump();
        self.refuse_open_bound(open)?;
        let first = self.expr()?;
        if self.at_punct(Punct::Colon) {
            return self.range_after_low(open, first).map(Subscript::Range);
        }
        if self.at_punct(Punct::Comma) {
            return Err(self.comma_in_subscript());
        }
        self.expect_close(Punct::CloseBracket, open)?;
        Ok(Subscript::At(first))
    }

    /// A node over what was parsed last: one higher, and an error if that is too high.
    pub(super) fn grown(&mut self, kind: ExprKind, span: Span) -> Parsed<Expr> {
        self.height += 1;
        if self.height > MAX_HEIGHT {
            return Err(self.too_deep(span.start_point()));
        }
        Ok(Expr { kind, span })
    }
}
