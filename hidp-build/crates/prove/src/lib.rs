//! Symbolic proofs over `par`: bounds of accesses, which iterations of a map may touch one element, in which order the cells of
//! recurrences can be computed.
//!
//! Soundness is the product: a wrong "proved" is undefined behaviour in a safe function. Whatever is not understood stays
//! unproved: the bound is tested at run time, the access is shared.
//!
//! A part of `hidp-build`, which is what build scripts use. Its interface is internal: no version promises anything of it.

use hidp_ir::par::{FuncId, Program, VarId};
use hidp_syntax::diag::Sink;
use hidp_syntax::source::Span;

mod assume;
mod bounds;
mod context;
mod convert;
mod eliminate;
mod facts;
mod linear;
pub mod order;
mod races;
mod rename;
mod solve;
mod term;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod walk;
mod widen;
mod witness;
mod written;

pub use assume::{Assumptions, Condition, Known, Sum, assumptions, assumptions_of_sections};
pub use context::MAX_EXTENT;
pub use facts::Facts;
pub use linear::Extreme;
use walk::Start;

/// A test that stays in the generated code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainingCheck {
    /// The access or operation.
    pub span: Span,
    /// What is tested.
    pub kind: RemainingKind,
    /// Why it could not be proved away: a sentence part.
    pub reason: String,
}

/// What a remaining test looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemainingKind {
    /// Index of this dimension (from 0).
    Index(u32),
    /// Divisor 0.
    Division,
    /// Shift count.
    Shift,
    /// Narrowing conversion.
    Narrowing,
    /// Segment of a primitive.
    Segment,
    /// Stride of an iterator.
    Stride,
    /// Extent of a local array.
    Extent,
}

/// Two accesses to one array that may mean one element in different iterations of a map, as far as can be proved. They are the first of
/// their array and map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The array.
    pub array: VarId,
    /// The first iterator of the map.
    pub map: VarId,
    /// An access: the read, where one reads.
    pub first: Span,
    /// The other, which may be the same.
    pub second: Span,
    /// Whether both write.
    pub both_write: bool,
    /// Whether iterations certainly read what another one writes: an element that is the same for all of them, as `p[0]`.
    pub is_certain: bool,
}

/// Finds out which iterations of each map of `func` may touch one element: sets [`Access`] of every place and primitive, reports
/// the maps in which two iterations certainly conflict, and returns what it could not tell apart.
///
/// [`Access`]: hidp_ir::par::Access
pub fn races(program: &mut Program, func: FuncId, sink: &mut Sink) -> Vec<Doubt> {
    let function = &program.funcs[func];
    let start = start(program, func);
    let (mut setter, doubts) = races::shared(program, &function.vars, &function.body, start, sink);
    let mut body = std::mem::take(&mut program.funcs[func].body);
    let shapes = walk::walk(&program.funcs[func].vars, &mut body, &mut setter, start);
    let function = &mut program.funcs[func];
    function.body = body;
    for (var, shape) in shapes {
        function.vars[var].shape = shape;
    }
    doubts
}

/// Removes the tests that can be proved to pass: bits of `Place::unproved`, `checked` of divisions and shifts,
/// `ConvertMode::Checked` (becomes `Cast`), conditions of `Require` (become `true`). Those in scalar functions too.
pub fn bounds(program: &mut Program, func: FuncId) {
    let start = start(program, func);
    let mut taken = std::mem::take(&mut program.funcs[func].body);
    let shapes = bounds::prove(&program.funcs[func].vars, &mut taken, start);
    let func = &mut program.funcs[func];
    func.body = taken;
    for (var, shape) in shapes {
        func.vars[var].shape = shape;
    }
    for (_, scalar_fn) in program.scalar_fns.iter_mut() {
        if let Some(body) = &mut scalar_fn.body {
            bounds::prove(&scalar_fn.vars, body, Start::Called);
        }
    }
}

/// The same for a function's own tests, by proofs that distinguish more cases and take several times as long.
pub fn bounds_by_cases(program: &mut Program, func: FuncId) {
    let start = start(program, func);
    let func = &mut program.funcs[func];
    for (var, shape) in bounds::prove_by_cases(&func.vars, &mut func.body, start) {
        func.vars[var].shape = shape;
    }
}

/// Does arithmetic of narrower integers whose result becomes a `long` in `long`, where that gives the same.
pub fn widen(program: &mut Program, func: FuncId) {
    let start = start(program, func);
    let func = &mut program.funcs[func];
    for (var, shape) in widen::widen(&func.vars, &mut func.body, start) {
        func.vars[var].shape = shape;
    }
}

/// The tests that [`bounds`] had to leave, in execution order; those of scalar functions are not among them.
pub fn remaining(program: &Program, func: FuncId) -> Vec<RemainingCheck> {
    let function = &program.funcs[func];
    bounds::list(&function.vars, &function.body, start(program, func))
}

/// Only the wrapper calls an entry.
fn start(program: &Program, func: FuncId) -> Start {
    if program.is_called_from_outside(func) { Start::Entry } else { Start::Called }
}
