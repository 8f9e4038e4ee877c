//! Loops that transpose rows: calls of the run time, which is told what each iteration copies.

use super::expr;
use super::stmt::Printer;
use super::text::Text;
use hidp_ir::imp::visit::each_subexpr;
use hidp_ir::imp::{Block, CopiedRow, Expr, ExprKind, Loop, PackedRows, Stmt, VarId};
use hidp_syntax::ordered::OrdSet;

impl Printer<'_> {
    /// A loop of kind `Across`.
    pub(super) fn across(&mut self, node: &Loop, row: &CopiedRow<'_>, out: &mut Text) {
        let CopiedRow { values, inner, target, source } = row;
        let name = |var| self.scope.name(var);
        let (to, from, row, column) = (name(target.base), name(source.base), name(node.var), name(inner.var));
        let parameter = |name: &str| format!("[[maybe_unused]] int64_t {name}");
        let place = format!("{}, {}", parameter(&row), parameter(&column));
        let columns = format!("hidp::Columns{{{}, {}}}", self.expr(&inner.lo), self.expr(&inner.hi));
        let functions = [
            ("columns", parameter(&row), vec![&inner.lo, &inner.hi], columns),
            ("source", place.clone(), vec![&*source.index], self.expr(&source.index)),
            ("target", place, vec![&*target.index], self.expr(&target.index)),
        ];
        out.open("{");
        for (name, parameters, read, value) in functions {
            out.open(format!("const auto {name} = [&]({parameters}) {{"));
            self.block(&Block { stmts: needed(values, &read) }, out);
            out.line(format!("return {value};"));
            out.close("};");
        }
        let (lo, hi) = (self.expr(&node.lo), self.expr(&node.hi));
        out.line(format!("hidp::across({to}, {from}, {lo}, {hi}, columns, source, target);"));
        out.close("}");
    }

    /// A loop of kind `Pack`.
    pub(super) fn pack(&mut self, rows: &PackedRows<'_>, out: &mut Text) {
        let [tile, from, mask] = [rows.tile, rows.from, rows.mask].map(|var| self.scope.name(var));
        let start = rows
            .start
            .map_or_else(String::new, |start| format!(" + {}", expr::expr(&self.scope, self.dialect, start).operand()));
        out.line(format!("hidp::wide_pack({tile}, {mask}, {from}{start}, {});", self.expr(rows.length)));
    }
}

/// The values that expressions depend on.
fn needed(values: &[Stmt], read: &[&Expr]) -> Vec<Stmt> {
    let mut names: OrdSet<VarId> = OrdSet::new();
    let add = |expr: &Expr, names: &mut OrdSet<VarId>| {
        each_subexpr(expr, &mut |sub| {
            if let ExprKind::Var(var) = &sub.kind {
                names.insert(*var);
            }
        });
    };
    read.iter().for_each(|expr| add(expr, &mut names));
    let mut found = Vec::new();
    for stmt in values.iter().rev() {
        if let Stmt::Let { var, init: Some(init) } = stmt
            && names.contains(var)
        {
            add(init, &mut names);
            found.push(stmt.clone());
        }
    }
    found.reverse();
    found
}
