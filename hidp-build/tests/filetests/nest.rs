//! Nested shapes as text: `{[0:M,0:N],[0:K]}`; maps side by side in one body are separated by ` | `.

use hidp_build::compiler::index::Arena;
use hidp_build::compiler::ir::par::{BinOp, Block, Const, Expr, ExprKind, Map, Stmt, StmtKind, Var, VarId, visit};

/// The maps of a block that stand in no other map.
pub(crate) fn outermost(block: &Block) -> Vec<&Map> {
    let mut found = Vec::new();
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Map(map) => found.push(map),
            StmtKind::If { then, otherwise, .. } => {
                found.extend(outermost(then));
                found.extend(outermost(otherwise));
            }
            StmtKind::Loop(node) => {
                found.extend(outermost(&node.body));
                found.extend(outermost(&node.step));
            }
            StmtKind::Scope(inner) => found.extend(outermost(inner)),
            _ => {}
        }
    }
    found
}

/// The nested shape of a map.
pub(crate) fn shape(vars: &Arena<VarId, Var>, map: &Map) -> String {
    format!("{{{}}}", levels(vars, map))
}

fn levels(vars: &Arena<VarId, Var>, map: &Map) -> String {
    let range = |lo: &Expr, hi: &Expr, step: &Expr| {
        let stride = if step.as_int() == Some(1) { String::new() } else { format!(":{}", expr(vars, step)) };
        format!("{}:{}{stride}", expr(vars, lo), expr(vars, hi))
    };
    let ranges: Vec<String> = map.iters.iter().map(|iter| range(&iter.lo, &iter.hi, &iter.step)).collect();
    let own = format!("[{}]", ranges.join(","));
    let inner: Vec<String> = outermost(&map.body).into_iter().map(|inner| levels(vars, inner)).collect();
    match &inner[..] {
        [] => own,
        [one] => format!("{own},{one}"),
        several => format!("{own},({})", several.join(" | ")),
    }
}

/// An expression, as far as bounds need it.
fn expr(vars: &Arena<VarId, Var>, value: &Expr) -> String {
    match &value.kind {
        ExprKind::Const(Const::Int(value)) => value.to_string(),
        ExprKind::Read(var) => vars[*var].name.clone(),
        ExprKind::Load(place) => {
            let index: Vec<String> = place.index.iter().map(|index| format!("[{}]", expr(vars, index))).collect();
            format!("{}{}", vars[place.array].name, index.concat())
        }
        ExprKind::Convert { operand, .. } => expr(vars, operand),
        ExprKind::Binary { op, left, right, .. } => {
            let sign = match op {
                BinOp::Add => "+",
                BinOp::Sub => "-",
                BinOp::Mul => "*",
                BinOp::Div => "/",
                _ => "?",
            };
            format!("{}{sign}{}", expr(vars, left), expr(vars, right))
        }
        _ => "…".into(),
    }
}

/// The names of the arrays that a block declares.
pub(crate) fn arrays(vars: &Arena<VarId, Var>, block: &Block) -> Vec<String> {
    let mut found = Vec::new();
    visit::walk_stmts(block, |Stmt { kind, .. }| {
        if let StmtKind::Declare { var, .. } = kind
            && vars[*var].is_array()
        {
            found.push(vars[*var].name.clone());
        }
    });
    found
}
