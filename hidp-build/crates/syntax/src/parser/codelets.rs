//! Codelets: a function's name, a name of their own, conditions, tunables and a body.

use super::{Parsed, Parser, Punct, TokenKind};
use crate::ast::{Codelet, Directive, Item, Knob, Piece, PieceWay, Subscript, Tunable, Values};
use crate::source::Span;

impl Parser<'_> {
    /// Whether a codelet begins here. The word is a name elsewhere.
    pub(super) fn at_codelet(&self) -> bool {
        self.is_word_at(0, "codelet") && self.name_at(1)
    }

    /// At `codelet`; `start` is its first directive or the word itself.
    pub(super) fn codelet(&mut self, start: Span, directives: Vec<Directive>) -> Parsed<Item> {
        let doc = self.doc_of_function(start);
        self.bump();
        let function = self.declared_name("the function of the codelet")?;
        let TokenKind::Str(tag) = self.kind().clone() else {
            return Err(self.expected("the codelet's own name in double quotes"));
        };
        let tag_span = self.bump();
        let params = self.header_params();
        let when = self.when()?;
        let mut tunables = Vec::new();
        while self.at_tunable() {
            self.tunables(&mut tunables)?;
        }
        if !self.at_punct(Punct::OpenBrace) {
            return Err(self.expected("`when`, `tunable` or the body of the codelet"));
        }
        let body = self.block();
        let span = self.since(start);
        Ok(Item::Codelet(Codelet { doc, directives, function, tag, tag_span, params, when, tunables, body, span }))
    }

    /// `when (condition)`
    fn when(&mut self) -> Parsed<Option<crate::ast::Expr>> {
        if !self.is_word_at(0, "when") {
            return Ok(None);
        }
        self.bump();
        let open = self.expect(Punct::OpenParen, "and the condition of the codelet")?;
        let condition = self.expr()?;
        self.expect_close(Punct::CloseParen, open)?;
        Ok(Some(condition))
    }

    pub(super) fn at_tunable(&self) -> bool {
        self.is_word_at(0, "tunable") && self.name_at(1)
    }

    /// `tunable long p = {64, 256}, q = {8} run;`
    fn tunables(&mut self, tunables: &mut Vec<Tunable>) -> Parsed<()> {
        self.bump();
        let ty = self.type_name()?;
        loop {
            let name = self.declared_name("a tunable")?;
            self.expect(Punct::Assign, "and the values of a tunable")?;
            let values = self.tunable_values()?;
            let run = self.is_word_at(0, "run");
            if run {
                self.bump();
            }
            let span = self.since(name.span);
            tunables.push(Tunable { ty: ty.clone(), name, values, run, span });
            if self.eat(Punct::Comma).is_none() {
                break;
            }
        }
        self.expect_semicolon("a tunable")
    }

    /// `{64, 256}`, `width` or `parts`
    fn tunable_values(&mut self) -> Parsed<Values> {
        if let Some(knob) = Knob::ALL.into_iter().find(|knob| self.is_word_at(0, knob.name())) {
            self.bump();
            return Ok(Values::OfModel(knob));
        }
        let open = self.expect(Punct::OpenBrace, "and the values of a tunable")?;
        let mut values = Vec::new();
        while !self.at_punct(Punct::CloseBrace) {
            values.push(self.expr()?);
            if self.eat(Punct::Comma).is_none() {
                break;
            }
        }
        self.expect_close(Punct::CloseBrace, open)?;
        Ok(Values::Listed(values))
    }

    /// Whether a piece stands behind the bracket here: two names side by side are no expression.
    pub(super) fn at_piece(&self) -> bool {
        let mut words = PieceWay::ALL.into_iter().map(PieceWay::name).chain([PieceWay::OPEN]);
        self.name_at(2) && words.any(|word| self.is_word_at(1, word))
    }

    /// `[adjacent t of p]`, at the bracket
    pub(super) fn piece(&mut self) -> Parsed<Subscript> {
        let open = self.bump();
        let word = self.current_text();
        let way = PieceWay::ALL.into_iter().find(|way| way.name() == word);
        self.bump();
        let iter = self.declared_name("an iterator")?;
        let by = self.is_word_at(0, "by");
        if !by && !self.is_word_at(0, "of") {
            return Err(self.expected("`of` and the number of pieces, or `by` and their length"));
        }
        self.bump();
        let length = Box::new(self.expr()?);
        self.expect_close(Punct::CloseBracket, open)?;
        Ok(Subscript::Piece(Piece { way, iter, by, length, span: self.since(open) }))
    }
}
