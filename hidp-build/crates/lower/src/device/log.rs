//! Segments that iterations write through primitives in loops, inner maps or maps that fold, where it is not proved that those of
//! different iterations share no element: kernels note them in a log, which the host allocates before a launch and looks through
//! after it (`cuda/prim/segment_log.cuh`).

use super::super::record::{any_shared_segments, outputs, whole};
use super::super::{Binding, Lowerer, make};
use super::private::Given;
use hidp_ir::imp::{Expr, PrimArg, Stmt, VarId, VarKind};
use hidp_ir::par::visit::walk_stmts;
use hidp_ir::par::{self, Access, Map, StmtKind};
use hidp_plan::repeated_segments;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// Words of a log and of a slot in it, and of a note.
const HEAD_WORDS: i64 = 8;
const NOTE_WORDS: i64 = 4;
/// Places for notes: for each element of an array that segments of different iterations share, each iteration, and each slot.
/// Segments that share no element are no more than elements; slots leave places behind when they grow.
const NOTES_PER_ELEMENT: i64 = 6;
const NOTES_PER_ITERATION: i64 = 16;
const NOTES_PER_SLOT: i64 = 32;

/// A log that was opened.
#[must_use]
pub(super) struct DeviceLog {
    words: VarId,
    slots: Expr,
}

impl Lowerer<'_> {
    /// Whether the iterations of a map that the host meets note what they write in a log.
    pub(super) fn logs_segments(&self, map: &Map) -> bool {
        if self.inside_team { any_shared_segments(map) } else { repeated_segments(map) }
    }

    /// Before a launch whose groups have so many slots, if it needs a log.
    pub(super) fn open_launch_log(
        &mut self,
        map: &Map,
        span: Span,
        total: &Expr,
        most: &Option<Expr>,
        given: &[Given],
    ) -> Option<DeviceLog> {
        let slots = most.clone().filter(|_| self.logs_segments(map))?;
        Some(self.open_device_log(map, span, total, slots, given))
    }

    /// A map of `total` iterations begins.
    pub(super) fn open_device_log(
        &mut self,
        map: &Map,
        span: Span,
        total: &Expr,
        slots: Expr,
        given: &[Given],
    ) -> DeviceLog {
        let places = self.places(map, total, &slots, given);
        let heads = make::mul(make::add(slots.clone(), make::long(1)), make::long(HEAD_WORDS));
        let count = make::add(heads, make::mul(places.clone(), make::long(NOTE_WORDS)));
        let count = self.body.fix("words", count);
        let words = self.body.declare("segments", VarKind::Buffer { elem: Ty::LONG, writable: true });
        let site = self.memory_site(span);
        self.body.push(Stmt::Alloc { var: words, count, zero: false, site });
        let args = vec![whole(words), PrimArg::Value(slots.clone()), PrimArg::Value(places)];
        let memory = vec![self.memory_site(span)];
        self.log_call("kernel_open_segments", args, memory);
        self.logs.push(words);
        DeviceLog { words, slots }
    }

    /// How many notes a log has place for.
    fn places(&mut self, map: &Map, total: &Expr, slots: &Expr, given: &[Given]) -> Expr {
        let mut places = make::mul(slots.clone(), make::long(NOTES_PER_SLOT));
        places = make::add(places, make::mul(total.clone(), make::long(NOTES_PER_ITERATION)));
        for array in shared_outputs(map) {
            let own = given.iter().find_map(|given| given.of_array(array, slots));
            let elements = own.or_else(|| match self.body.bindings.get(&array) {
                Some(Binding::Array(binding)) => Some(binding.extents.iter().cloned().fold(make::long(1), make::mul)),
                Some(Binding::Fixed(_) | Binding::Slot { .. } | Binding::Lane(_)) | None => None,
            });
            let elements = elements.unwrap_or(make::long(0));
            places = make::add(places, make::mul(elements, make::long(NOTES_PER_ELEMENT)));
        }
        let budget = i64::from(self.of_model(|model| model.scratch));
        let most = make::long(budget / (NOTE_WORDS * size_of::<i64>() as i64));
        self.body.fix("places", make::min(places, most))
    }

    /// The map ends.
    pub(super) fn close_device_log(&mut self, log: Option<DeviceLog>, span: Span) {
        let Some(DeviceLog { words, slots }) = log else { return };
        self.logs.pop();
        let memory = vec![self.memory_site(span)];
        let keys = make::long(self.noted.len() as i64);
        let mut args = vec![whole(words), PrimArg::Value(slots), PrimArg::Value(keys)];
        match self.logs.last() {
            Some(outer) => {
                args.push(whole(*outer));
                args.push(PrimArg::Value(self.instance()));
                self.log_call("kernel_close_inner_segments", args, memory);
            }
            None => self.log_call("kernel_close_segments", args, memory),
        }
        self.body.push(Stmt::Free(words));
    }
}

/// The arrays that calls of a map write segments of, which may overlap those of other iterations.
fn shared_outputs(map: &Map) -> Vec<par::VarId> {
    let mut found = Vec::new();
    walk_stmts(&map.body, |stmt| {
        if let StmtKind::Prim(call) = &stmt.kind
            && call.access == Access::Shared
            && call.prim.writes_segments()
        {
            let (keys, values) = outputs(call);
            found.extend([keys, values].into_iter().flatten().map(|array| array.array));
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}
