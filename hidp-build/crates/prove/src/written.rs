//! What a block may assign, and how it may be left.

use hidp_ir::par::visit::child_blocks;
use hidp_ir::par::{
    BinOp, Block, CallArg, Expr, ExprKind, Loop, Map, PrimCall, Stmt, StmtKind, Target, Var, VarId, VarKind, same,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::prim::Prim;

/// Shows `visit` every statement of `block`, inner ones too.
fn each(block: &Block, visit: &mut dyn FnMut(&Stmt)) {
    for stmt in &block.stmts {
        visit(stmt);
        for inner in child_blocks(stmt) {
            each(inner, visit);
        }
    }
}

/// Scalars that `block` may assign.
pub(crate) fn scalars(block: &Block) -> OrdSet<VarId> {
    scalars_with_repetition(block).into_iter().collect()
}

/// Scalars that `block` may assign, once for each declaration and assignment.
pub(crate) fn scalars_with_repetition(block: &Block) -> Vec<VarId> {
    let mut found = Vec::new();
    each(block, &mut |stmt| scalars_of(stmt, &mut found));
    found
}

/// Scalars that a map may assign, its folds included.
pub(crate) fn scalars_of_map(map: &Map) -> OrdSet<VarId> {
    let mut found = scalars(&map.body);
    found.extend(map.folds.iter().filter_map(|fold| scalar_target(&fold.target)));
    found
}

fn scalar_target(target: &Target) -> Option<VarId> {
    match target {
        Target::Scalar(var) => Some(*var),
        Target::Element(_) => None,
    }
}

fn scalars_of(stmt: &Stmt, found: &mut Vec<VarId>) {
    match &stmt.kind {
        StmtKind::Declare { var, .. } | StmtKind::Assign { var, .. } | StmtKind::AssignField { var, .. } => {
            found.push(*var);
        }
        StmtKind::Map(map) => found.extend(map.folds.iter().filter_map(|fold| scalar_target(&fold.target))),
        StmtKind::Prim(call) => found.extend(call.result.as_ref().and_then(scalar_target)),
        StmtKind::Call { args, .. } => {
            for arg in args {
                if let CallArg::Scalar(var) = arg {
                    found.push(*var);
                }
            }
        }
        StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::If { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Swap(..)
        | StmtKind::Require { .. } => {}
    }
}

/// Whether all that a loop assigns to a scalar is itself and a positive constant, or itself without one (`false`); nothing if it is not so.
pub(crate) fn grows(node: &Loop, var: VarId) -> Option<bool> {
    let (mut steps, mut all) = (Vec::new(), true);
    for block in [&node.body, &node.step] {
        each(block, &mut |stmt| {
            let mut assigned = Vec::new();
            scalars_of(stmt, &mut assigned);
            if assigned.contains(&var) {
                match step_of(stmt, var) {
                    Some(step) => steps.push(step > 0),
                    None => all = false,
                }
            }
        });
    }
    let first = *steps.first()?;
    (all && steps.iter().all(|step| *step == first)).then_some(first)
}

/// The constant, not 0, that a statement adds to a scalar.
fn step_of(stmt: &Stmt, var: VarId) -> Option<i128> {
    let StmtKind::Assign { value, .. } = &stmt.kind else { return None };
    let ExprKind::Binary { op, left, right, .. } = &value.kind else { return None };
    let constant = right.as_int().filter(|_| matches!(left.kind, ExprKind::Read(read) if read == var))?;
    let step = match op {
        BinOp::Add => Some(constant),
        BinOp::Sub => constant.checked_neg(),
        _ => None,
    };
    step.filter(|step| *step != 0)
}

/// Arrays that `block` may write or exchange. Every array that is passed to a function counts.
pub(crate) fn arrays(block: &Block) -> OrdSet<VarId> {
    let mut found = OrdSet::new();
    each(block, &mut |stmt| arrays_of(stmt, &mut found));
    found
}

fn arrays_of(stmt: &Stmt, found: &mut OrdSet<VarId>) {
    match &stmt.kind {
        StmtKind::Store { place, .. } | StmtKind::Atomic { place, .. } => {
            found.insert(place.array);
        }
        StmtKind::Map(map) => found.extend(map.folds.iter().filter_map(|fold| element_target(&fold.target))),
        StmtKind::Prim(call) => found.extend(prim_outputs(call)),
        StmtKind::Swap(a, b) => found.extend([*a, *b]),
        StmtKind::Call { args, .. } => found.extend(args.iter().filter_map(|arg| match arg {
            CallArg::Element(place) => Some(place.array),
            CallArg::Array(array) => Some(*array),
            CallArg::Section(section) => Some(section.array),
            CallArg::Value(_) | CallArg::Scalar(_) => None,
        })),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::If { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Require { .. } => {}
    }
}

fn element_target(target: &Target) -> Option<VarId> {
    match target {
        Target::Scalar(_) => None,
        Target::Element(place) => Some(place.array),
    }
}

/// Arrays that a primitive may write.
pub(crate) fn prim_outputs(call: &PrimCall) -> Vec<VarId> {
    let mut found = Vec::new();
    let in_place = call.output.is_none() && call.result.is_none();
    if in_place || call.prim == Prim::ReverseInplace {
        found.push(call.input.array);
    }
    found.extend(call.output.as_ref().map(|output| output.array));
    found.extend(call.values.as_ref().and_then(|(_, out)| out.as_ref()).map(|out| out.array));
    found.extend(call.result.as_ref().and_then(element_target));
    found.extend(call.new_bounds.into_iter().flat_map(|(low, high)| [low, high]));
    found
}

/// Whether some statement of `block`, inner ones too, is such.
fn any(block: &Block, test: impl Fn(&StmtKind) -> bool) -> bool {
    let mut found = false;
    each(block, &mut |stmt| found |= test(&stmt.kind));
    found
}

/// Whether it may end its loop, scope or function early.
pub(crate) fn jumps(block: &Block) -> bool {
    any(block, |kind| matches!(kind, StmtKind::Break | StmtKind::Continue | StmtKind::Leave | StmtKind::Return(_)))
}

/// Whether it holds a `continue`, perhaps of an inner loop.
pub(crate) fn continues(block: &Block) -> bool {
    any(block, |kind| matches!(kind, StmtKind::Continue))
}

/// Whether it may leave its loop other than by the condition.
pub(crate) fn breaks(block: &Block) -> bool {
    any(block, |kind| matches!(kind, StmtKind::Break | StmtKind::Leave | StmtKind::Return(_)))
}

/// Whether it may leave its scope or function.
pub(crate) fn leaves(block: &Block) -> bool {
    any(block, |kind| matches!(kind, StmtKind::Leave | StmtKind::Return(_)))
}

/// Whether it exchanges arrays whose extents may differ. Where they are written alike, of what never changes, they are equal.
pub(crate) fn swaps_unlike(vars: &Arena<VarId, Var>, block: &Block) -> bool {
    any(block, |kind| match kind {
        StmtKind::Swap(a, b) => {
            let (left, right) = (&vars[*a].shape, &vars[*b].shape);
            !same::exprs(left, right) || !left.iter().all(|extent| is_fixed(vars, extent))
        }
        _ => false,
    })
}

/// Whether a value is the same wherever in a function it is computed.
fn is_fixed(vars: &Arena<VarId, Var>, value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Const(_) => true,
        ExprKind::Read(var) => matches!(vars[*var].kind, VarKind::Dim | VarKind::Param(Direction::Input)),
        ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } => is_fixed(vars, operand),
        ExprKind::Binary { left, right, .. } => is_fixed(vars, left) && is_fixed(vars, right),
        ExprKind::Math(_, operands) => operands.iter().all(|operand| is_fixed(vars, operand)),
        ExprKind::Load(_)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_ir::par::{Program, read};

    /// The program `text`, whose function has `n`, `a`, `b` and the body.
    fn of(shapes: [&str; 2], body: &str) -> Program {
        let [a, b] = shapes;
        let text = format!(
            "func f() dims (N) {{ vars {{ N: long dim; n: long local; a: int[{a}] local; b: int[{b}] local; }} {body} }} entries (f)"
        );
        read(&text).expect("a program")
    }

    #[test]
    fn counters_go_one_way() {
        let way = |body: &str, step: &str| {
            let program = of(["N", "N"], &format!("declare n zero; loop (n < N) {{ {body} }} step {{ {step} }}"));
            let func = &program.funcs[program.entries[0]];
            let (n, _) = func.vars.iter().find(|(_, var)| var.name == "n").expect("`n`");
            let node = func.body.stmts.iter().find_map(|stmt| match &stmt.kind {
                StmtKind::Loop(node) => Some(node),
                _ => None,
            });
            grows(node.expect("a loop"), n)
        };
        assert_eq!(way("", "n = (n + 1);"), Some(true));
        assert_eq!(way("n = (n - 2);", "n = (n - 1);"), Some(false));
        assert_eq!(way("n = (n - 2);", "n = (n + 1);"), None);
        assert_eq!(way("if (n == 3) { n = (n + 4); } else { }", "n = (n + 1);"), Some(true));
        for other in ["n = (n + 0);", "n = (n + n);", "n = N;", "n = (N + 1);", "n = (n * 2);"] {
            assert_eq!(way(other, "n = (n + 1);"), None, "{other}");
        }
        assert_eq!(way("", ""), None);
    }

    #[test]
    fn arrays_written_alike_of_what_never_changes_have_equal_extents() {
        let unlike = |shapes: [&str; 2]| {
            let program = of(shapes, "n = N; declare a zero; n = 2; declare b zero; swap a, b;");
            let func = &program.funcs[program.entries[0]];
            swaps_unlike(&func.vars, &func.body)
        };
        assert!(!unlike(["(N + 1)", "(N + 1)"]));
        assert!(unlike(["(N + 1)", "(N + 2)"]));
        assert!(unlike(["n", "n"]), "`n` has changed in between");
    }
}
