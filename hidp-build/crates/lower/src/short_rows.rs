//! Rows of a handful of elements: lanes over rows, with the reduction of a row unrolled. A loop over so few elements costs more than they do, and
//! with constant strides between rows the C++ compiler loads contiguously and shuffles.

use std::slice;

use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Expr, LoopKind};
use hidp_ir::par::{BinOp, Map, StmtKind};
use hidp_plan as plan;
use hidp_plan::notation::Property;

impl Lowerer<'_> {
    /// Iterations at `[low, high)` one after the other, or in lanes where each folds a row of one of a few lengths.
    pub(super) fn rows_in_order(&mut self, map: &Map, range: &Range, low: Expr, high: Expr) {
        let written = self
            .mapping
            .number(Property::Written)
            .filter(|_| plan::key(map).is_some_and(|key| self.mapping.rows.contains(&key)));
        let (Some(written), [inner]) = (written, &plan::inner_maps(&map.body)[..]) else {
            return self.in_order(map, range, low, high);
        };
        let ranges = self.ranges(inner);
        let [columns] = &ranges[..] else { return self.defect("a short row has one iterator") };
        let (low, high) = (self.body.fix("low", low), self.body.fix("high", high));
        let lengths: Vec<i64> = (1..=i64::from(written)).collect();
        self.rows_of_length(&lengths, map, (range, columns), &low, &high);
    }

    fn in_order(&mut self, map: &Map, range: &Range, low: Expr, high: Expr) {
        if let Some(tile) = self.update_tile(map) {
            return self.updates_in_tiles(map, range, (low, high), tile);
        }
        match self.tail(map) {
            Some(tail) => self.tails_in_tiles(map, &tail, range, (low, high)),
            None => self.iterations_in_order(map, range, (low, high)),
        }
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
}
