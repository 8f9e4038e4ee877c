//! Segments that the iterations of a host-level map write through primitives: where it is not proved that those of different
//! iterations share no element they are noted, one for each iteration and call, and compared when the map ends.

use super::super::build::Role;
use super::super::prim::{Operands, View};
use super::super::{Lowerer, make};
use hidp_ir::imp::{Expr, PrimArg, Stmt, VarId, VarKind};
use hidp_ir::par::{self, Access, FaultKind, Map, PrimCall};
use hidp_plan::direct_segments;
use hidp_syntax::prim::Symbol;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// The function that looks for segments that overlap.
const CHECK: Symbol = Symbol { function: "kernel_check_disjoint", header: "kernel_check_disjoint" };

/// Where the iterations note what a call writes.
#[derive(Clone, Debug)]
pub(in super::super) struct Record {
    call: Span,
    array: par::VarId,
    lows: VarId,
    highs: VarId,
}

impl Lowerer<'_> {
    /// On the host: buffers for what the calls of a map will write.
    pub(super) fn prepare_records(&mut self, map: &Map, total: &Expr) {
        let mut records = Vec::new();
        for (call, array) in direct_segments(map) {
            let lows = self.record_buffer(total, call);
            let highs = self.record_buffer(total, call);
            records.push(Record { call, array, lows, highs });
        }
        if let Some(state) = &mut self.device {
            state.records = records;
        }
    }

    fn record_buffer(&mut self, total: &Expr, span: Span) -> VarId {
        let var = self.body.declare("segments", VarKind::Buffer { elem: Ty::LONG, writable: true });
        let site = self.memory_site(span);
        self.body.push(Stmt::Alloc { var, count: total.clone(), zero: true, site });
        var
    }

    /// Notes the segment `[low, low + n)` of every array that a call writes, if iterations of the map share it.
    pub(in super::super) fn record_segments(&mut self, call: &PrimCall, operands: &Operands, low: &Expr, n: &Expr) {
        if call.access == Access::Exclusive || !call.prim.writes_segments() {
            return;
        }
        let keys = call.output.as_ref().unwrap_or(&call.input).array;
        let values = call.values.as_ref().and_then(|(_, out)| out.as_ref()).map(|out| out.array);
        let values_view = operands.values.as_ref().and_then(|(_, out)| out.as_ref());
        let keys_view = operands.output.as_ref().unwrap_or(&operands.input);
        let written = [Some((keys, keys_view)), values.zip(values_view)];
        for (array, view) in written.into_iter().flatten() {
            let records = self.device.as_ref().map_or(&[][..], |state| &state.records);
            let record = records.iter().find(|record| record.call == call.span && record.array == array).cloned();
            if let Some(record) = record {
                self.record(&record, view, low, n);
            }
        }
    }

    fn record(&mut self, record: &Record, view: &View, low: &Expr, n: &Expr) {
        let instance = self.instance();
        let first = self.body.fix("from", make::add(view.start.clone(), low.clone()));
        let past = make::add(first.clone(), n.clone());
        for (buffer, value) in [(record.lows, first), (record.highs, past)] {
            let buffer = match self.body.role {
                Role::Kernel => self.capture(buffer),
                Role::Host => buffer,
            };
            self.body.mark_written(buffer);
            self.push_store(make::element(buffer, instance.clone()), value);
        }
    }

    /// On the host, after the map: a fault if two iterations wrote to one segment.
    pub(super) fn compare_records(&mut self, total: &Expr) {
        let records = self.device.as_mut().map(|state| std::mem::take(&mut state.records));
        for record in records.into_iter().flatten() {
            let overlap = self.site(FaultKind::SegmentOverlap, record.call, vec![String::new(); 2]);
            let memory = self.memory_site(record.call);
            let address = |base| PrimArg::Address { base, offset: make::long(0) };
            let args = vec![address(record.lows), address(record.highs), PrimArg::Value(total.clone())];
            self.call_library(Some(CHECK), Vec::new(), args, vec![overlap, memory]);
            self.body.push(Stmt::Free(record.highs));
            self.body.push(Stmt::Free(record.lows));
        }
    }
}
