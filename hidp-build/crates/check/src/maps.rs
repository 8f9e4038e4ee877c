//! Map blocks.

use hidp_ir::par::{Block, Expr, Iter, Map, Stmt, StmtKind, VarId, VarKind};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::access::stmt;
use super::cx::Cx;
use super::suffix::HalfFold;

impl Cx<'_> {
    pub(super) fn map_stmt(&mut self, m: &ast::Map, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        let (directives, pins) = self.take_directives_of_map();
        let ranges: Vec<Option<(Expr, Expr, Expr)>> = m.iters.iter().map(|iter| self.bounds(m, iter)).collect();
        let before = self.assigned.clone();
        self.enter_map();
        self.maps.last_mut().expect("entered above").unordered = directives.unordered;
        let iters = self.iterators(m, ranges);
        let mut body = Vec::new();
        self.stmts(&m.body.stmts, &mut body);
        let halves: Vec<Option<HalfFold<'_>>> = m.suffixes.iter().map(|s| self.suffix_inside(s, &iters)).collect();
        let values = self.fold_values(halves, &mut body);
        let first = self.iters.len() - m.iters.len();
        let own: Vec<VarId> = self.iters.drain(first..).collect();
        let frame = self.leave_map();
        self.assigned = before;
        let suffixes = values.len();
        let mut folds = Vec::new();
        for (half, call) in values.into_iter().zip(&m.suffixes) {
            match half.and_then(|half| self.suffix_outside(half, &own, &directives, &mut body)) {
                Some(fold) => folds.push(fold),
                None => call.args.iter().for_each(|arg| self.poison_new_of(arg)),
            }
        }
        let complete = folds.len() == suffixes;
        let iters: Vec<Iter> = iters.into_iter().collect::<Option<_>>()?;
        let declares = frame.implicit.iter().map(|var| {
            let span = self.vars[*var].span;
            stmt(StmtKind::Declare { var: *var, zero: true }, span)
        });
        let body = Block { stmts: declares.chain(body).collect() };
        let mut map = Map { iters, body, folds, directives };
        map.directives.pins = self.pins(&pins, &mut map);
        out.push(stmt(StmtKind::Map(map), span));
        complete.then_some(())
    }

    fn bounds(&mut self, m: &ast::Map, iter: &ast::Iter) -> Option<(Expr, Expr, Expr)> {
        self.refuse_own_iterators(m, iter)?;
        self.range(&iter.range)
    }

    /// Bounds are evaluated before the map: its own iterators have no values there.
    fn refuse_own_iterators(&mut self, m: &ast::Map, iter: &ast::Iter) -> Option<()> {
        let mut names = Vec::new();
        for bound in [Some(&iter.range.low), Some(&iter.range.high), iter.range.step.as_ref()].into_iter().flatten() {
            collect_names(bound, &mut names);
        }
        for (name, span) in names {
            let own = m.iters.iter().find(|other| other.name.name == name);
            if let Some(own) = own.filter(|_| self.lookup(&name).is_none()) {
                let other = own.name.span;
                return self.error(
                    Diagnostic::new(
                        Code::OwnIterator,
                        span,
                        format!("the bounds of `{}` use `{name}`, an iterator of the same map", iter.name.name),
                    )
                    .label("has no value yet")
                    .also(other, "declared by the same map")
                    .help(format!(
                        "use a nested map: `map {{ {} map {{ {} … }} }}`",
                        self.text(own.span).trim_end_matches(';').to_string() + ";",
                        self.text(iter.span).trim_end_matches(';').to_string() + ";"
                    )),
                );
            }
        }
        Some(())
    }

    fn iterators(&mut self, m: &ast::Map, ranges: Vec<Option<(Expr, Expr, Expr)>>) -> Vec<Option<Iter>> {
        let mut iters = Vec::new();
        let mut vars = Vec::new();
        for (iter, range) in m.iters.iter().zip(ranges) {
            let var = self.new_var(&iter.name.name, Ty::LONG, Vec::new(), VarKind::Iter, iter.name.span);
            self.declare(&iter.name, var);
            vars.push(var);
            if range.as_ref().is_some_and(|(lo, _, step)| lo.as_int() == Some(0) && step.as_int() == Some(1)) {
                self.counting.insert(var);
            }
            iters.push(range.map(|(lo, hi, step)| Iter { var, lo, hi, step, span: iter.span }));
        }
        // Arrays declared outside count all iterators of this map, whichever they come before.
        self.iters.extend(vars);
        iters
    }
}

/// Names in an expression, with their places.
pub(super) fn collect_names(e: &ast::Expr, names: &mut Vec<(String, Span)>) {
    match &e.kind {
        ast::ExprKind::Name(name) => names.push((name.clone(), e.span)),
        ast::ExprKind::Index { base, subscripts } => {
            collect_names(base, names);
            for sub in subscripts {
                match sub {
                    ast::Subscript::At(index) => collect_names(index, names),
                    ast::Subscript::Range(range) => {
                        collect_names(&range.low, names);
                        collect_names(&range.high, names);
                        if let Some(step) = &range.step {
                            collect_names(step, names);
                        }
                    }
                    ast::Subscript::All(_) => {}
                    ast::Subscript::Piece(piece) => {
                        names.push((piece.iter.name.clone(), piece.iter.span));
                        collect_names(&piece.length, names);
                    }
                }
            }
        }
        ast::ExprKind::Field { base: operand, .. }
        | ast::ExprKind::Unary { operand, .. }
        | ast::ExprKind::Cast { operand, .. } => collect_names(operand, names),
        ast::ExprKind::Binary { left, right, .. } => {
            collect_names(left, names);
            collect_names(right, names);
        }
        ast::ExprKind::Select { condition, then, otherwise } => {
            collect_names(condition, names);
            collect_names(then, names);
            collect_names(otherwise, names);
        }
        ast::ExprKind::Call(call) => {
            for arg in &call.args {
                if let ast::Arg::Expr(e) = arg {
                    collect_names(e, names);
                }
            }
        }
        ast::ExprKind::Struct { fields, .. } => fields.iter().for_each(|(_, e)| collect_names(e, names)),
        ast::ExprKind::Literal(_) | ast::ExprKind::Limit { .. } | ast::ExprKind::Error => {}
    }
}
