//! The words and signs of a line.

use std::ops::Range;

/// A word or sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word: a name or one of the notation's own.
    Word(String),
    /// A name in backquotes.
    Quoted(String),
    /// A text in quotes.
    Text(String),
    /// A number.
    Number(u64),
    /// A sign of one or two characters.
    Sign(&'static str),
    /// Something else.
    Unknown,
}

const SIGNS: [&str; 12] = ["<=", ">=", "==", "(", ")", "[", "]", ",", "+", "-", "*", "="];

/// A token and the bytes of the line that it takes.
pub(super) type Placed = (Token, Range<usize>);

/// The tokens of a line, without its comment.
pub(super) fn tokens(line: &str) -> Vec<Placed> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = line[at..].chars().next() {
        let (token, end) = match first {
            '#' => break,
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '`' => quoted(line, at, '`', Token::Quoted),
            '"' => quoted(line, at, '"', Token::Text),
            '0'..='9' => number(line, at),
            c if c.is_ascii_alphabetic() || c == '_' => word(line, at, is_times(&found)),
            c => match SIGNS.into_iter().find(|sign| line[at..].starts_with(sign)) {
                Some(sign) => (Token::Sign(sign), at + sign.len()),
                None => (Token::Unknown, at + c.len_utf8()),
            },
        };
        found.push((token, at..end));
        at = end;
    }
    found
}

/// Whether an `x` here is the sign between two extents.
fn is_times(before: &[Placed]) -> bool {
    matches!(before.last(), Some((Token::Number(_), _)))
}

fn quoted(line: &str, at: usize, quote: char, token: impl Fn(String) -> Token) -> (Token, usize) {
    match line[at + 1..].find(quote) {
        Some(length) => (token(line[at + 1..at + 1 + length].to_owned()), at + length + 2),
        None => (Token::Unknown, line.len()),
    }
}

fn number(line: &str, at: usize) -> (Token, usize) {
    let digits = line[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len() - at);
    let end = at + digits;
    (line[at..end].parse().map_or(Token::Unknown, Token::Number), end)
}

fn word(line: &str, at: usize, after_number: bool) -> (Token, usize) {
    let rest = &line[at..];
    if after_number && rest.starts_with('x') && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return (Token::Sign("x"), at + 1);
    }
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let end = at + rest.find(|c| !inside(c)).unwrap_or(rest.len());
    (Token::Word(line[at..end].to_owned()), end)
}
