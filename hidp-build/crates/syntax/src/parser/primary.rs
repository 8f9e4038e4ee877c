//! What expressions are built from: literals, names, calls, parentheses, struct values.

use super::{Keyword, Parsed, Parser, Punct, TokenKind};
use crate::ast::{Call, Expr, ExprKind, Ident, Literal, TypeName};
use crate::source::Span;
use crate::ty::Scalar;

impl Parser<'_> {
    /// A value without operators.
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        self.height = 0;
        let literal = match self.kind().clone() {
            TokenKind::Int { value, unsigned, long } => Literal::Int { value, unsigned, long },
            TokenKind::Float { text, single } => Literal::Float { text, single },
            TokenKind::Char(value) => Literal::Char(value),
            TokenKind::Keyword(Keyword::True) => Literal::Bool(true),
            TokenKind::Keyword(Keyword::False) => Literal::Bool(false),
            TokenKind::Keyword(Keyword::Infinity) => Literal::Infinity,
            TokenKind::Keyword(Keyword::Nan) => Literal::Nan,
            TokenKind::Keyword(Keyword::MinOf) => return self.limit(false),
            TokenKind::Keyword(Keyword::MaxOf) => return self.limit(true),
            TokenKind::Punct(Punct::OpenParen) => return self.parenthesised(),
            TokenKind::Name => return self.named(),
            TokenKind::Str(_) => return Err(self.string_as_value()),
            TokenKind::Punct(Punct::Gt) if self.behind_minus() => return Err(self.arrow()),
            _ => return Err(self.expected("an expression")),
        };
        let span = self.bump();
        Ok(Expr { kind: ExprKind::Literal(literal), span })
    }

    fn parenthesised(&mut self) -> Parsed<Expr> {
        let open = self.bump();
        let mut inner = self.expr()?;
        if self.at_punct(Punct::Comma) {
            return Err(self.comma_operator());
        }
        if self.at_punct(Punct::Assign) {
            return Err(self.assignment_as_value(inner.span));
        }
        self.expect_close(Punct::CloseParen, open)?;
        inner.span = self.since(open);
        Ok(inner)
    }

    /// A name, a call, a cast `int(x)` or a struct value.
    fn named(&mut self) -> Parsed<Expr> {
        let is_type = Scalar::from_name(self.current_text()).is_some();
        if self.punct_at(1, Punct::OpenParen) {
            return if is_type { self.call_style_cast() } else { self.call_expr() };
        }
        if self.at_struct_value() {
            return self.struct_value();
        }
        if is_type {
            return Err(self.type_as_value());
        }
        let name = self.current_text().to_string();
        let span = self.bump();
        Ok(Expr { kind: ExprKind::Name(name), span })
    }

    fn call_expr(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let call = self.call()?;
        let span = self.since(start);
        self.grown(ExprKind::Call(Box::new(call)), span)
    }

    /// `name(arguments)`
    pub(super) fn call(&mut self) -> Parsed<Call> {
        self.call_with(false)
    }

    /// `reduce("+", out, _x, k := [*])`
    pub(super) fn suffix_call(&mut self) -> Parsed<Call> {
        self.call_with(true)
    }

    fn call_with(&mut self, iterators: bool) -> Parsed<Call> {
        let callee = Ident { name: self.current_text().to_string(), span: self.bump() };
        let open = self.bump();
        let (args, binds) = self.args(open, iterators)?;
        Ok(Call { callee, args, binds })
    }

    /// `int(x)`
    fn call_style_cast(&mut self) -> Parsed<Expr> {
        let ty = self.type_name()?;
        let open = self.bump();
        let operand = self.expr()?;
        self.expect_close(Punct::CloseParen, open)?;
        let span = self.since(ty.span);
        self.grown(ExprKind::Cast { ty, operand: Box::new(operand), call_style: true }, span)
    }

    /// Whether `(type)` stands here.
    pub(super) fn at_cast(&self) -> bool {
        let is_type = |ahead: usize| {
            let token = &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)];
            let text = self.text_of(token.span);
            token.kind == TokenKind::Name && (Scalar::from_name(text).is_some() || Self::is_foreign_type_word(text))
        };
        self.at_punct(Punct::OpenParen) && is_type(1) && (self.punct_at(2, Punct::CloseParen) || is_type(2))
    }

    /// `min_of(T)`, `max_of(T)`
    fn limit(&mut self, max: bool) -> Parsed<Expr> {
        let start = self.bump();
        let open = self.expect(Punct::OpenParen, "before a type")?;
        let ty = self.type_name()?;
        self.expect_close(Punct::CloseParen, open)?;
        Ok(Expr { kind: ExprKind::Limit { max, ty }, span: self.since(start) })
    }

    /// Whether `Best{v:` or `Best{}` stands here; a block may follow a name only after an error.
    fn at_struct_value(&self) -> bool {
        let field = self.name_at(2) && self.punct_at(3, Punct::Colon);
        self.punct_at(1, Punct::OpenBrace) && (field || self.punct_at(2, Punct::CloseBrace))
    }

    /// `Best{v: 0.0, i: -1}`
    fn struct_value(&mut self) -> Parsed<Expr> {
        let ty = TypeName { name: self.current_text().to_string(), span: self.bump() };
        let open = self.bump();
        let mut fields = Vec::new();
        let mut height = 0;
        while !self.at_punct(Punct::CloseBrace) {
            let field = self.name("a field's name")?;
            self.expect(Punct::Colon, "between a field and its value")?;
            fields.push((field, self.expr()?));
            height = height.max(self.height);
            if self.eat(Punct::Comma).is_none() {
                break;
            }
        }
        self.expect_close(Punct::CloseBrace, open)?;
        self.height = height;
        let span: Span = self.since(ty.span);
        self.grown(ExprKind::Struct { ty, fields }, span)
    }
}
