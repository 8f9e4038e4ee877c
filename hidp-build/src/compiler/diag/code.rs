//! The table of codes: one row each, from which messages, `docs/errors.md` and the tests are made.
//!
//! Numbers: 00xx lexing and parsing, 01xx names, 02xx types, 03xx shapes, 04xx effects (writes, races), 05xx primitives and
//! suffixes, 06xx directives, 07xx functions and imports, 08xx warnings, 09xx build (files, compilers).

use super::Severity;

/// What the table says of a code.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// As printed: `HD0102`.
    pub name: &'static str,
    /// Severity.
    pub severity: Severity,
    /// A headline for the index of `docs/errors.md`.
    pub title: &'static str,
    /// What it means and what to do, in Markdown; shown after the snippet and in `docs/errors.md`.
    pub explanation: &'static str,
}

macro_rules! codes {
    ($($(#[$meta:meta])* $variant:ident = $name:literal $severity:ident $title:literal $explanation:literal;)*) => {
        /// A diagnostic code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $(#[$meta])* $variant,)*
        }

        impl Code {
            /// Every code in the table's order.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The code's row.
            pub const fn info(self) -> CodeInfo {
                match self {
                    $(Code::$variant => CodeInfo {
                        name: $name,
                        severity: Severity::$severity,
                        title: $title,
                        explanation: $explanation,
                    },)*
                }
            }
        }
    };
}

codes! {
    UnexpectedToken = "HD0001" Error "unexpected token"
        "The parser met something that cannot stand here.";
}
