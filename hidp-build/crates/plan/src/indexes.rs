//! Arrays whose elements are positions in other arrays: arguments made up by a tool would be out of range.

use hidp_ir::par::visit::{self, Role, Visitor, look};
use hidp_ir::par::{Expr, ExprKind, Extent, Func, Iter, Place, PrimCall, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;

/// Variables whose values, or elements, decide which elements are accessed or which ranges are run over.
pub fn index_vars(func: &Func) -> OrdSet<VarId> {
    let mut found = OrdSet::new();
    loop {
        let before = found.len();
        Walk { found: &mut found }.visit_block(&func.body);
        if found.len() == before {
            return found;
        }
    }
}

struct Walk<'a> {
    found: &'a mut OrdSet<VarId>,
}

impl Walk<'_> {
    fn uses(&mut self, expr: &Expr) {
        visit::walk_expr_vars(expr, |var, _| {
            self.found.insert(var);
        });
        visit::walk_subexprs(expr, |part| {
            if let ExprKind::Load(place) = &part.kind {
                self.found.insert(place.array);
            }
        });
    }
}

impl Visitor for Walk<'_> {
    fn visit_place(&mut self, place: &Place, role: Role) {
        place.index.iter().for_each(|index| self.uses(index));
        look::walk_place(self, place, role);
    }
    fn visit_iter(&mut self, iter: &Iter) {
        [&iter.lo, &iter.hi, &iter.step].into_iter().for_each(|bound| self.uses(bound));
        look::walk_iter(self, iter);
    }
    fn visit_prim(&mut self, call: &PrimCall) {
        match &call.extent {
            Extent::Whole { size } => self.uses(size),
            Extent::Segment { low, high } => [low, high].into_iter().for_each(|bound| self.uses(bound)),
            Extent::Vectors { low, high } => self.found.extend([low.array, high.array]),
            Extent::Regular { seg_size, num_seg } => [seg_size, num_seg].into_iter().for_each(|size| self.uses(size)),
        }
        look::walk_prim(self, call);
    }
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { var, value } if self.found.contains(var) => self.uses(value),
            StmtKind::Store { place, value } if self.found.contains(&place.array) => self.uses(value),
            _ => {}
        }
        look::walk_stmt(self, stmt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;

    #[test]
    fn positions_are_told_from_values() {
        let text = "function f input int p[R+1], col[Z], key[Z]; input double v[Z], x[C]; output double y[R];
            { map { r := [0:R); map { k := [p[r]:p[r+1]); int c = col[k]; _t = v[k] * x[c] * key[k]; } reduce(\"+\", y[r], _t, k := [*]); } }";
        let program = optimised(text);
        let func = &program.funcs[program.entries[0]];
        let found = index_vars(func);
        let names =
            func.params.iter().filter(|param| found.contains(param)).map(|param| func.vars[*param].name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["p", "col"]);
    }
}
