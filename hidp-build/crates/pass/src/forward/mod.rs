//! `forward`: forwards stores of an iteration to its later loads, and drops arrays that are never loaded.
//!
//! - A load of an element that the same iteration stored before becomes the stored value.
//! - A store that the same iteration overwrites before any read is dropped.
//! - A local array without loads is dropped with its stores: a temporary between two fused maps becomes a scalar.
//! - `c = t`, with a local `t` that dies there, makes `t` another name of `c`, or exchanges the two inside a loop.
//!
//! An allocation that is dropped might have faulted for its size; a test of the sizes replaces it unless they are known to fit.

mod elements;
mod rename;
mod unused;

use super::Pass;
use hidp_ir::par::{FuncId, Program};

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "forward",
    about: "replaces loads of what the iteration stored, drops arrays that nobody loads and copies of dying arrays",
    run,
};

fn run(program: &mut Program) {
    let before = program.clone();
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for id in funcs {
        let func = &mut program.funcs[id];
        elements::forward(&before, func);
        unused::drop_arrays(&before, func);
        rename::drop_copies(&before, func);
    }
}
