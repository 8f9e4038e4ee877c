//! The segments and operands of primitives, and what is tested of them before the work.

use super::super::{ArrayRef, Extent, PrimCall};
use super::memory::BufferId;
use super::{Machine, Run, Running};
use crate::par::FaultKind;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::prim::Prim;
use hidp_syntax::source::Span;

/// A row of an array, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) buffer: BufferId,
    /// Linear index of element 0.
    pub(super) base: i64,
    pub(super) len: i64,
}

/// `[low, high)`; empty unless `low < high`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Segment {
    pub(super) fn is_empty(self) -> bool {
        self.high <= self.low
    }
    pub(super) fn range(self) -> std::ops::Range<i64> {
        self.low..self.high.max(self.low)
    }
}

/// A segment of an output that an iteration of a map wrote.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// The primitive, by the address of its call.
    call: usize,
    buffer: BufferId,
    /// Linear indices.
    low: i64,
    high: i64,
    /// Linear number of the iteration.
    iteration: i64,
    span: Span,
}

/// The operands of a call.
pub(super) struct Operands {
    pub(super) input: View,
    pub(super) output: Option<View>,
    pub(super) values: Option<(View, Option<View>)>,
}

impl<'p> Machine<'p> {
    /// The segments, in order of their numbers.
    pub(super) fn segments(&mut self, call: &'p PrimCall) -> Run<Vec<Segment>> {
        Ok(match &call.extent {
            Extent::Whole { size } => vec![Segment { low: 0, high: self.long(size)? }],
            Extent::Segment { low, high } => vec![Segment { low: self.long(low)?, high: self.long(high)? }],
            Extent::Vectors { low, high } => {
                let (low, high) = (self.view(low)?, self.view(high)?);
                if low.len != high.len {
                    return self.fault(FaultKind::Shape, call.span, vec![low.len, high.len]);
                }
                let bound =
                    |machine: &Self, view: View, at: i64| machine.element(view, at).as_integer().unwrap_or(0) as i64;
                (0..low.len).map(|at| Segment { low: bound(self, low, at), high: bound(self, high, at) }).collect()
            }
            Extent::Regular { seg_size, num_seg } => {
                let (size, count) = (self.long(seg_size)?, self.long(num_seg)?);
                if let Some(negative) = [size, count].into_iter().find(|value| *value < 0) {
                    return self.fault(FaultKind::NegativeSize, call.span, vec![negative]);
                }
                if size.checked_mul(count).is_none() {
                    return self.fault(FaultKind::SizeOverflow, call.span, vec![size, count]);
                }
                (0..count).map(|number| Segment { low: number * size, high: (number + 1) * size }).collect()
            }
        })
    }

    pub(super) fn descending(&mut self, call: &'p PrimCall) -> Run<bool> {
        let Some(dir) = &call.dir else { return Ok(false) };
        match self.eval(dir)?.as_integer() {
            Some(1) => Ok(false),
            Some(-1) => Ok(true),
            other => self.fault(FaultKind::SortDirection, call.span, vec![other.unwrap_or(0) as i64]),
        }
    }

    pub(super) fn operands(&mut self, call: &'p PrimCall) -> Run<Operands> {
        let input = self.view(&call.input)?;
        let output = call.output.as_ref().map(|array| self.view(array)).transpose()?;
        let values = match &call.values {
            Some((values_in, values_out)) => {
                let values_in = self.view(values_in)?;
                Some((values_in, values_out.as_ref().map(|array| self.view(array)).transpose()?))
            }
            None => None,
        };
        Ok(Operands { input, output, values })
    }

    pub(super) fn view(&mut self, array: &'p ArrayRef) -> Run<View> {
        let buffer = self.buffer(array.array);
        let shape = self.memory.get(buffer).shape.clone();
        let mut base = 0;
        for (dim, index) in array.prefix.iter().enumerate() {
            let index = self.long(index)?;
            if index < 0 || index >= shape[dim] {
                return self.fault(FaultKind::Index, array.span, vec![index, shape[dim], dim as i64]);
            }
            base = base * shape[dim] + index;
        }
        let extent = shape.last().copied().unwrap_or(0);
        let (offset, len) = (self.long(&array.offset)?, self.long(&array.len)?.max(0));
        let end = offset.saturating_add(len);
        if len > 0 && (offset < 0 || end > extent) {
            return self.fault(FaultKind::Segment, array.span, vec![offset, end, extent]);
        }
        Ok(View { buffer, base: base * extent + offset, len })
    }

    /// Every segment must lie inside every operand that it selects from.
    pub(super) fn check_segments(&mut self, call: &PrimCall, segments: &[Segment], operands: &Operands) -> Run<()> {
        let per_segment = call.prim.per_segment();
        let mut views = vec![operands.input];
        if !per_segment && call.prim != Prim::Histogram {
            views.extend(operands.output);
        }
        if let Some((values_in, values_out)) = operands.values {
            views.push(values_in);
            views.extend(values_out);
        }
        let whole = match call.extent {
            // One check for all of them.
            Extent::Regular { .. } => {
                segments.last().map(|last| Segment { low: 0, high: last.high }).into_iter().collect()
            }
            Extent::Whole { .. } | Extent::Segment { .. } | Extent::Vectors { .. } => segments.to_vec(),
        };
        for segment in whole.iter().filter(|segment| !segment.is_empty()) {
            for view in &views {
                if segment.low < 0 || segment.high > view.len {
                    return self.fault(FaultKind::Segment, call.span, vec![segment.low, segment.high, view.len]);
                }
            }
        }
        if let Some(output) = operands.output.filter(|output| per_segment && output.len < segments.len() as i64) {
            return self.fault(FaultKind::Segment, call.span, vec![0, segments.len() as i64, output.len]);
        }
        Ok(())
    }

    /// Segments of outputs must not overlap: those of one call at once, those of a map's iterations when it ends.
    pub(super) fn check_overlaps(&mut self, call: &'p PrimCall, segments: &[Segment], operands: &Operands) -> Run<()> {
        if call.prim.per_segment() || call.prim == Prim::Histogram {
            return Ok(());
        }
        if let Extent::Vectors { .. } = call.extent {
            let numbered = segments.iter().zip(0..).map(|(segment, number)| (segment.low, segment.high, number));
            if let Some((first, second)) = overlap(numbered.collect()) {
                return self.fault(FaultKind::SegmentOverlap, call.span, vec![first, second]);
            }
        }
        let values_out = operands.values.and_then(|(_, values_out)| values_out);
        for view in [Some(operands.output.unwrap_or(operands.input)), values_out].into_iter().flatten() {
            for segment in segments.iter().filter(|segment| !segment.is_empty()) {
                self.record(Written {
                    call: std::ptr::from_ref(call) as usize,
                    buffer: view.buffer,
                    low: view.base + segment.low,
                    high: view.base + segment.high,
                    iteration: 0,
                    span: call.span,
                });
            }
        }
        Ok(())
    }

    /// Notes a written segment in the innermost map, if the array lives outside of it.
    fn record(&mut self, mut written: Written) {
        let born = self.memory.get(written.buffer).born;
        let depth = self.maps.len();
        if let Some(Running { iteration, written: all, .. }) = self.maps.last_mut()
            && born < depth
        {
            written.iteration = *iteration;
            all.push(written);
        }
    }

    /// Ends a map: its iterations must not have written to one segment.
    pub(super) fn end_of_map(&mut self) -> Run<()> {
        let Some(running) = self.maps.pop() else { return Ok(()) };
        let mut looked_at = OrdSet::new();
        for first in &running.written {
            let key = (first.call, first.buffer);
            if !looked_at.insert(key) {
                continue;
            }
            let same = running.written.iter().filter(|written| (written.call, written.buffer) == key);
            if let Some((a, b)) = overlap(same.map(|written| (written.low, written.high, written.iteration)).collect())
            {
                return self.fault(FaultKind::SegmentOverlap, first.span, vec![a, b]);
            }
        }
        running.written.into_iter().for_each(|written| self.record(written));
        Ok(())
    }
}

/// Two numbers, the smaller first, whose segments `(low, high, number)` overlap. Segments of one number may.
pub(super) fn overlap(mut segments: Vec<(i64, i64, i64)>) -> Option<(i64, i64)> {
    segments.retain(|(low, high, _)| low < high);
    segments.sort_by_key(|(low, _, number)| (*low, *number));
    // The greatest end so far, and the greatest of another number.
    let mut greatest: [Option<(i64, i64)>; 2] = [None, None];
    for (low, high, number) in segments {
        let other = greatest.iter().flatten().find(|(_, owner)| *owner != number);
        if let Some((end, owner)) = other
            && *end > low
        {
            return Some((number.min(*owner), number.max(*owner)));
        }
        greatest = match greatest {
            [Some((end, owner)), second] if owner == number => [Some((end.max(high), owner)), second],
            [Some((end, owner)), _] if end < high => [Some((high, number)), Some((end, owner))],
            [first @ Some(_), Some((end, owner))] if end >= high => [first, Some((end, owner))],
            [first @ Some(_), _] => [first, Some((high, number))],
            [None, _] => [Some((high, number)), None],
        };
    }
    None
}
