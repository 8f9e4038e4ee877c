//! Numbers.

use super::{Lexer, continues_name};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::token::TokenKind;

impl<'a> Lexer<'a> {
    /// At a digit, or at a `.` before one. Always makes a token; 0 stands for what is malformed.
    pub(super) fn number(&mut self) {
        let start = self.at;
        let hexadecimal = self.rest().starts_with("0x") || self.rest().starts_with("0X");
        let kind = if hexadecimal { self.hexadecimal() } else { self.decimal() };
        self.push(kind, start);
    }

    fn hexadecimal(&mut self) -> TokenKind {
        let start = self.at;
        self.at += 2;
        self.skip_while(|c| c.is_ascii_hexdigit());
        let digits = &self.text[start + 2..self.at];
        let suffix_start = self.at;
        let suffix = self.suffix();
        if digits.is_empty() {
            return self.malformed(start, "a hexadecimal number needs digits after `0x`", None);
        }
        match u64::from_str_radix(digits, 16) {
            Ok(value) => self.integer(value, suffix_start, suffix),
            Err(_) => self.too_large(start),
        }
    }

    fn decimal(&mut self) -> TokenKind {
        let start = self.at;
        let is_float = self.skip_decimal_digits();
        let digits = &self.text[start..self.at];
        let suffix_start = self.at;
        let suffix = self.suffix();
        if is_float || suffix == "f" || suffix == "F" {
            return self.float(start, digits, suffix);
        }
        if digits.len() > 1 && digits.starts_with('0') {
            let plain = format!(
                "{}{suffix}",
                digits[..digits.len() - 1].trim_start_matches('0').to_owned() + &digits[digits.len() - 1..]
            );
            return self.malformed(start, "a decimal number does not begin with `0`", Some(plain));
        }
        match digits.parse() {
            Ok(value) => self.integer(value, suffix_start, suffix),
            Err(_) => self.too_large(start),
        }
    }

    /// Skips digits, point and exponent; whether there was a point or an exponent.
    fn skip_decimal_digits(&mut self) -> bool {
        self.skip_while(|c| c.is_ascii_digit());
        let mut is_float = self.eat(".");
        if is_float {
            self.skip_while(|c| c.is_ascii_digit());
        }
        if let Some(rest) = self.rest().strip_prefix(['e', 'E']) {
            let power = rest.strip_prefix(['+', '-']).unwrap_or(rest);
            if power.starts_with(|c: char| c.is_ascii_digit()) {
                is_float = true;
                self.at = self.text.len() - power.len();
                self.skip_while(|c| c.is_ascii_digit());
            }
        }
        is_float
    }

    fn suffix(&mut self) -> &'a str {
        let start = self.at;
        self.skip_while(continues_name);
        &self.text[start..self.at]
    }

    fn integer(&mut self, value: u64, suffix_start: usize, suffix: &str) -> TokenKind {
        let (unsigned, long) = match suffix {
            "" => (false, false),
            "u" => (true, false),
            "l" => (false, true),
            "ul" | "lu" => (true, true),
            _ => {
                self.bad_suffix(suffix_start, suffix, &["u", "l", "ul"], "an integer");
                (false, false)
            }
        };
        TokenKind::Int { value, unsigned, long }
    }

    fn float(&mut self, start: usize, digits: &str, suffix: &str) -> TokenKind {
        let single = match suffix {
            "" => false,
            "f" => true,
            _ => {
                self.bad_suffix(start + digits.len(), suffix, &["f"], "a floating-point number");
                suffix == "F"
            }
        };
        let infinite = if single {
            digits.parse().is_ok_and(f32::is_infinite)
        } else {
            digits.parse().is_ok_and(f64::is_infinite)
        };
        if infinite {
            let ty = if single { "float" } else { "double" };
            self.sink.push(
                Diagnostic::new(Code::NumberTooLarge, self.span(start), format!("this number is too large for `{ty}`"))
                    .help("a value without end is written `INFINITY`"),
            );
        }
        TokenKind::Float { text: digits.to_string(), single }
    }

    fn bad_suffix(&mut self, start: usize, suffix: &str, allowed: &[&'static str], what: &str) {
        let span: Span = self.span(start);
        let mut diagnostic = Diagnostic::new(Code::BadNumber, span, format!("`{suffix}` is no suffix of {what}"));
        diagnostic = diagnostic.help(match suffix.as_bytes() {
            [b'_', ..] => "digits are written without separators",
            [b'e' | b'E'] => "an exponent has digits: `1e5`",
            [b'b' | b'B' | b'o', b'0'..=b'7', ..] => "numbers are decimal (`42`) or hexadecimal (`0x2a`)",
            _ if allowed.len() == 1 => "the only suffix is `f`",
            _ => "the suffixes are `u`, `l` and `ul`",
        });
        let small = suffix.to_ascii_lowercase().replace("ll", "l");
        if let Some(fitting) = allowed.iter().find(|allowed| **allowed == small) {
            diagnostic = diagnostic.suggest(span, *fitting, format!("write `{fitting}`"));
        }
        self.sink.push(diagnostic);
    }

    fn too_large(&mut self, start: usize) -> TokenKind {
        self.sink.push(
            Diagnostic::new(Code::NumberTooLarge, self.span(start), "this number is too large for every integer type")
                .label("larger than 18446744073709551615")
                .help("a decimal number with a `.` is a `double`"),
        );
        TokenKind::Int { value: 0, unsigned: false, long: false }
    }

    fn malformed(&mut self, start: usize, headline: &str, replacement: Option<String>) -> TokenKind {
        let mut diagnostic = Diagnostic::new(Code::BadNumber, self.span(start), headline);
        if let Some(replacement) = replacement {
            let text = format!("write `{replacement}`");
            diagnostic = diagnostic.suggest(self.span(start), replacement, text);
        }
        self.sink.push(diagnostic);
        TokenKind::Int { value: 0, unsigned: false, long: false }
    }
}
