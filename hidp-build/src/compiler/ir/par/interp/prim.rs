//! Primitives.
//!
//! Order of evaluation: extent, `dir`, then input, output and values as rows; then the bounds of every segment in order, against
//! the input, the output and the values; then overlaps; then the work, segment by segment.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::super::{ArrayRef, Extent, FoldOp, PrimCall, PrimValue, Target, Var, VarId};
use super::memory::BufferId;
use super::{Machine, Run, Running, Value, ops};
use crate::compiler::index::Arena;
use crate::compiler::ir::par::FaultKind;
use crate::compiler::prim::Prim;
use crate::compiler::source::Span;
use crate::compiler::ty::{Scalar, Ty};

/// A row of an array, or a part of one.
#[derive(Clone, Copy, Debug)]
struct View {
    buffer: BufferId,
    /// Linear index of element 0.
    base: i64,
    len: i64,
}

/// `[low, high)`; empty unless `low < high`.
#[derive(Clone, Copy, Debug)]
struct Segment {
    low: i64,
    high: i64,
}

impl Segment {
    fn is_empty(self) -> bool {
        self.high <= self.low
    }
    fn range(self) -> std::ops::Range<i64> {
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
struct Operands {
    input: View,
    output: Option<View>,
    values: Option<(View, Option<View>)>,
}

impl<'p> Machine<'p> {
    pub(super) fn prim(&mut self, call: &'p PrimCall) -> Run<()> {
        let segments = self.segments(call)?;
        let descending = self.descending(call)?;
        let operands = self.operands(call)?;
        self.check_segments(call, &segments, &operands)?;
        self.check_overlaps(call, &segments, &operands)?;
        match call.prim {
            Prim::Min | Prim::Max | Prim::Reduce => self.reduce(call, &segments, &operands),
            Prim::Scan | Prim::Exscan => self.scan(call, &segments, &operands),
            Prim::Sort => {
                segments.iter().for_each(|segment| self.sort(*segment, &operands, descending));
                Ok(())
            }
            Prim::Partition => self.partition(call, &segments, &operands),
            Prim::Reverse | Prim::ReverseInplace => {
                for segment in &segments {
                    let mut values = self.read(operands.input, *segment);
                    values.reverse();
                    self.write(operands.output.unwrap_or(operands.input), *segment, values);
                }
                Ok(())
            }
            Prim::Histogram => self.histogram(call, &segments, &operands),
        }
    }

    /// The segments, in order of their numbers.
    fn segments(&mut self, call: &'p PrimCall) -> Run<Vec<Segment>> {
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

    fn descending(&mut self, call: &'p PrimCall) -> Run<bool> {
        let Some(dir) = &call.dir else { return Ok(false) };
        match self.eval(dir)?.as_integer() {
            Some(1) => Ok(false),
            Some(-1) => Ok(true),
            other => self.fault(FaultKind::SortDirection, call.span, vec![other.unwrap_or(0) as i64]),
        }
    }

    fn operands(&mut self, call: &'p PrimCall) -> Run<Operands> {
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

    fn view(&mut self, array: &'p ArrayRef) -> Run<View> {
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
    fn check_segments(&mut self, call: &PrimCall, segments: &[Segment], operands: &Operands) -> Run<()> {
        let per_segment = results_per_segment(call.prim);
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
    fn check_overlaps(&mut self, call: &'p PrimCall, segments: &[Segment], operands: &Operands) -> Run<()> {
        if results_per_segment(call.prim) || call.prim == Prim::Histogram {
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
        let mut looked_at = BTreeSet::new();
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

    fn element(&self, view: View, at: i64) -> Value {
        self.memory.load(view.buffer, (view.base + at) as usize)
    }

    fn set_element(&mut self, view: View, at: i64, value: Value) {
        self.memory.get_mut(view.buffer).data.set((view.base + at) as usize, value);
    }

    fn read(&self, view: View, segment: Segment) -> Vec<Value> {
        segment.range().map(|at| self.element(view, at)).collect()
    }

    fn write(&mut self, view: View, segment: Segment, values: Vec<Value>) {
        segment.range().zip(values).for_each(|(at, value)| self.set_element(view, at, value));
    }

    /// Elements in the type of the operator.
    fn read_for(&self, op: &FoldOp, view: View, segment: Segment) -> Vec<Value> {
        let convert = |value: Value| match op.ty.scalar() {
            Some(scalar) if value.scalar() != Some(scalar) => ops::cast(&value, scalar),
            Some(_) | None => value,
        };
        self.read(view, segment).into_iter().map(convert).collect()
    }

    fn reduce(&mut self, call: &'p PrimCall, segments: &[Segment], operands: &Operands) -> Run<()> {
        let Some(op) = &call.op else { return Ok(()) };
        for (number, segment) in segments.iter().enumerate() {
            let mut sum = super::fold::Accumulator::default();
            for value in self.read_for(op, operands.input, *segment) {
                self.accumulate(op, &mut sum, value)?;
            }
            let result = self.finish(op, sum, call.span)?;
            match (&call.result, operands.output) {
                (Some(target), _) => self.set_target(target, result)?,
                (None, Some(output)) => self.set_element(output, number as i64, result),
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn scan(&mut self, call: &'p PrimCall, segments: &[Segment], operands: &Operands) -> Run<()> {
        let Some(op) = &call.op else { return Ok(()) };
        for segment in segments {
            let values = self.read_for(op, operands.input, *segment);
            let results = self.prefixes(op, values, call.prim == Prim::Scan, call.span)?;
            self.write(operands.output.unwrap_or(operands.input), *segment, results);
        }
        Ok(())
    }

    fn sort(&mut self, segment: Segment, operands: &Operands, descending: bool) {
        let keys = self.read(operands.input, segment);
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|a, b| {
            let ordering = total_order(&keys[*a], &keys[*b]);
            if descending { ordering.reverse() } else { ordering }
        });
        self.write_in_order(segment, &order, keys, operands);
    }

    /// Writes keys and values in a new order.
    fn write_in_order(&mut self, segment: Segment, order: &[usize], keys: Vec<Value>, operands: &Operands) {
        let values = operands.values.map(|(values_in, values_out)| (self.read(values_in, segment), values_out));
        let ordered = |from: &[Value]| order.iter().map(|at| from[*at].clone()).collect();
        if let Some(output) = operands.output {
            self.write(output, segment, ordered(&keys));
        }
        if let Some((values, Some(values_out))) = values {
            self.write(values_out, segment, ordered(&values));
        }
    }

    fn partition(&mut self, call: &'p PrimCall, segments: &[Segment], operands: &Operands) -> Run<()> {
        let Some(predicate) = call.predicate else { return Ok(()) };
        let (scalar_pivot, pivots) = match &call.pivot {
            Some(PrimValue::Scalar(value)) => (Some(self.eval(value)?), None),
            Some(PrimValue::Array(array)) => (None, Some(self.view(array)?)),
            None => (None, None),
        };
        if let Some(pivots) = pivots.filter(|pivots| pivots.len < segments.len() as i64) {
            return self.fault(FaultKind::Segment, call.span, vec![0, segments.len() as i64, pivots.len]);
        }
        for (number, segment) in segments.iter().enumerate() {
            let pivot = match (&scalar_pivot, pivots) {
                (Some(pivot), _) => pivot.clone(),
                (None, Some(pivots)) => self.element(pivots, number as i64),
                (None, None) => return Ok(()),
            };
            let keys = self.read(operands.input, *segment);
            let (mut kept, mut others) = (Vec::new(), Vec::new());
            for (at, key) in keys.iter().enumerate() {
                let keeps = self.scalar_call(predicate, vec![key.clone(), pivot.clone()])?;
                if keeps == Value::Bool(true) { kept.push(at) } else { others.push(at) }
            }
            let count = kept.len() as i64;
            kept.append(&mut others);
            self.write_in_order(*segment, &kept, keys, operands);
            if let Some(target) = &call.result {
                let value = self.integer_for(target_ty(self.vars, target), count, call.span)?;
                self.set_target(target, value)?;
            }
            if let Some((low, high)) = call.new_bounds {
                let instance = match call.extent {
                    Extent::Vectors { .. } => number as i64,
                    Extent::Whole { .. } | Extent::Segment { .. } | Extent::Regular { .. } => {
                        self.maps.last().map_or(0, |map| map.iteration)
                    }
                };
                let middle = segment.low + count;
                for (var, at, bound) in [
                    (low, 2 * instance, segment.low),
                    (high, 2 * instance, middle),
                    (low, 2 * instance + 1, middle),
                    (high, 2 * instance + 1, segment.high),
                ] {
                    self.set_bound(var, at, bound, call.span)?;
                }
            }
        }
        Ok(())
    }

    /// Writes an element of `new_low` or `new_high`.
    fn set_bound(&mut self, var: VarId, at: i64, bound: i64, span: Span) -> Run<()> {
        let buffer = self.buffer(var);
        let extent = self.memory.get(buffer).shape[0];
        if at >= extent {
            return self.fault(FaultKind::Index, span, vec![at, extent, 0]);
        }
        let value = self.integer_for(Some(self.vars[var].ty), bound, span)?;
        self.memory.get_mut(buffer).data.set(at as usize, value);
        Ok(())
    }

    /// A position in the type of its target.
    fn integer_for(&mut self, ty: Option<Ty>, value: i64, span: Span) -> Run<Value> {
        let scalar = ty.and_then(|ty| ty.scalar()).unwrap_or(Scalar::I64);
        match ops::narrow(&value.into(), scalar) {
            Ok(value) => Ok(value),
            Err(fault) => self.fault(fault.kind, span, fault.values),
        }
    }

    fn histogram(&mut self, call: &'p PrimCall, segments: &[Segment], operands: &Operands) -> Run<()> {
        let (Some(op), Some(bins), Some((values, _))) = (&call.op, operands.output, operands.values) else {
            return Ok(());
        };
        for segment in segments {
            let keys = self.read(operands.input, *segment);
            let values = self.read_for(op, values, *segment);
            for (key, value) in keys.into_iter().zip(values) {
                let key = key.as_integer().unwrap_or(-1);
                if key < 0 || key >= i128::from(bins.len) {
                    return self.fault(FaultKind::HistogramKey, call.span, vec![key as i64, bins.len]);
                }
                let old = self.element(bins, key as i64);
                let new = self.fold_step(op, old, value)?;
                self.set_element(bins, key as i64, new);
            }
        }
        Ok(())
    }
}

/// Whether a primitive has one result a segment instead of one an element.
fn results_per_segment(prim: Prim) -> bool {
    match prim {
        Prim::Min | Prim::Max | Prim::Reduce => true,
        Prim::Scan
        | Prim::Exscan
        | Prim::Sort
        | Prim::Partition
        | Prim::Reverse
        | Prim::ReverseInplace
        | Prim::Histogram => false,
    }
}

/// The type of a target that is a scalar or a whole element.
fn target_ty(vars: &Arena<VarId, Var>, target: &Target) -> Option<Ty> {
    match target {
        Target::Scalar(var) => Some(vars[*var].ty),
        Target::Element(place) => place.path.is_empty().then(|| vars[place.array].ty),
    }
}

/// The order of sorts: of floats, IEEE total order.
fn total_order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::F32(a), Value::F32(b)) => a.total_cmp(b),
        (Value::F64(a), Value::F64(b)) => a.total_cmp(b),
        _ => a.as_integer().cmp(&b.as_integer()),
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
