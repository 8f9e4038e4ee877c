//! Tokens of the textual form.

use super::ReadError;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tok {
    /// A word or quoted name, perhaps with its number: `t`, `t%3`, `"a b"%4`. Whether it was quoted.
    Name(String, Option<usize>, bool),
    /// An integer.
    Int(i128),
    /// With a point or an exponent, or `inf` and `nan`.
    Float(f64),
    /// Punctuation.
    Sign(&'static str),
    /// The end.
    End,
}

/// A token and its line.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) tok: Tok,
    pub(super) line: usize,
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "..", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "(", ")", "{", "}", "[", "]", ",", ";", ":", "=", "@",
    "~", "?", "+", "-", "*", "/", "%", "&", "|", "^", "<", ">",
];

/// Splits a text.
pub(super) fn lex(text: &str) -> Result<Vec<Token>, ReadError> {
    let mut lexer = Lexer { rest: text, line: 1, tokens: Vec::new() };
    while lexer.token()? {}
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn push(&mut self, tok: Tok) {
        self.tokens.push(Token { tok, line: self.line });
    }

    fn error<T>(&self, what: impl Into<String>) -> Result<T, ReadError> {
        Err(ReadError { line: self.line, what: what.into() })
    }

    /// Takes the longest start of the rest whose characters fit.
    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Reads one token; whether there may be more.
    fn token(&mut self) -> Result<bool, ReadError> {
        let blank = self.take(char::is_whitespace);
        self.line += blank.matches('\n').count();
        let mut chars = self.rest.chars();
        let (first, second) = (chars.next(), chars.next());
        match first {
            None => {
                self.push(Tok::End);
                return Ok(false);
            }
            Some('#') => {
                self.take(|c| c != '\n');
            }
            Some('"') => {
                let name = self.quoted()?;
                let number = self.number_of_name()?;
                self.push(Tok::Name(name, number, true));
            }
            Some(c) if c.is_ascii_digit() => self.number("")?,
            Some('-') if second.is_some_and(|c| c.is_ascii_digit()) => {
                self.rest = &self.rest[1..];
                self.number("-")?;
            }
            Some('-') if self.rest[1..].starts_with("inf") => {
                self.rest = &self.rest[4..];
                self.push(Tok::Float(f64::NEG_INFINITY));
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.word()?,
            Some(_) => self.sign()?,
        }
        Ok(true)
    }

    fn word(&mut self) -> Result<(), ReadError> {
        let word = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
        let number = self.number_of_name()?;
        self.push(match (word, number) {
            ("inf", None) => Tok::Float(f64::INFINITY),
            ("nan", None) => Tok::Float(f64::NAN),
            _ => Tok::Name(word.to_string(), number, false),
        });
        Ok(())
    }

    /// `%3` directly behind a name.
    fn number_of_name(&mut self) -> Result<Option<usize>, ReadError> {
        let Some(rest) = self.rest.strip_prefix('%') else { return Ok(None) };
        if !rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        self.rest = rest;
        let digits = self.take(|c| c.is_ascii_digit());
        match digits.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => self.error(format!("`{digits}` is no number of a name")),
        }
    }

    fn number(&mut self, sign: &str) -> Result<(), ReadError> {
        let mut text = format!("{sign}{}", self.take(|c| c.is_ascii_digit()));
        let mut float = false;
        if self.rest.starts_with('.') && self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            self.rest = &self.rest[1..];
            text += ".";
            text += self.take(|c| c.is_ascii_digit());
            float = true;
        }
        if self.rest.starts_with('e') {
            self.rest = &self.rest[1..];
            text += "e";
            if let Some(rest) = self.rest.strip_prefix('-') {
                self.rest = rest;
                text += "-";
            }
            text += self.take(|c| c.is_ascii_digit());
            float = true;
        }
        let tok = if float { text.parse().ok().map(Tok::Float) } else { text.parse().ok().map(Tok::Int) };
        match tok {
            Some(tok) => {
                self.push(tok);
                Ok(())
            }
            None => self.error(format!("`{text}` is no number")),
        }
    }

    /// A string as Rust's `{:?}` writes it.
    fn quoted(&mut self) -> Result<String, ReadError> {
        let mut value = String::new();
        let mut chars = self.rest[1..].char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 2..];
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, '0')) => value.push('\0'),
                    Some((_, 'u')) => match unicode(&mut chars) {
                        Some(c) => value.push(c),
                        None => return self.error("a wrong `\\u{…}` in a string"),
                    },
                    Some((_, c @ ('"' | '\\' | '\''))) => value.push(c),
                    Some((_, c)) => return self.error(format!("`\\{c}` in a string")),
                    None => break,
                },
                '\n' => break,
                c => value.push(c),
            }
        }
        self.error("a string does not end")
    }

    fn sign(&mut self) -> Result<(), ReadError> {
        match SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) {
            Some(sign) => {
                self.rest = &self.rest[sign.len()..];
                self.push(Tok::Sign(sign));
                Ok(())
            }
            None => self.error(format!("`{}` means nothing", self.rest.chars().next().unwrap_or(' '))),
        }
    }
}

/// `{1f600}` after `\u`.
fn unicode(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let mut code = 0_u32;
    chars.next().filter(|(_, c)| *c == '{')?;
    for (_, c) in chars.by_ref() {
        if c == '}' {
            return char::from_u32(code);
        }
        code = code.checked_mul(16)?.checked_add(c.to_digit(16)?)?;
    }
    None
}
