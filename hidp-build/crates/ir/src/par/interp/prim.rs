//! Primitives.
//!
//! Order of evaluation: extent, `dir`, then input, output and values as rows; then the bounds of every segment in order, against
//! the input, the output and the values; then overlaps; then the work, segment by segment.

use std::cmp::Ordering;

use super::super::{Extent, FoldOp, PrimCall, PrimValue, Target, Var, VarId};
use super::segments::{Operands, Segment, View};
use super::{Machine, Run, Value, ops};
use crate::par::FaultKind;
use hidp_syntax::index::Arena;
use hidp_syntax::prim::Prim;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

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

    pub(super) fn element(&self, view: View, at: i64) -> Value {
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
        let (Some(op), Some(bins)) = (&call.op, operands.output) else { return Ok(()) };
        for segment in segments {
            let keys = self.read(operands.input, *segment);
            let values = match operands.values {
                Some((values, _)) => self.read_for(op, values, *segment),
                None => vec![ops::cast(&1.into(), op.ty.scalar().unwrap_or(Scalar::I64)); keys.len()],
            };
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
