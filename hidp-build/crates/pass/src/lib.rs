//! Passes over [`par`](hidp_ir::par): each is a name, a sentence and a function; the pipeline is a list.
//!
//! A pass is one file. It states the invariant it adds, and every later pass keeps it. The verifier runs after each pass, so
//! that a failure names the pass that is to blame.
//!
//! A part of `hidp-build`, which is what build scripts use. Its interface is internal: no version promises anything of it.

mod ahead;
pub mod assume;
mod bounds;
mod cleanup;
mod codelets;
mod eager;
mod exchange;
mod expand;
mod extremes;
mod fields;
mod forward;
pub mod fuse;
mod inline;
mod instantiate;
mod join;
mod neighbours;
mod overwritten;
mod positions;
pub mod recurrences;
mod simplify;
mod split;
mod widen;
mod zero;

#[cfg(test)]
mod tests;

use std::fmt;

use hidp_ir::par::{Program, VerifyError, verify};

/// A transformation of a whole program.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Short name, as `explain` and errors print it.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// The transformation.
    pub run: fn(&mut Program),
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The passes between `check` and `plan`, in order.
pub const PIPELINE: &[Pass] = &[
    codelets::PASS,
    recurrences::PASS,
    instantiate::PASS,
    exchange::PASS,
    expand::PASS,
    inline::PASS,
    fields::PASS,
    simplify::PASS,
    bounds::PASS,
    ahead::PASS,
    positions::PASS,
    split::PASS,
    join::PASS,
    bounds::PASS,
    forward::PASS,
    fuse::PASS,
    forward::PASS,
    simplify::PASS,
    fuse::PASS,
    forward::PASS,
    assume::PASS,
    zero::PASS,
    overwritten::PASS,
    bounds::PASS,
    eager::PASS,
    widen::PASS,
    neighbours::PASS,
    cleanup::PASS,
];

/// A pass left a program that the verifier rejects. A defect of the compiler, never of the user's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassError {
    /// The pass; `check` if the input was already wrong.
    pub pass: &'static str,
    /// What is wrong.
    pub errors: Vec<VerifyError>,
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program is malformed after `{}`", self.pass)?;
        self.errors.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

impl std::error::Error for PassError {}

/// Whether folds are in the normal form that `split` makes and every later pass keeps: over all iterators of their map into
/// scalars, or prefix folds of a map with one iterator.
pub fn folds_are_normal(program: &Program) -> bool {
    split::is_normal(program)
}

/// Runs `passes` in order and verifies the program after each of them.
pub fn run(program: &mut Program, passes: &[Pass]) -> Result<(), PassError> {
    verify(program).map_err(|errors| PassError { pass: "check", errors })?;
    for pass in passes {
        (pass.run)(program);
        verify(program).map_err(|errors| PassError { pass: pass.name, errors })?;
    }
    Ok(())
}
