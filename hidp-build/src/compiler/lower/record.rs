//! The number of an iteration, and the segments that iterations of a host-level map write through primitives: they are
//! noted in buffers and compared when the map ends.

use super::prim::View;
use super::space::Range;
use super::{Lowerer, make};
use crate::compiler::ir::imp::{Expr, Prim, PrimArg, Stmt, VarId, VarKind};
use crate::compiler::ir::par::{self, Block, FaultKind, Map, PrimCall, StmtKind};
use crate::compiler::source::Span;
use crate::compiler::ty::Ty;

/// Where the iterations of the current host-level map note the segments that one call writes.
#[derive(Clone, Debug)]
pub(super) struct Record {
    call: Span,
    lows: VarId,
    highs: VarId,
}

impl Lowerer<'_> {
    /// The linear number of the iteration of the innermost map.
    pub(super) fn instance(&mut self) -> Expr {
        let iters = self.enclosing.last().cloned().unwrap_or_default();
        let mut number = make::long(0);
        for var in iters {
            let Some(Range { lo, step, count, .. }) = self.known_ranges.get(&var).cloned() else { continue };
            let position = make::div(make::sub(self.read(var), lo), step);
            number = make::add(make::mul(number, count), position);
        }
        self.body.fix("instance", number)
    }

    /// On the host: buffers for what the calls of a map will write. Calls inside inner maps or loops are not noted.
    pub(super) fn prepare_records(&mut self, map: &Map, total: &Expr) {
        let mut calls = Vec::new();
        written_segments(&map.body, &mut calls);
        self.records.clear();
        for call in calls {
            let lows = self.record_buffer(total, call);
            let highs = self.record_buffer(total, call);
            self.records.push(Record { call, lows, highs });
        }
    }

    fn record_buffer(&mut self, total: &Expr, span: Span) -> VarId {
        let var = self.body.declare("segments", VarKind::Buffer { elem: Ty::LONG, writable: true });
        let site = self.site(FaultKind::Allocation, span, vec![String::new()]);
        self.body.push(Stmt::Alloc { var, count: total.clone(), zero: true, site });
        var
    }

    /// In a kernel: notes the segment, if it is one of an array that lives outside of the map.
    pub(super) fn record_segment(&mut self, call: &PrimCall, out: &View, low: &Expr, n: &Expr) {
        let outside = self.body.captures.iter().any(|(_, inner)| *inner == out.base);
        let record = self.records.iter().find(|record| record.call == call.span).cloned();
        let (Some(record), true, 1) = (record, outside, self.enclosing.len()) else { return };
        let instance = self.instance();
        let first = self.body.fix("from", make::add(out.start.clone(), low.clone()));
        let past = make::add(first.clone(), n.clone());
        for (buffer, value) in [(record.lows, first), (record.highs, past)] {
            let buffer = self.capture(buffer);
            self.body.mark_written(buffer);
            self.body.push(Stmt::Store { target: make::element(buffer, instance.clone()), value });
        }
    }

    /// On the host, after the map: a fault if two iterations wrote to one segment.
    pub(super) fn compare_records(&mut self, total: &Expr) {
        for record in std::mem::take(&mut self.records) {
            let overlap = self.site(FaultKind::SegmentOverlap, record.call, vec![String::new(); 2]);
            let memory = self.site(FaultKind::Allocation, record.call, vec![String::new()]);
            let address = |base| PrimArg::Address { base, offset: make::long(0) };
            self.body.push(Stmt::Prim(Prim {
                function: "run_check_disjoint".into(),
                header: "prim/run_segments.hpp".into(),
                template: Vec::new(),
                args: vec![address(record.lows), address(record.highs), PrimArg::Value(total.clone())],
                sites: vec![overlap, memory],
            }));
            self.body.push(Stmt::Free(record.highs));
            self.body.push(Stmt::Free(record.lows));
        }
    }
}

/// The calls directly in the iterations of a map that write segments.
fn written_segments(block: &Block, found: &mut Vec<Span>) {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Prim(call) if call.prim.writes_segments() => found.push(call.span),
            StmtKind::If { then, otherwise, .. } => {
                written_segments(then, found);
                written_segments(otherwise, found);
            }
            StmtKind::Scope(body) => written_segments(body, found),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => {}
        }
    }
}

/// The iterators of a map.
pub(super) fn iterators_of(map: &Map) -> Vec<par::VarId> {
    map.iters.iter().map(|iter| iter.var).collect()
}
