//! Rows of a handful of elements: lanes over rows, and the reduction of a row written out. A loop over so few elements costs more than they do, and
//! of constant distances between rows the C++ compiler makes loads of neighbours.

use std::collections::BTreeSet;
use std::slice;

use super::map::turns;
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Expr, LoopKind};
use hidp_ir::par::effects::{Effects, may_fault};
use hidp_ir::par::{self, BinOp, Block, Map, StmtKind, visit};
use hidp_plan::{self as plan, Strategy, Stride};

impl Lowerer<'_> {
    /// Iterations at `[low, high)` one after the other, or in lanes where each folds a row of one of a few lengths.
    pub(super) fn rows_in_order(&mut self, map: &Map, range: &Range, low: Expr, high: Expr) {
        let Some(inner) = self.short_rows(map) else { return self.in_order(map, range, low, high) };
        let ranges = self.ranges(inner);
        let [columns] = &ranges[..] else { return self.defect("a short row has one iterator") };
        let (low, high) = (self.body.fix("low", low), self.body.fix("high", high));
        let lengths: Vec<i64> = (1..=i64::from(self.model.written_row)).collect();
        self.rows_of_length(&lengths, map, (range, columns), &low, &high);
    }

    fn in_order(&mut self, map: &Map, range: &Range, low: Expr, high: Expr) {
        self.range_loop(range, low, high, turns(map), &mut |this| this.iteration(map, &[]));
    }

    /// One loop for each of these lengths, and one for all others.
    fn rows_of_length(&mut self, lengths: &[i64], map: &Map, ranges: (&Range, &Range), low: &Expr, high: &Expr) {
        let (range, columns) = ranges;
        let [length, others @ ..] = lengths else { return self.in_order(map, range, low.clone(), high.clone()) };
        let this_long = make::binary(BinOp::Eq, columns.count.clone(), make::long(*length));
        self.branch(
            this_long,
            |this| {
                let lanes = LoopKind::Simd { reductions: Vec::new() };
                this.range_loop(range, low.clone(), high.clone(), lanes, &mut |this| {
                    this.enter_iteration(map);
                    for stmt in &map.body.stmts {
                        if let StmtKind::Map(inner) = &stmt.kind {
                            this.written_out(inner, columns, *length);
                        } else {
                            this.stmts(slice::from_ref(stmt));
                        }
                    }
                    this.free_locals(&map.body);
                    this.leave_iteration();
                });
            },
            |this| this.rows_of_length(others, map, ranges, low, high),
        );
    }

    /// The reduction of one row.
    fn written_out(&mut self, inner: &Map, columns: &Range, length: i64) {
        let accs = self.accumulators(inner);
        for column in 0..length {
            self.bind_position(columns, make::long(column));
            self.iteration(inner, &accs);
        }
        self.deliver(&accs);
    }

    /// The reduction of a row, if that is what an iteration does: it loads little, all of it neighbours, and nothing can fault.
    fn short_rows<'m>(&self, map: &'m Map) -> Option<&'m Map> {
        let looped = |map: &Map| map.directives.unroll.is_some();
        let on_rows =
            self.mapping.strategy == Strategy::Rows && self.device.is_none() && map.folds.is_empty() && !looped(map);
        let inner = match &plan::inner_maps(&map.body)[..] {
            [inner] if inner.iters.len() == 1 && on_rows && !looped(inner) => *inner,
            _ => return None,
        };
        let column = inner.iters.first()?;
        let none = BTreeSet::new();
        let (mut loads, mut neighbours) = (0, true);
        visit::walk_places(&inner.body, |place, _| {
            loads += 1;
            neighbours &= plan::stride_of(place, column.var, &none) == Stride::Unit;
        });
        let others: Vec<_> =
            map.body.stmts.iter().filter(|stmt| !matches!(stmt.kind, StmtKind::Map(_))).cloned().collect();
        let good = others.len() < map.body.stmts.len()
            && neighbours
            && (1..=self.model.written_loads).contains(&loads)
            && inner.body.stmts.len() <= self.model.written_statements as usize
            && inner.folds.iter().all(|fold| fold.op.neutral.is_some())
            && column.step.as_int() == Some(1)
            && !plan::irregular(map)
            && ![&column.lo, &column.hi].into_iter().any(|bound| self.reads_locals(map, bound))
            && !may_fault(self.program, &self.func.vars, &map.body)
            && plan::vectorisable(self.program, self.func, inner)
            && plan::straight(self.program, self.func, &Block { stmts: others });
        good.then_some(inner)
    }

    fn reads_locals(&self, map: &Map, bound: &par::Expr) -> bool {
        let declared = Effects::of_block(self.program, &self.func.vars, &map.body).declares;
        let mut found = false;
        visit::walk_expr_vars(bound, |var, _| found |= declared.contains(&var));
        found
    }
}
