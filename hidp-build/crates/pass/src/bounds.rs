//! `bounds`: drops tests that are proved to pass. Runs before the passes that may not reorder faults, and at the end.

use super::Pass;
use hidp_ir::par::visit::{Mutator, Role, change};
use hidp_ir::par::{Block, Const, Expr, ExprKind, FuncId, Place, Program, StmtKind};
use hidp_prove as prove;

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
        DropProved.visit_block(&mut program.funcs[func].body);
        if program.funcs[func].unchecked {
            trust(program, func);
        }
    }
}

/// Drops the tests whose condition has become `true`.
struct DropProved;

impl Mutator for DropProved {
    fn visit_block(&mut self, block: &mut Block) {
        block.stmts.retain(|stmt| match &stmt.kind {
            StmtKind::Require { cond, .. } => cond.kind != ExprKind::Const(Const::Bool(true)),
            _ => true,
        });
        change::walk_block(self, block);
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_ir::par::{read, verify, visit};

    #[test]
    fn tests_that_always_pass_are_dropped() {
        let text = r#"
func f(x, k) dims (N) {
  vars { N: long dim; x: float[N] inout; k: long input; i: long iter; j: long iter; }
  require (N >= 0) fault NegativeSize ("" N);
  require ((k <= 0) || (k < 9223372036854775807)) fault Index ();
  map (i = 0 .. N by 1) {
    require ((i >= 0) && (i < N)) fault Index ("" i);
    require (((N - 1) <= 0) || ((0 >= 0) && ((N - 1) <= N))) fault Segment ();
    require (i != N) fault Shape ();
    x[i] = 0.0:float;
  }
  map (j = 0 .. k by 1) { require (j < N) fault Index ("" j); x[j?] = 1.0:float; }
}
entries (f)
"#;
        let mut program = read(text).expect("a program");
        run(&mut program);
        verify(&program).expect("well formed");
        let mut left = Vec::new();
        visit::walk_stmts(&program.funcs[program.entries[0]].body, |stmt| {
            if let StmtKind::Require { values, .. } = &stmt.kind {
                left.push(values.len());
            }
        });
        assert_eq!(left, [0, 1], "what depends on `k` stays");
    }
}
