//! Folds over all cells of a recurrence, as statements: `reduce("max", best, d, i := [*], j := [*]);`.

use hidp_ir::par::{Block, Expr, Iter, Map, Stmt, StmtKind, VarId, VarKind};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic, near};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::super::access::stmt;
use super::super::cx::{Cx, Named};
use super::super::items::Global;

impl Cx<'_> {
    /// The recurrence that a `reduce` folds, and what its inputs are.
    pub(in super::super) fn folded_cells<'e>(&self, call: &'e ast::Call) -> Option<(usize, &'e [ast::Bind])> {
        let is_fold = call.callee.name == "reduce" && call.args.iter().any(|arg| matches!(arg, ast::Arg::Over { .. }));
        let mut values = call.args.iter().filter_map(|arg| match arg {
            ast::Arg::Expr(value) => Some(value),
            ast::Arg::Operator { .. } | ast::Arg::WithNeutral { .. } | ast::Arg::Over { .. } => None,
        });
        let (name, binds): (&str, &[ast::Bind]) = match &values.next_back().filter(|_| is_fold)?.kind {
            ast::ExprKind::Name(name) => (name, &[]),
            ast::ExprKind::Call(call) if call.args.is_empty() => (&call.callee.name, &call.binds),
            _ => return None,
        };
        match self.lookup(name)? {
            Named::Global(Global::Recurrence(id)) => Some((id, binds)),
            Named::Global(_) | Named::Scalar(_) | Named::Array(_) | Named::ElementOf(_) | Named::Poisoned => None,
        }
    }

    /// A map with folds of its values alone, and the folds over cells behind it, which are statements of their own.
    pub(in super::super) fn cells_behind(&self, s: &ast::Stmt) -> Option<Vec<ast::Stmt>> {
        let ast::StmtKind::Map(map) = &s.kind else { return None };
        let (cells, own): (Vec<&ast::Call>, Vec<&ast::Call>) =
            map.suffixes.iter().partition(|suffix| self.folded_cells(suffix).is_some());
        if cells.is_empty() {
            return None;
        }
        let map = ast::Map { suffixes: own.into_iter().cloned().collect(), ..map.clone() };
        let map = ast::Stmt { kind: ast::StmtKind::Map(map), ..s.clone() };
        let cells = cells.into_iter().map(|call| ast::Stmt {
            kind: ast::StmtKind::Call(Box::new(call.clone())),
            span: call.callee.span,
            directives: Vec::new(),
        });
        Some(std::iter::once(map).chain(cells).collect())
    }

    /// A fold over cells, or what looks like one.
    pub(in super::super) fn fold_of_cells(&mut self, call: &ast::Call, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        let Some((id, binds)) = self.folded_cells(call) else {
            return self.error(
                Diagnostic::new(Code::UnfitCells, span, "this is no fold over the cells of a recurrence")
                    .label("its value is no recurrence")
                    .help("a fold over iterators stands directly behind their map; of a recurrence, its name alone is the value"),
            );
        };
        let globals = self.globals;
        let sig = &globals.recurrences[id];
        self.may_use_recurrence(&sig.name, span)?;
        let directives = self.take_directives();
        let table = self.instance(id, binds, span)?;
        let names = self.indices_of(id, span)?;
        self.only_indices(call, &sig.name, sig.span, &names)?;
        let shape = self.vars[table].shape.clone();
        self.enter_map();
        let iter = |(var, hi): (VarId, Expr)| Iter { var, lo: Expr::int(0, span), hi, step: Expr::int(1, span), span };
        let own: Vec<VarId> =
            names.iter().map(|name| self.new_var(name, Ty::LONG, Vec::new(), VarKind::Iter, span)).collect();
        self.iters.extend(&own);
        let iters: Vec<Iter> = own.iter().copied().zip(shape).map(iter).collect();
        let index = own.iter().map(|var| Expr::read(*var, Ty::LONG, span)).collect();
        let place = self.place(table, index, span);
        let value = self.load(place);
        let value = self.settle(value);
        let half = value.and_then(|value| self.half_of_cells(call, value, own.len()));
        let mut body = Vec::new();
        let half = self.fold_values(vec![half], &mut body).pop().flatten();
        self.iters.truncate(self.iters.len() - own.len());
        self.leave_map();
        let fold = self.suffix_outside(half?, &own, &directives, &mut body)?;
        out.push(stmt(StmtKind::Map(Map { iters, body: Block { stmts: body }, folds: vec![fold], directives }), span));
        Some(())
    }

    /// The names of a recurrence's indices, if all of its cells can be folded by these.
    fn indices_of(&mut self, id: usize, span: Span) -> Option<Vec<String>> {
        let globals = self.globals;
        let sig = &globals.recurrences[id];
        let (system, table) = globals.table_of(id)?;
        let func = system.func.as_ref()?;
        if !table.is_box() {
            return self.error(
                Diagnostic::new(Code::UnfitCells, span, format!("the domain of `{}` is no box", sig.name))
                    .label("folds all cells of a box")
                    .also(sig.span, "its ranges depend on each other, or begin above 0")
                    .help(format!(
                        "fold those that it has by a map: `map {{ … _v = {}(…); }} reduce(…, _v, …);`",
                        sig.name
                    )),
            );
        }
        Some(table.index.iter().map(|iter| func.vars[iter.var].name.clone()).collect())
    }

    /// Reports what is folded over and is no index.
    fn only_indices(&mut self, call: &ast::Call, name: &str, declared: Span, names: &[String]) -> Option<()> {
        for arg in &call.args {
            let ast::Arg::Over { iter, .. } = arg else { continue };
            if names.contains(&iter.name) {
                continue;
            }
            let headline = format!("`{}` is no index of `{name}`", iter.name);
            let diagnostic = Diagnostic::new(Code::UnfitCells, iter.span, headline).label("not an index");
            let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            return self.error(match near::suggest(&iter.name, names.iter().map(String::as_str)) {
                Some(near) => diagnostic.suggest(iter.span, near, "a similar index exists"),
                None => diagnostic.also(declared, format!("its indices are {}", list.join(", "))),
            });
        }
        Some(())
    }
}
