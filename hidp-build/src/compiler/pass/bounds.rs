//! `bounds`: tests that can be proved to pass go away. Runs twice: before the passes that may not reorder faults, and at the end.

use super::Pass;
use crate::compiler::ir::par::visit::{Mutator, Role, change};
use crate::compiler::ir::par::{FuncId, Place, Program};
use crate::compiler::prove;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "bounds",
    about: "drops the tests that can be proved to pass, and all bounds of `unchecked` functions",
    run,
};

fn run(program: &mut Program) {
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for func in funcs {
        prove::bounds(program, func);
        if program.funcs[func].unchecked {
            trust(program, func);
        }
    }
}

/// Takes every subscript of an `unchecked` function to be inside.
fn trust(program: &mut Program, func: FuncId) {
    struct Trust;
    impl Mutator for Trust {
        fn visit_place(&mut self, place: &mut Place, role: Role) {
            place.unproved = 0;
            change::walk_place(self, place, role);
        }
    }
    Trust.visit_block(&mut program.funcs[func].body);
    for (_, var) in program.funcs[func].vars.iter_mut() {
        var.shape.iter_mut().for_each(|extent| Trust.visit_expr(extent));
    }
}
