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

/// A number that a codelet leaves open: `tunable long p = {64, 256}, least = {16, 4096} run;`
#[derive(Clone, Debug, PartialEq)]
pub struct Tunable {
    /// Type.
    pub ty: TypeName,
    /// Name.
    pub name: Ident,
    /// What it can be, the usual value first.
    pub values: Values,
    /// Whether each call has a value (`run`), rather than each version.
    pub run: bool,
    /// Name and values.
    pub span: Span,
}

/// What a tunable can be.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// `{64, 256}`
    Listed(Vec<Expr>),
    /// What the targets' models say.
    OfModel(Knob),
}

/// A number of a target's model, as values of a tunable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// Lanes that run together.
    Width,
    /// Parts into which work is cut.
    Parts,
}

impl Knob {
    /// Both.
    pub const ALL: [Knob; 2] = [Knob::Width, Knob::Parts];

    /// As written.
    pub const fn name(self) -> &'static str {
        match self {
            Knob::Width => "width",
            Knob::Parts => "parts",
        }
    }
}

/// Values of tunables that a program leaves to the models of its targets, the usual one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domains {
    /// Lanes that run together.
    pub width: Vec<i64>,
    /// Parts into which work is cut.
    pub parts: Vec<i64>,
}

impl Default for Domains {
    /// A target that does one thing at a time.
    fn default() -> Self {
        Self { width: vec![1], parts: vec![1] }
    }
}

/// A part of a dimension, as a subscript of a section.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// How the dimension is cut; nothing for `tiles`, which leaves it open.
    pub way: Option<PieceWay>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PieceWay {
    /// Neighbouring elements belong to one piece.
    Adjacent,
    /// Neighbouring elements belong to neighbouring pieces.
    Strided,
}

impl PieceWay {
    /// Stands for either way in codelets.
    pub const OPEN: &'static str = "tiles";

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
