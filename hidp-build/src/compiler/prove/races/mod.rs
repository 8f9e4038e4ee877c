//! Which iterations of a map may touch one element.
//!
//! Two instances of accesses to one array run at the same time if, going from the array's declaration inward, the first map in
//! which their iterations differ is one that encloses both. For every such map and every iterator in which they may first
//! differ, the indices being equal is refuted (then they never conflict), or proved for a pair of iterations that exist (then
//! they certainly do), or neither (then it depends on data, and the accesses are shared).

mod pair;
mod record;
mod rename;
mod report;

use std::collections::BTreeSet;

use crate::compiler::diag::Sink;
use crate::compiler::index::Arena;
use crate::compiler::ir::par::{Access, Block, Place, Program, Var, VarId};

use super::bounds;
use super::context::Context;
use super::walk::{Client, Start, Use, walk};
use record::Recorder;

/// The numbers, in the order of a walk, of the places that other iterations may touch.
pub(super) fn shared(
    program: &Program,
    vars: &Arena<VarId, Var>,
    body: &Block,
    start: Start,
    sink: &mut Sink,
) -> BTreeSet<usize> {
    // What is proved to be inside has a value that can be told to equal itself.
    let mut proved = body.clone();
    bounds::prove(vars, &mut proved, start);
    let mut recorder = Recorder::new(program, sink);
    walk(vars, &mut proved, &mut recorder, start);
    recorder.shared
}

/// Sets the access of every place.
pub(super) struct Setter {
    /// The places that are shared.
    pub shared: BTreeSet<usize>,
    /// How many places were met.
    pub count: usize,
}

impl Client for Setter {
    fn place(&mut self, _cx: &mut Context<'_>, place: &mut Place, how: Use, _conditional: bool) {
        let is_shared = self.shared.contains(&self.count) || how == Use::Atomic;
        place.access = if is_shared { Access::Shared } else { Access::Exclusive };
        self.count += 1;
    }
}
