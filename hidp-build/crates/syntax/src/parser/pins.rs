//! Directives that pin a mapping: `[target:] word(argument, …)`.

use super::{Parsed, Parser, Punct};
use crate::ast::{DirectiveKind, Ident, Pin, PinAbout, PinArg, PinTarget, PinValue, PinWord};

impl Parser<'_> {
    /// `cpu:` or `cuda:` before a directive.
    pub(super) fn pin_target(&mut self) -> Option<PinTarget> {
        let text = self.current_text();
        let target = PinTarget::ALL.into_iter().find(|target| target.name() == text)?;
        if !self.punct_at(1, Punct::Colon) {
            return None;
        }
        self.bump();
        self.bump();
        Some(target)
    }

    /// What follows the word.
    pub(super) fn pin(&mut self, target: Option<PinTarget>, word: PinWord) -> Parsed<DirectiveKind> {
        let mut args = Vec::new();
        if self.at_punct(Punct::OpenParen) {
            let open = self.bump();
            while !self.at_punct(Punct::CloseParen) {
                args.push(self.pin_arg()?);
                if self.eat(Punct::Comma).is_none() {
                    break;
                }
            }
            self.expect_close(Punct::CloseParen, open)?;
        }
        Ok(DirectiveKind::Pin(Pin { target, word, args }))
    }

    fn pin_arg(&mut self) -> Parsed<PinArg> {
        let start = self.span();
        let about = if self.at_name() { self.pin_name()? } else { PinAbout::Number(self.expr()?) };
        let mut values = Vec::new();
        if matches!(about, PinAbout::Name { .. }) {
            while !self.at_punct(Punct::Comma) && !self.at_punct(Punct::CloseParen) {
                values.push(self.pin_value()?);
            }
        }
        Ok(PinArg { about, values, span: self.since(start) })
    }

    fn pin_name(&mut self) -> Parsed<PinAbout> {
        // An expression may begin with a name: the product of two constants.
        let goes_on = [Punct::Comma, Punct::CloseParen, Punct::Colon, Punct::OpenBracket];
        if !self.name_at(1) && !goes_on.into_iter().any(|punct| self.punct_at(1, punct)) {
            return Ok(PinAbout::Number(self.expr()?));
        }
        let name = Ident { name: self.current_text().to_owned(), span: self.bump() };
        let mut section = Vec::new();
        while self.at_punct(Punct::OpenBracket) {
            section.push(self.subscript()?);
        }
        let colon = self.eat(Punct::Colon).is_some();
        Ok(PinAbout::Name { name, section, colon })
    }

    /// `thread.y(16)`, `turned`, `8`
    fn pin_value(&mut self) -> Parsed<PinValue> {
        let start = self.span();
        let goes_on = [Punct::Comma, Punct::CloseParen, Punct::Dot, Punct::OpenParen];
        let is_word = self.name_at(1) || goes_on.into_iter().any(|punct| self.punct_at(1, punct));
        if !self.at_name() || !is_word {
            let size = Some(self.expr()?);
            return Ok(PinValue { word: None, size, span: self.since(start) });
        }
        self.bump();
        while self.at_punct(Punct::Dot) && self.name_at(1) {
            self.bump();
            self.bump();
        }
        let word: String = self.text_of(self.since(start)).split_whitespace().collect();
        let size = if self.at_punct(Punct::OpenParen) { Some(self.directive_argument()?) } else { None };
        Ok(PinValue { word: Some(word), size, span: self.since(start) })
    }
}
