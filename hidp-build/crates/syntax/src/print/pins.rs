//! Directives that pin a mapping.

use super::Printer;
use crate::ast::{Pin, PinAbout, PinArg, PinValue};

impl Printer {
    pub(super) fn pin(&mut self, pin: &Pin) {
        if let Some(target) = pin.target {
            self.push(&format!("{}: ", target.name()));
        }
        self.push(pin.word.name());
        if !pin.args.is_empty() {
            self.push("(");
            self.separated(&pin.args, ", ", Self::pin_arg);
            self.push(")");
        }
    }

    fn pin_arg(&mut self, arg: &PinArg) {
        match &arg.about {
            PinAbout::Name { name, section, colon } => {
                self.push(&name.name);
                section.iter().for_each(|subscript| self.subscript(subscript));
                self.push(if *colon { ":" } else { "" });
            }
            PinAbout::Number(number) => self.expr(number),
        }
        for PinValue { word, size, .. } in &arg.values {
            self.push(" ");
            match (word, size) {
                (Some(word), Some(size)) => {
                    self.push(&format!("{word}("));
                    self.expr(size);
                    self.push(")");
                }
                (Some(word), None) => self.push(word),
                (None, size) => size.iter().for_each(|size| self.expr(size)),
            }
        }
    }
}
