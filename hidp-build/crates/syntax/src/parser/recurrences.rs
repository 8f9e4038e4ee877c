//! Recurrences: a domain, inputs, and a body that computes a cell.

use super::{Keyword, Parsed, Parser, Punct};
use crate::ast::{Direction, Directive, Item, Iter, Recurrence};
use crate::source::Span;

impl Parser<'_> {
    /// At `recurrence`; `start` is its first directive or the word itself.
    pub(super) fn recurrence(&mut self, start: Span, directives: Vec<Directive>) -> Parsed<Item> {
        let doc = self.doc_of_function(start);
        self.bump();
        let ty = self.type_name()?;
        let name = self.declared_name("a recurrence")?;
        let index = self.domain()?;
        let mut params = Vec::new();
        while self.eat_keyword(Keyword::Input).is_some() {
            if let Err(failed) = self.param_list(Direction::Input, false, &mut params) {
                self.recover_in_header(failed);
            }
        }
        if self.at_keyword(Keyword::Output) || self.at_keyword(Keyword::Inout) {
            return Err(self.recurrence_that_writes());
        }
        if !self.at_punct(Punct::OpenBrace) {
            return Err(self.expected("`input` or the body of the recurrence"));
        }
        let body = self.block();
        let span = self.since(start);
        Ok(Item::Recurrence(Recurrence { doc, directives, ty, name, index, params, body, span }))
    }

    /// `(i := [0:N], j := [0:M])`
    fn domain(&mut self) -> Parsed<Vec<Iter>> {
        let open = self.expect(Punct::OpenParen, "and the domain of the recurrence")?;
        let mut index = Vec::new();
        loop {
            let name = self.declared_name("an index")?;
            self.expect(Punct::Bind, "between an index and its range")?;
            let range = self.range()?;
            let span = self.since(name.span);
            index.push(Iter { name, range, span });
            if self.eat(Punct::Comma).is_none() {
                break;
            }
        }
        self.expect_close(Punct::CloseParen, open)?;
        Ok(index)
    }
}
