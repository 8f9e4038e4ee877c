//! The constraints of mappings as a table, and refusals, which say which of them a nest does not meet and why. The planner, directives,
//! pinned plans and `explain` share both.

use std::borrow::Cow;
use std::fmt;

use hidp_syntax::source::Span;

/// What a mapping demands of a nest.
#[derive(Debug, PartialEq, Eq)]
pub struct Constraint {
    /// Its name in messages.
    pub id: &'static str,
    /// What it demands.
    pub text: &'static str,
}

macro_rules! constraints {
    ($($name:ident: $id:literal, $text:literal;)*) => {
        $(pub(crate) static $name: Constraint = Constraint { id: $id, text: $text };)*
        /// Every constraint.
        pub static CONSTRAINTS: &[&Constraint] = &[$(&$name),*];
    };
}

constraints! {
    ALIGNED: "aligned", "elements that move at once begin at a multiple of as many, and have 16 bytes at most";
    BLOCK_SHARED: "block-shared", "what a block stages fits into the memory that its threads share";
    BLOCK_THREADS: "block-threads", "a block has full warps of threads, and no more than the device allows";
    COVER: "cover", "the lines of an iterator cover its range once";
    DIMS: "dims", "a grid and its blocks have up to three dimensions, the first of which are `x`";
    FAULT_ORDER: "fault-order", "checks that remain run where the program has them, before what comes after";
    GAIN: "gain", "a mapping is one of its own only where it saves loads, starts, or predicted time";
    GROUP: "group", "lanes that fold together are 4, 8, 32, or all of a block";
    HOST: "host", "the host takes iterations one after the other only where they fold nothing";
    INSIDE: "inside", "lanes of a group share what an iteration has inside: a map or a primitive";
    LANES: "lanes", "whole iterations in lanes are plain computations on numbers: branches, loops, maps, elements and updates of them";
    LAUNCHES: "launches", "launches that one grid does are those of a loop of the host, whose iterations run as they are";
    LOOP: "loop", "what is written out is a loop of the program, not one of the run-time library";
    MEMORY_SIZE: "memory-size", "arrays that iterations declare have a size that is known before the launch, or are none";
    NAMED: "named", "directives ask for other mappings";
    NATIVE: "native", "C++ headers of the program compile for the target";
    ORDER: "order", "around a fold that runs outside of the iterations around it stand plain computations alone";
    OUTERMOST: "outermost", "a launch has its shape from the outermost map of a nest";
    PREDICTED: "predicted", "the search compares predicted times of all that runs differently";
    RAGGED: "ragged", "ranges that are cut, or shared by lanes, do not depend on the iterations around";
    REGISTERS: "registers", "what a lane keeps in registers fits into them";
    SECTION: "section", "what is staged or kept in lanes is read alone, at places that grow evenly with the iterators";
    SEQUENCE: "sequence", "folds in the order of iterations, and prefixes, go by single threads";
    SHAPE: "shape", "a nest has as many iterators, maps and folds as the mapping has lines for, and they advance by one";
    SHARES: "shares", "the lanes of a block have equal shares of a tile, and of what is staged for it";
    TARGET: "target", "levels of graphics processors are none of processors";
}

impl Constraint {
    /// That a nest does not meet it, for what stands at `at`.
    pub(crate) fn refused(&'static self, at: Span, why: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { constraint: self, why: why.into(), at }
    }
}

/// Why a nest does not run in some way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is not met.
    pub constraint: &'static Constraint,
    /// What of the nest does not meet it.
    pub why: Cow<'static, str>,
    /// Where that stands: a statement, an access, a directive, or the iterators of a map.
    pub at: Span,
}

impl Refusal {
    /// The constraint, as a note of a diagnostic.
    pub fn note(&self) -> String {
        format!("constraint `{}`: {}", self.constraint.id, self.constraint.text)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_have_names_of_their_own_in_order() {
        for pair in CONSTRAINTS.windows(2) {
            assert!(pair[0].id < pair[1].id, "{} stands before {}", pair[0].id, pair[1].id);
        }
    }
}
