//! The words of directives that pin a mapping: what stands between their parentheses, and for which targets they have a meaning.

use hidp_syntax::ast::{PinTarget, PinWord};

/// What stands between the parentheses of a directive.
pub(super) enum Shape {
    /// `i: grid.y thread.y(16)`: an iterator and words, some with a number.
    Words(&'static [Word]),
    /// `i: 32`: an iterator and a number.
    Sizes,
    /// `i: 4`, `k: all`: an iterator, and a number or this word.
    SizeOr(&'static str),
    /// `k, i`: iterators.
    Iterators,
    /// `4, 2`: from one number to so many.
    Numbers(usize),
    /// `A, B[i-1:i+2) pad(1)`: arrays, perhaps with sections, and options.
    Arrays {
        /// Words behind an array.
        options: &'static [Word],
        /// Whether parts of arrays can be meant.
        sections: bool,
    },
    /// Nothing.
    Alone,
}

/// A word behind a name.
pub(super) struct Word {
    pub(super) name: &'static str,
    pub(super) inside: Inside,
}

/// What the parentheses behind a word hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    /// A number.
    Number,
    /// Perhaps a number.
    MaybeNumber,
    /// Perhaps one of these words.
    MaybeWord(&'static [&'static str]),
}

const HOW: Inside = Inside::MaybeWord(&["block", "cyclic"]);
static PARTITION: [Word; 2] = [Word { name: "tblock", inside: HOW }, Word { name: "thread", inside: HOW }];
static STAGE_OPTIONS: [Word; 3] = {
    const fn option(name: &'static str) -> Word {
        Word { name, inside: Inside::Number }
    }
    [option("pad"), option("wide"), option("bufs")]
};
static PLACES: [Word; 12] = {
    const fn place(name: &'static str) -> Word {
        Word { name, inside: Inside::MaybeNumber }
    }
    [
        place("host"),
        place("grid.x"),
        place("grid.y"),
        place("grid.z"),
        place("thread.x"),
        place("thread.y"),
        place("thread.z"),
        place("threads"),
        place("lanes"),
        place("seq"),
        place("unroll"),
        place("reg"),
    ]
};
/// Names of arrays alone.
const ARRAYS: Shape = Shape::Arrays { options: &[], sections: false };

/// What stands between the parentheses of a word, and an example.
pub(super) fn shape(word: PinWord) -> (Shape, &'static str) {
    match word {
        PinWord::On => (Shape::Words(&PLACES), "on(i: grid.y thread.y(16), j: grid.x thread.x(16))"),
        PinWord::Tblock => (Shape::Numbers(3), "tblock(4, 2)"),
        PinWord::Thread => (Shape::Numbers(3), "thread(16, 16)"),
        PinWord::Partition => (Shape::Words(&PARTITION), "partition(i: tblock thread, j: tblock thread)"),
        PinWord::Tile => (Shape::Sizes, "tile(i: 32, k: 8)"),
        PinWord::Reg => (Shape::Sizes, "reg(i: 8, j: 4)"),
        PinWord::Lanes => (Shape::Sizes, "lanes(j: 32)"),
        PinWord::Vec => (Shape::Sizes, "vec(j: 4)"),
        PinWord::Unroll => (Shape::Sizes, "unroll(k: 4)"),
        PinWord::Threads => (Shape::Numbers(1), "threads(8)"),
        PinWord::Chunk => (Shape::Numbers(1), "chunk(64)"),
        PinWord::AtOnce => (Shape::Numbers(1), "at_once(3)"),
        PinWord::Registers => (Shape::Numbers(1), "registers(64)"),
        PinWord::Joined => (Shape::Alone, "joined"),
        PinWord::Separate => (Shape::Alone, "separate"),
        PinWord::Span => (Shape::SizeOr("all"), "span(i: 4, k: all)"),
        PinWord::Split => (Shape::SizeOr("any"), "split(k: 64)"),
        PinWord::Order => (Shape::Iterators, "order(k, i, j)"),
        PinWord::Shared => (Shape::Arrays { options: &STAGE_OPTIONS, sections: true }, "shared(A, B pad(4))"),
        PinWord::Global => (ARRAYS, "global(A)"),
        PinWord::Stream => (ARRAYS, "stream(C)"),
        PinWord::Cached => (ARRAYS, "cached(C)"),
        PinWord::Only => (Shape::Alone, "only"),
    }
}

/// The kinds of processor that a word has a meaning for.
pub(super) fn targets(word: PinWord) -> &'static [PinTarget] {
    match word {
        PinWord::On | PinWord::Reg | PinWord::Vec | PinWord::Order | PinWord::Only => &PinTarget::ALL,
        PinWord::Tblock
        | PinWord::Thread
        | PinWord::Partition
        | PinWord::Tile
        | PinWord::Shared
        | PinWord::Global
        | PinWord::AtOnce
        | PinWord::Registers
        | PinWord::Joined
        | PinWord::Separate
        | PinWord::Span
        | PinWord::Split => &[PinTarget::Cuda],
        PinWord::Lanes | PinWord::Stream | PinWord::Cached | PinWord::Threads | PinWord::Chunk => &[PinTarget::Cpu],
        // A loop is written out wherever it runs.
        PinWord::Unroll => &[],
    }
}
