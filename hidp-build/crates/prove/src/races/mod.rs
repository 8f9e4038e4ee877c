//! Which iterations of a map may touch one element.
//!
//! Two instances of accesses to one array run at the same time if, going from the array's declaration inward, the first map in
//! which their iterations differ is one that encloses both. For every such map and every iterator in which they may first
//! differ, the indices being equal is refuted (then they never conflict), or proved for a pair of iterations that exist (then
//! they certainly do), or neither (then it depends on data, and the accesses are shared).

mod multiples;
mod pair;
mod record;
mod report;

use hidp_ir::par::visit;
use hidp_ir::par::{Access, BinOp, Block, ExprKind, Place, PrimCall, Program, Var, VarId};
use hidp_syntax::diag::Sink;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;

use super::Doubt;
use super::bounds;
use super::context::Context;
use super::walk::{Client, Start, Use, walk};
use record::{Judged, Recorder};

/// Finds the places, and the segments of primitives, that other iterations may touch, and why.
pub(super) fn shared(
    program: &Program,
    vars: &Arena<VarId, Var>,
    body: &Block,
    start: Start,
    sink: &mut Sink,
) -> (Setter, Vec<Doubt>) {
    // What is proved to be inside has a value that can be told to equal itself.
    let mut proved = body.clone();
    bounds::prove(vars, &mut proved, start);
    let mut judged = judged(program, vars, &mut proved, start, (sink, false));
    if judged.iter().any(Judged::shares_stores) && divides(&proved) {
        // In lanes iterations go on after a division that failed, and two may store to one element. The call fails, and nobody sees what
        // is in it; but what is loaded may be an index, which must not be another one than was tested.
        let divided = self::judged(program, vars, &mut proved, start, (&mut Sink::new(), true));
        judged.iter_mut().zip(&divided).for_each(|(judged, divided)| judged.free_stores(divided));
    }
    let shared = judged.iter().flat_map(|judged| &judged.shared).copied().collect();
    let shared_calls = judged.iter().flat_map(|judged| &judged.shared_calls).copied().collect();
    let setter = Setter { shared, places: 0, shared_calls, calls: 0 };
    (setter, judged.into_iter().flat_map(|judged| judged.doubts).collect())
}

/// What is shared in each outermost map, perhaps only where all divisions succeed.
fn judged(
    program: &Program,
    vars: &Arena<VarId, Var>,
    body: &mut Block,
    start: Start,
    (sink, divided): (&mut Sink, bool),
) -> Vec<Judged> {
    let mut recorder = Recorder::new(program, sink, divided);
    walk(vars, body, &mut recorder, start);
    recorder.judged
}

/// Whether something is divided by what is not constant.
fn divides(body: &Block) -> bool {
    let mut found = false;
    visit::walk_exprs(body, |expr| {
        found |= matches!(&expr.kind, ExprKind::Binary { op: BinOp::Div | BinOp::Rem, right, .. } if right.as_int().is_none());
    });
    found
}

/// Sets the access of every place and primitive. Numbers are those in the order of a walk.
pub(super) struct Setter {
    /// The places that are shared.
    shared: OrdSet<usize>,
    /// How many places were met.
    places: usize,
    /// The calls of primitives whose segments are shared.
    shared_calls: OrdSet<usize>,
    /// How many calls were met.
    calls: usize,
}

impl Client for Setter {
    fn place(&mut self, _cx: &mut Context<'_>, place: &mut Place, how: Use, _conditional: bool) {
        place.access = access(self.shared.contains(&self.places) || how == Use::Atomic);
        self.places += 1;
    }

    fn prim(&mut self, _cx: &mut Context<'_>, call: &mut PrimCall, _conditional: bool) {
        call.access = access(self.shared_calls.contains(&self.calls));
        self.calls += 1;
    }
}

fn access(is_shared: bool) -> Access {
    if is_shared { Access::Shared } else { Access::Exclusive }
}
