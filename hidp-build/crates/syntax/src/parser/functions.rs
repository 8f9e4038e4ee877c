//! Functions: headers over arrays, and C-like ones over scalars.

use super::{Keyword, Parsed, Parser, Punct, TokenKind};
use crate::ast::{Direction, Directive, Field, Function, Item, Param, ScalarFunction};
use crate::source::Span;

impl Parser<'_> {
    /// At `function`; `start` is its first directive or the word itself.
    pub(super) fn function(&mut self, start: Span, directives: Vec<Directive>) -> Parsed<Item> {
        let doc = self.doc_of_function(start);
        let word = self.bump();
        if self.at_result_and_name() || self.at_name() && Self::is_foreign_type_word(self.current_text()) {
            return self.scalar_function(start, doc, directives, false);
        }
        self.array_function(start, word, doc, directives, false)
    }

    /// At `static`.
    pub(super) fn static_function(&mut self, start: Span, directives: Vec<Directive>) -> Parsed<Item> {
        let doc = self.doc_of_function(start);
        let word = self.bump();
        if self.eat_keyword(Keyword::Function).is_none() {
            return Err(self.expected("`function` behind `static`"));
        }
        if self.at_result_and_name() {
            self.static_scalar_function(word);
            return self.scalar_function(start, doc, directives, false);
        }
        self.array_function(start, word, doc, directives, true)
    }

    /// At `function` behind `extern`.
    pub(super) fn extern_function(&mut self, start: Span, directives: Vec<Directive>) -> Parsed<Item> {
        let doc = self.doc_of_function(start);
        self.bump();
        if !self.at_result_and_name() {
            return Err(self.extern_array_function());
        }
        self.scalar_function(start, doc, directives, true)
    }

    /// Comments above the directives or, failing those, between directives and function.
    pub(super) fn doc_of_function(&self, start: Span) -> Vec<String> {
        let above = self.doc_above(start);
        if above.is_empty() { self.doc_above(self.span()) } else { above }
    }

    /// Behind `function`: `name lists { body }`
    fn array_function(
        &mut self,
        start: Span,
        word: Span,
        doc: Vec<String>,
        directives: Vec<Directive>,
        is_static: bool,
    ) -> Parsed<Item> {
        let name = self.declared_name("a function")?;
        if self.at_punct(Punct::OpenParen) {
            return Err(self.header_with_parentheses(&name));
        }
        let params = self.header_params();
        let header_span = self.since(word);
        if !self.at_punct(Punct::OpenBrace) {
            return Err(self.header_without_body(params.is_empty(), name.span));
        }
        let body = self.block();
        let span = self.since(start);
        Ok(Item::Function(Function { doc, directives, is_static, name, params, body, span, header_span }))
    }

    /// All parameter lists that stand here.
    pub(super) fn header_params(&mut self) -> Vec<Param> {
        let mut params = Vec::new();
        while let Some((direction, partial)) = self.direction() {
            self.bump();
            if partial {
                self.bump();
            }
            if let Err(failed) = self.param_list(direction, partial, &mut params) {
                self.recover_in_header(failed);
            }
        }
        params
    }

    /// Which list of parameters begins here, and whether with `partial`, which is a word only before `output`.
    fn direction(&self) -> Option<(Direction, bool)> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Input) => Some((Direction::Input, false)),
            TokenKind::Keyword(Keyword::Output) => Some((Direction::Output, false)),
            TokenKind::Keyword(Keyword::Inout) => Some((Direction::Inout, false)),
            TokenKind::Name => self.is_partial_at(0).then_some((Direction::Output, true)),
            _ => None,
        }
    }

    fn is_partial_at(&self, ahead: usize) -> bool {
        self.is_word_at(ahead, "partial") && *self.kind_at(ahead + 1) == TokenKind::Keyword(Keyword::Output)
    }

    /// Whether a result's type and a name stand here, rather than a name and what lists a parameter.
    fn at_result_and_name(&self) -> bool {
        self.name_at(1) && !self.is_partial_at(1)
    }

    /// `float _alpha, A[M][K];`
    pub(super) fn param_list(&mut self, direction: Direction, partial: bool, params: &mut Vec<Param>) -> Parsed<()> {
        let ty = self.type_name()?;
        loop {
            let name = self.declared_name("a parameter")?;
            let dims = self.dims()?;
            let span = self.since(name.span);
            if self.at_punct(Punct::Assign) {
                return Err(self.default_argument());
            }
            params.push(Param { direction, partial, ty: ty.clone(), name, dims, span });
            if self.eat(Punct::Comma).is_none() {
                break;
            }
            self.refuse_second_type_of_list(direction)?;
        }
        self.expect_semicolon("a parameter list")
    }

    /// Behind `function`: `type name(params) { body }`, or `;` for a native one
    fn scalar_function(
        &mut self,
        start: Span,
        doc: Vec<String>,
        directives: Vec<Directive>,
        native: bool,
    ) -> Parsed<Item> {
        let result = self.type_name()?;
        let name = self.declared_name("a function")?;
        if !self.at_punct(Punct::OpenParen) {
            return Err(self.scalar_function_without_parameters(&result));
        }
        let params = self.scalar_params()?;
        let body = match (native, self.at_punct(Punct::OpenBrace)) {
            (false, true) => Some(self.block()),
            (true, true) => return Err(self.extern_with_body("a function")),
            (true, false) => {
                self.expect_semicolon("an extern function")?;
                None
            }
            (false, false) => return Err(self.scalar_function_without_body()),
        };
        let span = self.since(start);
        Ok(Item::Scalar(ScalarFunction { doc, directives, result, name, params, body, span }))
    }

    /// `(uint a, uint b)`
    fn scalar_params(&mut self) -> Parsed<Vec<Field>> {
        let open = self.bump();
        let mut params = Vec::new();
        while !self.at_punct(Punct::CloseParen) {
            let ty = self.type_name()?;
            let name = self.declared_name("a parameter")?;
            if self.at_punct(Punct::OpenBracket) {
                return Err(self.array_parameter());
            }
            params.push(Field { ty, name });
            if self.at_name() {
                return Err(self.expected("`,` or `)`"));
            }
            if self.eat(Punct::Comma).is_none() {
                break;
            }
            if self.at_punct(Punct::CloseParen) {
                return Err(self.expected("a parameter"));
            }
        }
        self.expect_close(Punct::CloseParen, open)?;
        Ok(params)
    }
}
