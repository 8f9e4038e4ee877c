//! How launches share their index spaces, and what is known of their work.

use super::Expr;
use hidp_syntax::source::Span;

/// How a launch shares its index space.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// One call `[0, extent)` on the calling thread.
    Serial,
    /// Contiguous parts of nearly equal size, some for each worker; each a multiple of `grain`, except the last.
    Static {
        /// Multiple of which parts are.
        grain: u32,
        /// How many grains a part has at least where there are more parts than workers: for so many, what a part does first is worth it.
        least: u32,
        /// Threads that take parts at most; none if all may.
        threads: Option<u32>,
        /// How much there is to do.
        work: Work,
    },
    /// Parts of `grain` taken in turn; for irregular work.
    Dynamic {
        /// Size of a part.
        grain: u32,
        /// Threads that take parts at most; none if all may.
        threads: Option<u32>,
        /// How much there is to do.
        work: Work,
        /// Whether each worker takes its parts in order, rather than first those that it is likely to have in its caches.
        in_order: bool,
    },
}

/// How much a launch has to do, as far as the host can tell before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// `long`, element operations.
    pub operations: Expr,
    /// What the number takes for granted, once a place.
    pub assumed: Vec<Assumed>,
}

impl Work {
    /// Whether there may be much more: it rests on turns of which nothing is known, or on ranges that may overlap.
    pub fn is_guess(&self) -> bool {
        self.assumed.iter().any(|assumed| match assumed.what {
            Assumption::Turns(_) | Assumption::AtLeastArray | Assumption::Mean => true,
            Assumption::Middle | Assumption::Array => false,
        })
    }
}

impl From<Expr> for Work {
    fn from(operations: Expr) -> Self {
        Self { operations, assumed: Vec::new() }
    }
}

/// What an estimate takes for granted of a loop, a range or a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// What it is.
    pub what: Assumption,
    /// Of which statement or range.
    pub at: Span,
}

/// What an estimate takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// It has this many turns, or elements: nothing is known.
    Turns(u32),
    /// It is always as long as where the variables that it depends on are in the middle of their ranges.
    Middle,
    /// All of it together is as long as the array that it runs through: each range begins where the one before ends.
    Array,
    /// The same, though ranges may overlap, or elements take longer than most.
    AtLeastArray,
    /// It is as long as the mean of the ranges that data choose it from.
    Mean,
}
