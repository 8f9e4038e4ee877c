//! Codelets: further bodies of functions.

use super::{Block, Directive, Expr, Ident, Param, TypeName};
use crate::source::Span;

/// Another body of a function over arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Codelet {
    /// Comment lines directly above.
    pub doc: Vec<String>,
    /// Directives directly before it.
    pub directives: Vec<Directive>,
    /// The function.
    pub function: Ident,
    /// The codelet's own name, escapes resolved.
    pub tag: String,
    /// With the quotes.
    pub tag_span: Span,
    /// The function's parameters, if they are written again.
    pub params: Vec<Param>,
    /// `when (…)`
    pub when: Option<Expr>,
    /// Its tunables in order.
    pub tunables: Vec<Tunable>,
    /// Body.
    pub body: Block,
    /// The whole item.
    pub span: Span,
}

/// A number that a codelet leaves open: `tunable long p = {64, 256};`
#[derive(Clone, Debug, PartialEq)]
pub struct Tunable {
    /// Type.
    pub ty: TypeName,
    /// Name.
    pub name: Ident,
    /// What it can be, the usual value first.
    pub values: Vec<Expr>,
    /// Name and values.
    pub span: Span,
}

/// A part of a dimension, as a subscript of a section.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// How the dimension is cut.
    pub way: PieceWay,
    /// The iterator that numbers the pieces.
    pub iter: Ident,
    /// Whether `length` is the elements of a piece (`by`) rather than the number of pieces (`of`).
    pub by: bool,
    /// Number or length.
    pub length: Box<Expr>,
    /// With the brackets.
    pub span: Span,
}

/// How a dimension is cut into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceWay {
    /// Neighbouring elements belong to one piece.
    Adjacent,
    /// Neighbouring elements belong to neighbouring pieces.
    Strided,
}

impl PieceWay {
    /// Both.
    pub const ALL: [PieceWay; 2] = [PieceWay::Adjacent, PieceWay::Strided];

    /// As written.
    pub const fn name(self) -> &'static str {
        match self {
            PieceWay::Adjacent => "adjacent",
            PieceWay::Strided => "strided",
        }
    }
}
