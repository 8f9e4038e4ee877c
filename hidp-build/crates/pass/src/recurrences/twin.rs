//! Systems with two versions in a function, and the condition that selects one.

use hidp_ir::par::visit;
use hidp_ir::par::{BinOp, Block, Expr, FuncId, Program, Stmt, StmtKind, System, Table, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;

use super::build;

/// Whether no extent of the tables exceeds what an `int` holds.
pub(super) fn fit_int(program: &Program, id: FuncId, system: &System) -> Expr {
    let vars = &program.funcs[id].vars;
    let extents = system.tables.iter().flat_map(|table| &vars[table.array].shape);
    let fits = extents.map(|extent| Expr::long(BinOp::Le, extent.clone(), Expr::int(i32::MAX.into(), extent.span)));
    build::all(fits.collect(), system.tables[0].span)
}

/// The same system with indices and locals of its own.
pub(super) fn twin(program: &mut Program, id: FuncId, system: &System) -> System {
    let bodies: Vec<Block> = system.tables.iter().map(|table| table.body.clone()).collect();
    let (mut twin, bodies) = copied(&mut program.funcs[id].vars, system, &bodies);
    for (table, body) in twin.tables.iter_mut().zip(bodies) {
        table.body = body;
    }
    twin
}

/// The same system and bodies of its tables with indices and locals of their own. (The system's own bodies stay.)
pub(super) fn copied(vars: &mut Arena<VarId, Var>, system: &System, bodies: &[Block]) -> (System, Vec<Block>) {
    let (mut tables, mut copies) = (Vec::new(), Vec::new());
    for (table, body) in system.tables.iter().zip(bodies) {
        let mut map: OrdMap<VarId, VarId> = OrdMap::new();
        for iter in &table.index {
            let copy = vars[iter.var].clone();
            map.insert(iter.var, vars.push(copy));
        }
        let from = vars.clone();
        copies.push(visit::clone_block(body, &from, vars, &mut map));
        let renamed = |var: VarId| map.get(&var).copied().unwrap_or(var);
        let mut index = table.index.clone();
        for iter in &mut index {
            iter.var = renamed(iter.var);
            visit::rename_expr_vars(&mut iter.lo, renamed);
            visit::rename_expr_vars(&mut iter.hi, renamed);
        }
        tables.push(Table { index, ..table.clone() });
    }
    (System { tables, order: system.order.clone() }, copies)
}

/// Statements whose tables are others than those that they declare: another version of the system declares the same ones.
pub(super) fn with_own_tables(vars: &mut Arena<VarId, Var>, system: &System, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let (mut block, mut own) = (Block { stmts }, OrdMap::new());
    visit::walk_stmts(&block, |stmt| {
        if let StmtKind::Declare { var, .. } = stmt.kind
            && system.tables.iter().any(|table| table.array == var)
        {
            own.insert(var, vars.push(vars[var].clone()));
        }
    });
    visit::rename_vars(&mut block, |var| own.get(&var).copied().unwrap_or(var));
    block.stmts
}
