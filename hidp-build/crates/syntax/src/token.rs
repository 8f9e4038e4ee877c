//! Tokens.

use crate::source::Span;

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: TokenKind,
    /// Where it stands.
    pub(super) span: Span,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    /// A name that is no keyword; type names are names.
    Name,
    /// A reserved word.
    Keyword(Keyword),
    /// `42`, `0x2au`
    Int {
        /// Value.
        value: u64,
        /// Suffix `u`.
        unsigned: bool,
        /// Suffix `l`.
        long: bool,
    },
    /// `1.5f`
    Float {
        /// Digits without suffix.
        text: String,
        /// Suffix `f`.
        single: bool,
    },
    /// `'c'`
    Char(u8),
    /// `"…"`, escapes resolved
    Str(String),
    /// An operator or bracket.
    Punct(Punct),
    /// Something that the lexer reported; the parser does not complain about it again.
    Unknown,
    /// `#pragma hidp`
    PragmaStart,
    /// End of a directive line.
    PragmaEnd,
    /// End of the file.
    Eof,
}

macro_rules! spelled {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $name {
            $(#[doc = $text] $variant,)*
        }

        impl $name {
            /// All, in the order in which they are written here.
            pub(super) const ALL: &'static [$name] = &[$($name::$variant),*];

            /// As written in a program.
            pub(super) const fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

spelled! {
    /// Reserved words.
    Keyword {
        Function = "function", Recurrence = "recurrence", Input = "input", Output = "output", Inout = "inout", Static = "static",
        Extern = "extern", Struct = "struct", Const = "const", Import = "import",
        Map = "map", If = "if", Else = "else", For = "for", While = "while", Break = "break",
        Continue = "continue", Return = "return", Atomic = "atomic", Swap = "swap",
        True = "true", False = "false", Infinity = "INFINITY", Nan = "NAN", MinOf = "min_of", MaxOf = "max_of",
    }
}

impl Keyword {
    /// The keyword with this text.
    pub(super) fn from_text(text: &str) -> Option<Keyword> {
        Keyword::ALL.iter().copied().find(|keyword| keyword.text() == text)
    }
}

spelled! {
    /// Operators and brackets, longest first, so that the first one that fits is the right one.
    Punct {
        ShlAssign = "<<=", ShrAssign = ">>=",
        Increment = "++", Decrement = "--", AddAssign = "+=", SubAssign = "-=", MulAssign = "*=", DivAssign = "/=",
        RemAssign = "%=", AndAssign = "&=", OrAssign = "|=", XorAssign = "^=",
        Shl = "<<", Shr = ">>", Le = "<=", Ge = ">=", EqEq = "==", Ne = "!=", AndAnd = "&&", OrOr = "||", Bind = ":=",
        OpenBrace = "{", CloseBrace = "}", OpenParen = "(", CloseParen = ")", OpenBracket = "[", CloseBracket = "]",
        Semicolon = ";", Comma = ",", Dot = ".", Colon = ":", Question = "?", Assign = "=",
        Plus = "+", Minus = "-", Star = "*", Slash = "/", Percent = "%", And = "&", Or = "|", Xor = "^",
        Lt = "<", Gt = ">", Not = "!", Tilde = "~",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_hides_a_longer_one() {
        for (at, shorter) in Punct::ALL.iter().enumerate() {
            for longer in &Punct::ALL[at + 1..] {
                assert!(!longer.text().starts_with(shorter.text()), "{} hides {}", shorter.text(), longer.text());
            }
        }
    }
}
