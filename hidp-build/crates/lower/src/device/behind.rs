//! Loads that stand in front of a condition, where processors want them (the pass `eager`): a lane of a device makes them behind it, and holds fewer
//! values at a time.

use hidp_ir::par::visit::{substitute_expr, walk_expr_vars, walk_stmt_vars};
use hidp_ir::par::{Access, Expr, ExprKind, Stmt, StmtKind, VarId};

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
        let value = changed.get_mut(user).and_then(|stmt| value_of(&mut stmt.kind));
        if let (Some(value), true) = (value, moves && stmts.get(user).is_some_and(|stmt| is_read(stmt, var)))
            && is_behind(value, var, false)
        {
            substitute_expr(value, |read| (read == var).then(|| load.clone()));
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
        assert!(!moves("declare t zero; t = x[1]; y[1] = (t + select(c, t, 0:int));"), "read in any case");
    }
}
