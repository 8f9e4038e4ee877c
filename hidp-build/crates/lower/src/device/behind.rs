//! Loads that stand in front of a condition, where processors want them (the pass `eager`): a lane of a device makes them behind it, and holds fewer
//! values at a time.

use hidp_ir::par::visit::{Role, substitute, substitute_expr, walk_expr_vars, walk_stmt_vars, walk_vars};
use hidp_ir::par::{Access, Block, Expr, ExprKind, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;

/// The statements with such loads behind their conditions; nothing if there are none.
pub(in super::super) fn loaded_behind_conditions(stmts: &[Stmt]) -> Option<Vec<Stmt>> {
    let mut changed = stmts.to_vec();
    let mut gone = Vec::new();
    for (at, stmt) in stmts.iter().enumerate() {
        let Some((var, load)) = load(stmt) else { continue };
        // Between it and the statement that reads it others are loaded alone.
        let user = at + 1 + stmts[at + 1..].iter().take_while(|stmt| is_declared_or_loaded(stmt)).count();
        let alone = stmts.iter().enumerate().all(|(other, stmt)| other == at || other == user || !is_read(stmt, var));
        let own = stmts[..at].iter().any(|stmt| declares(stmt, var));
        let moves = own && alone && !stmts[at + 1..user].iter().any(|stmt| is_about(load, stmt));
        let moves = moves && stmts.get(user).is_some_and(|stmt| is_read(stmt, var));
        if let (Some(stmt), true) = (changed.get_mut(user), moves)
            && moves_behind(stmt, var, load)
        {
            gone.push(var);
        }
    }
    let is_gone = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Declare { var, .. } | StmtKind::Assign { var, .. } => gone.contains(var),
        _ => false,
    };
    changed.retain(|stmt| !is_gone(stmt));
    (!gone.is_empty()).then_some(changed)
}

/// Puts a load behind the conditions of the only statement that reads its variable, if all reads stand behind one and nothing changes in between.
fn moves_behind(stmt: &mut Stmt, var: VarId, load: &Expr) -> bool {
    let in_place_of = |read: VarId| (read == var).then(|| load.clone());
    if let StmtKind::If { cond, then, otherwise } = &mut stmt.kind {
        let moves = is_behind(cond, var, false) && !changes(then, load) && !changes(otherwise, load);
        if moves {
            substitute_expr(cond, in_place_of);
            substitute(then, in_place_of);
            substitute(otherwise, in_place_of);
        }
        return moves;
    }
    let value = value_of(&mut stmt.kind).filter(|value| is_behind(value, var, false));
    let moves = value.is_some();
    value.into_iter().for_each(|value| substitute_expr(value, in_place_of));
    moves
}

/// Whether a block changes what a load reads.
fn changes(block: &Block, load: &Expr) -> bool {
    let mut reads = OrdSet::new();
    walk_expr_vars(load, |var, _| _ = reads.insert(var));
    let mut found = false;
    walk_vars(block, |var, role| found |= role != Role::Read && reads.contains(&var));
    found
}

/// A variable that takes an element which is certainly there, and which nobody else writes.
fn load(stmt: &Stmt) -> Option<(VarId, &Expr)> {
    let StmtKind::Assign { var, value } = &stmt.kind else { return None };
    let ExprKind::Load(place) = &value.kind else { return None };
    (place.unproved == 0 && place.access == Access::Exclusive).then_some((*var, value))
}

fn is_declared_or_loaded(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Declare { .. }) || load(stmt).is_some()
}

fn is_read(stmt: &Stmt, var: VarId) -> bool {
    let mut found = 0;
    walk_stmt_vars(stmt, |other, _| found += usize::from(other == var));
    found > usize::from(declares(stmt, var))
}

fn declares(stmt: &Stmt, var: VarId) -> bool {
    matches!(stmt.kind, StmtKind::Declare { var: declared, .. } if declared == var)
}

/// Whether a statement sets a variable that a load reads.
fn is_about(load: &Expr, stmt: &Stmt) -> bool {
    let StmtKind::Assign { var: set, .. } = &stmt.kind else { return false };
    let mut found = false;
    walk_expr_vars(load, |read, _| found |= read == *set);
    found
}

fn value_of(stmt: &mut StmtKind) -> Option<&mut Expr> {
    match stmt {
        StmtKind::Assign { value, .. } => Some(value),
        StmtKind::Store { place, value } => place
            .index
            .iter()
            .all(|index| matches!(index.kind, ExprKind::Read(_) | ExprKind::Const(_)))
            .then_some(value),
        _ => None,
    }
}

/// Whether all reads of a variable stand behind a condition.
fn is_behind(expr: &Expr, var: VarId, conditional: bool) -> bool {
    match &expr.kind {
        ExprKind::Read(read) => conditional || *read != var,
        ExprKind::Lazy { left, right, .. } => is_behind(left, var, conditional) && is_behind(right, var, true),
        ExprKind::Select { cond, then, otherwise } => {
            is_behind(cond, var, conditional) && is_behind(then, var, true) && is_behind(otherwise, var, true)
        }
        ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => {
            is_behind(operand, var, conditional)
        }
        ExprKind::Binary { left, right, .. } => is_behind(left, var, conditional) && is_behind(right, var, conditional),
        ExprKind::Math(_, operands) | ExprKind::Call(_, operands) | ExprKind::Struct(_, operands) => {
            operands.iter().all(|operand| is_behind(operand, var, conditional))
        }
        ExprKind::Load(_) | ExprKind::Const(_) => {
            let mut found = false;
            walk_expr_vars(expr, |read, _| found |= read == var);
            !found
        }
    }
}

#[cfg(test)]
mod tests {
    use super::loaded_behind_conditions;
    use hidp_ir::par::read;

    /// Whether a load moves in a body, in which `t` is an element of `x`.
    fn moves(body: &str) -> bool {
        let text = format!(
            "func f(x, y, c) dims (N) {{ vars {{ N: long dim; x: int[N] input; y: int[N] inout; c: bool input; t: int local; k: int local; }} {body} }} entries (f)"
        );
        let program = read(&text).expect("a program");
        loaded_behind_conditions(&program.funcs[program.entries[0]].body.stmts).is_some()
    }

    #[test]
    fn loads_move_if_nothing_else_sees_it() {
        let user = "y[1] = select(c, t, 0:int);";
        let with = |between: &str| moves(&format!("declare k zero; declare t zero; t = x[k]; {between} {user}"));
        assert!(with(""));
        assert!(with("declare k zero;"));
        assert!(!with("k = x[3];"), "the index changes");
        assert!(!with("y[2] = 5:int;"), "others are written between");
        assert!(!moves(&format!("t = x[1]; {user}")), "`t` lives on");
        assert!(!moves(&format!("declare t zero; t = x[1]; {user} y[2] = t;")), "read again");
        assert!(!moves(&format!("declare t zero; t = x[1?]; {user}")), "may fault");
        assert!(!moves(&format!("declare t zero; t = x~[1]; {user}")), "other iterations write it");
        let branch = |then: &str| moves(&format!("declare k zero; declare t zero; t = x[k]; if (c) {{ {then} }}"));
        assert!(branch("y[1] = t;"));
        assert!(!branch("k = 2; y[1] = t;"), "the index changes in the branch");
        assert!(
            !moves("declare k zero; declare t zero; t = y[k]; if (c) { y[2] = 3:int; y[1] = t; }"),
            "so does the element"
        );
        assert!(
            !moves("declare k zero; declare t zero; t = x[k]; if (t > 3:int) { y[1] = t; }"),
            "the condition reads it"
        );
        assert!(!moves("declare t zero; t = x[1]; y[1] = (t + select(c, t, 0:int));"), "read in any case");
    }
}
