//! Maps whose last iterator has a handful of values, such as the channels of a picture: lanes over the iterator before it, with the iterations of a
//! row written out. A loop over so few costs more than they do, and with constant strides the C++ compiler loads contiguously and shuffles.

use super::space::Range;
use super::{ITERATORS, Lowerer, make};
use hidp_ir::imp::{LoopKind, Stmt};
use hidp_ir::par::effects::may_fault;
use hidp_ir::par::{Directives, Map, StmtKind};
use hidp_plan::notation::Property;
use hidp_syntax::source::Span;

impl Lowerer<'_> {
    /// How many iterations of a map the lanes of another one take, each all of them.
    pub(super) fn channels(&mut self, map: &Map, ranges: &[Range]) -> Option<i64> {
        let [.., around, last] = ranges else { return None };
        let count = i64::try_from(make::as_int(&last.count)?).ok()?;
        let statements = map.body.stmts.iter().filter(|stmt| !matches!(stmt.kind, StmtKind::Declare { .. })).count();
        let placed = [Property::Together, Property::Turns].iter().any(|word| self.mapping.number(*word).is_some());
        let written = (2..=i64::from(self.model.written_row)).contains(&count)
            && statements <= self.model.written_statements as usize
            && map.directives == Directives::default()
            && !placed
            && !may_fault(self.program, &self.func.vars, &map.body)
            && self.in_lanes(map)
            && !self.are_whole_rows(map, around, last);
        written.then_some(count)
    }

    /// Such a map, its other iterators shared out over threads. No output is streamed: lanes store apart.
    pub(super) fn share_channels(&mut self, map: &Map, span: Span, ranges: &[Range], channels: i64) {
        let [outer @ .., _] = ranges else { return self.defect(ITERATORS) };
        let (strides, total) = self.strides(outer);
        let work = self.work_of(map, make::mul(total.clone(), make::long(channels)));
        let (kernel, args) = self.kernel("map", span, |this, begin, end| {
            let ranges = this.import_ranges(ranges);
            let [outer @ .., last] = &ranges[..] else { return this.defect(ITERATORS) };
            let outer = this.in_whole_rows(map, outer.to_vec());
            let strides: Vec<_> = strides.iter().take(outer.len()).map(|stride| this.import(stride)).collect();
            let Some(lanes) = outer.last() else { return this.defect(ITERATORS) };
            this.clipped(&outer, &strides, begin, end, &mut |this, low, high| {
                this.range_loop(lanes, low, high, LoopKind::Simd { reductions: Vec::new() }, &mut |this| {
                    for channel in 0..channels {
                        this.bind_position(last, make::long(channel));
                        this.iteration(map, &[]);
                    }
                });
            });
        });
        let schedule = self.schedule(self.model.line, work);
        self.body.push(Stmt::Launch { kernel, args, extent: total, schedule });
    }
}
