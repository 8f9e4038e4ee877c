//! Maps some of whose iterators the tables of recurrences do not depend on: those become a map inside, so that each table is
//! computed once.

use hidp_syntax::ast::{self, Arg, Expr, ExprKind, Map, Stmt, StmtKind, Subscript};

use super::super::cx::{BodyKind, Cx, Named};
use super::super::items::Global;
use super::names::{Uses, uses};

impl Cx<'_> {
    /// `map { r; i; … y(i; x = X[r][*]) … }` as `map { r; map { i; … } }`: with as many iterators in front as the inputs of some
    /// recurrence use, if there are others behind.
    pub(in super::super) fn with_tables_outside(&self, s: &Stmt) -> Option<Stmt> {
        let StmtKind::Map(map) = &s.kind else { return None };
        let used = self.kind == BodyKind::Func && !self.globals.recurrences.is_empty();
        if !used || !s.directives.is_empty() || map.iters.len() < 2 {
            return None;
        }
        let inside = uses(map);
        let count = map.iters.len();
        let needed =
            inside.cells.iter().filter_map(|(name, binds)| self.iterators_of_inputs(map, &inside, name, binds));
        let outer = needed.filter(|needed| (1..count).contains(needed)).max()?;
        let (first, last) = map.iters.split_at(outer);
        let is_first = |name: &str| first.iter().any(|iter| iter.name.name == name);
        // Bounds mean what they do outside of the map, and folds are over what varies inside.
        let mut bounds = Vec::new();
        for iter in last {
            let range = &iter.range;
            let all = [Some(&range.low), Some(&range.high), range.step.as_ref()];
            all.into_iter().flatten().for_each(|bound| super::super::maps::collect_names(bound, &mut bounds));
        }
        let folds_first = map.suffixes.iter().flat_map(|suffix| &suffix.args).any(|arg| match arg {
            Arg::Over { iter, .. } => is_first(&iter.name),
            Arg::Expr(_) | Arg::Operator { .. } | Arg::WithNeutral { .. } => false,
        });
        if folds_first || bounds.iter().any(|(name, _)| is_first(name)) {
            return None;
        }
        let nested = Map { iters: last.to_vec(), ..map.clone() };
        let nested = Stmt { kind: StmtKind::Map(nested), directives: Vec::new(), span: s.span };
        let body = ast::Block { stmts: vec![nested], span: map.body.span };
        let map = Map { iters: first.to_vec(), body, suffixes: Vec::new(), map_span: map.map_span };
        Some(Stmt { kind: StmtKind::Map(map), directives: Vec::new(), span: s.span })
    }

    /// How many iterators of the map, from the first one on, the inputs of a recurrence use; `None` if it is none, or not known.
    fn iterators_of_inputs(&self, map: &Map, inside: &Uses, name: &str, binds: &[ast::Bind]) -> Option<usize> {
        let Some(Named::Global(Global::Recurrence(id))) = self.lookup(name) else { return None };
        let inputs = &self.globals.systems[self.globals.recurrences[id].system].inputs;
        let needed = inputs.iter().map(|input| {
            let bind = binds.iter().find(|bind| bind.name.name == input.name);
            match bind.map(|bind| &bind.value) {
                // A bare name is an array, if one is wanted.
                None => self.iterators_of_name(map, inside, &input.name, input.rank > 0),
                Some(Expr { kind: ExprKind::Name(name), .. }) => {
                    self.iterators_of_name(map, inside, name, input.rank > 0)
                }
                Some(value) => self.iterators_of_value(map, inside, value),
            }
        });
        needed.collect::<Option<Vec<usize>>>().map(|needed| needed.into_iter().max().unwrap_or(0))
    }

    fn iterators_of_name(&self, map: &Map, inside: &Uses, name: &str, may_be_array: bool) -> Option<usize> {
        if inside.declared.contains(name) || inside.written.contains(name) {
            return None;
        }
        if let Some(at) = map.iters.iter().position(|iter| iter.name.name == name) {
            return Some(at + 1);
        }
        match self.lookup(name)? {
            Named::Scalar(_) | Named::Global(Global::Const(_)) => Some(0),
            Named::Array(_) if may_be_array => Some(0),
            // An array's name as a value is the element of the iteration.
            Named::Array(_) | Named::ElementOf(_) | Named::Global(_) | Named::Poisoned => None,
        }
    }

    /// The same of an expression.
    fn iterators_of_value(&self, map: &Map, inside: &Uses, expr: &Expr) -> Option<usize> {
        let of_all = |operands: &[&Expr]| {
            let each = operands.iter().map(|operand| self.iterators_of_value(map, inside, operand));
            each.collect::<Option<Vec<usize>>>().map(|needed| needed.into_iter().max().unwrap_or(0))
        };
        match &expr.kind {
            ExprKind::Name(name) => self.iterators_of_name(map, inside, name, false),
            ExprKind::Literal(_) | ExprKind::Limit { .. } => Some(0),
            ExprKind::Index { base, subscripts } => {
                let ExprKind::Name(array) = &base.kind else { return None };
                let mut needed = self.iterators_of_name(map, inside, array, true)?;
                for subscript in subscripts {
                    needed = needed.max(match subscript {
                        Subscript::At(index) => of_all(&[index])?,
                        Subscript::All(_) => 0,
                        Subscript::Range(range) => match &range.step {
                            Some(step) => of_all(&[&range.low, &range.high, step])?,
                            None => of_all(&[&range.low, &range.high])?,
                        },
                        Subscript::Piece(_) => return None,
                    });
                }
                Some(needed)
            }
            ExprKind::Field { base: operand, .. }
            | ExprKind::Unary { operand, .. }
            | ExprKind::Cast { operand, .. } => of_all(&[operand]),
            ExprKind::Binary { left, right, .. } => of_all(&[left, right]),
            ExprKind::Select { condition, then, otherwise } => of_all(&[condition, then, otherwise]),
            ExprKind::Call(_) | ExprKind::Struct { .. } | ExprKind::Error => None,
        }
    }
}
