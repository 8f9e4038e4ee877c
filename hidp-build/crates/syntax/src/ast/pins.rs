//! Directives that pin a mapping: where iterators run, and where arrays live.

use super::{Expr, Ident, Subscript};
use crate::source::Span;

/// `cuda: on(i: grid.y thread.y(16))`
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    /// The kind of processor that it is for, if it says so.
    pub target: Option<PinTarget>,
    /// Its word.
    pub word: PinWord,
    /// What stands between the parentheses.
    pub args: Vec<PinArg>,
}

/// The kind of processor that a directive is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PinTarget {
    /// Multicore processors.
    Cpu,
    /// Graphics processors.
    Cuda,
}

/// One of several arguments: `i: grid.y thread.y(16)`, `A[*][0:8) pad(1)`, or `16`.
#[derive(Clone, Debug, PartialEq)]
pub struct PinArg {
    /// What it is about.
    pub about: PinAbout,
    /// Words behind it.
    pub values: Vec<PinValue>,
    /// All of it.
    pub span: Span,
}

/// What an argument of a directive is about.
#[derive(Clone, Debug, PartialEq)]
pub enum PinAbout {
    /// An iterator or an array, perhaps a section of it; or the name of a number.
    Name {
        /// The name.
        name: Ident,
        /// The section.
        section: Vec<Subscript>,
        /// Whether a colon follows.
        colon: bool,
    },
    /// A number.
    Number(Expr),
}

/// A word or number of an argument: `thread.y(16)`, `turned`, `32`.
#[derive(Clone, Debug, PartialEq)]
pub struct PinValue {
    /// The word; none of a number alone.
    pub word: Option<String>,
    /// The number, or what stands in the parentheses behind the word.
    pub size: Option<Expr>,
    /// Both.
    pub span: Span,
}

macro_rules! words {
    ($($(#[$doc:meta])* $word:ident = $text:literal,)*) => {
        /// The word of a directive that pins a mapping.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum PinWord {
            $($(#[$doc])* $word,)*
        }

        impl PinWord {
            /// Every word.
            pub const ALL: &[PinWord] = &[$(PinWord::$word,)*];

            /// As it is written.
            pub const fn name(self) -> &'static str {
                match self {
                    $(PinWord::$word => $text,)*
                }
            }
        }
    };
}

words! {
    /// All lines of the named iterators.
    On = "on",
    /// hiCUDA's extents of the grid.
    Tblock = "tblock",
    /// hiCUDA's extents of a block.
    Thread = "thread",
    /// hiCUDA's iterators over these extents.
    Partition = "partition",
    /// Iterations that a block takes one after the other.
    Tile = "tile",
    /// Results that a lane, or a row of lanes, keeps in registers.
    Reg = "reg",
    /// Iterations in the lanes of vectors.
    Lanes = "lanes",
    /// Neighbours that one access moves.
    Vec = "vec",
    /// Iterations of a loop that are written out.
    Unroll = "unroll",
    /// Threads of a processor at most.
    Threads = "threads",
    /// Iterations that a thread of a processor takes at once.
    Chunk = "chunk",
    /// Blocks that a multiprocessor has registers for.
    AtOnce = "at_once",
    /// Registers of a lane at most.
    Registers = "registers",
    /// Launches of a loop of the host that one grid may do.
    Joined = "joined",
    /// Launches that are grids of their own.
    Separate = "separate",
    /// Iterations of an iterator that one group takes.
    Span = "span",
    /// Parts of a fold that groups of their own take.
    Split = "split",
    /// Which loops are around which.
    Order = "order",
    /// Arrays of which blocks share parts.
    Shared = "shared",
    /// Arrays of which blocks share nothing.
    Global = "global",
    /// Arrays that are written past the caches when they are large.
    Stream = "stream",
    /// Arrays that are written to the caches, however large they are.
    Cached = "cached",
    /// No other plans.
    Only = "only",
}

impl PinWord {
    /// The word with this text.
    pub fn called(text: &str) -> Option<PinWord> {
        PinWord::ALL.iter().copied().find(|word| word.name() == text)
    }
}

impl PinTarget {
    /// Both.
    pub const ALL: [PinTarget; 2] = [PinTarget::Cpu, PinTarget::Cuda];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            PinTarget::Cpu => "cpu",
            PinTarget::Cuda => "cuda",
        }
    }
}
