//! Calls of functions over arrays, before `instantiate` has removed them.

use super::super::{CallArg, FuncId, Piece, Section, SectionDim, VarKind};
use super::memory::BufferId;
use super::value::{Array, Data};
use super::{Machine, Run, Slot};
use crate::par::{FaultKind, VarId};
use hidp_syntax::ast::{Direction, PieceWay};
use hidp_syntax::index::Id;
use hidp_syntax::source::Span;

/// What happens to an argument after the call.
enum Back<'p> {
    Nothing,
    Scalar(VarId),
    Element {
        at: (BufferId, usize),
        path: &'p [u32],
    },
    /// Elements of the section, by linear index, in order.
    Section {
        buffer: BufferId,
        elements: Vec<usize>,
        copy: BufferId,
    },
}

impl<'p> Machine<'p> {
    pub(super) fn call(&mut self, callee: FuncId, args: &'p [CallArg], span: Span) -> Run<()> {
        let program = self.program;
        let function = &program.funcs[callee];
        let mark = self.memory.mark();
        let mut frame = vec![Slot::Unset; function.vars.len()];
        let mut backs = Vec::with_capacity(args.len());
        for (param, arg) in function.params.iter().zip(args) {
            let known = &function.vars[*param];
            let written = known.kind != VarKind::Param(Direction::Input);
            let (slot, back) = self.call_arg(arg, written)?;
            let fresh = known.kind == VarKind::Param(Direction::Output) && !known.is_array();
            frame[param.index()] = if fresh { Slot::Scalar(self.zero(known.ty)) } else { slot };
            backs.push(back);
        }
        let outer_frame = std::mem::replace(&mut self.frame, frame);
        let outer_vars = std::mem::replace(&mut self.vars, &function.vars);
        match self.bind(function)? {
            Ok(()) => {}
            Err(mismatch) => return self.fault(mismatch.kind, span, mismatch.values),
        }
        let outer_cells = self.cells.take();
        self.function(function)?;
        self.cells = outer_cells;
        let frame = std::mem::replace(&mut self.frame, outer_frame);
        self.vars = outer_vars;
        for (param, back) in function.params.iter().zip(backs) {
            self.copy_back(&frame[param.index()], back);
        }
        self.memory.cut_back(mark);
        Ok(())
    }

    fn call_arg(&mut self, arg: &'p CallArg, written: bool) -> Run<(Slot, Back<'p>)> {
        Ok(match arg {
            CallArg::Value(value) => (Slot::Scalar(self.eval(value)?), Back::Nothing),
            CallArg::Scalar(var) => {
                let back = if written { Back::Scalar(*var) } else { Back::Nothing };
                (self.frame[var.index()].clone(), back)
            }
            CallArg::Array(var) => (Slot::Array(self.buffer(*var)), Back::Nothing),
            CallArg::Element(place) => {
                let at = self.place(place)?;
                self.touch(at, written, place.access, place.span)?;
                let value = self.memory.load(at.0, at.1).field(&place.path);
                let back = if written { Back::Element { at, path: &place.path } } else { Back::Nothing };
                (Slot::Scalar(value), back)
            }
            CallArg::Section(section) => {
                let (shape, elements) = self.section(section)?;
                let buffer = self.buffer(section.array);
                let data = gather(&self.memory.get(buffer).data, &elements);
                let copy = self.memory.add(Array { shape, data }, self.maps.len());
                self.forget(copy);
                let back = if written { Back::Section { buffer, elements, copy } } else { Back::Nothing };
                (Slot::Array(copy), back)
            }
        })
    }

    fn copy_back(&mut self, slot: &Slot, back: Back<'p>) {
        match (back, slot) {
            (Back::Scalar(var), Slot::Scalar(value)) => self.frame[var.index()] = Slot::Scalar(value.clone()),
            (Back::Element { at, path }, Slot::Scalar(value)) => self.store(at, path, value.clone()),
            (Back::Section { buffer, elements, copy }, _) => {
                for (number, element) in elements.into_iter().enumerate() {
                    let value = self.memory.load(copy, number);
                    self.memory.get_mut(buffer).data.set(element, value);
                }
            }
            (Back::Nothing | Back::Scalar(_) | Back::Element { .. }, _) => {}
        }
    }

    /// A section's shape, and the linear indices of its elements in order.
    fn section(&mut self, section: &'p Section) -> Run<(Vec<i64>, Vec<usize>)> {
        let buffer = self.buffer(section.array);
        let mut shape = Vec::new();
        let mut elements = vec![0_usize];
        for (dim, part) in section.dims.iter().enumerate() {
            let extent = self.memory.get(buffer).shape[dim];
            let indices: Vec<i64> = match part {
                SectionDim::At(index) => {
                    let index = self.long(index)?;
                    if index < 0 || index >= extent {
                        return self.fault(FaultKind::Index, section.span, vec![index, extent, dim as i64]);
                    }
                    vec![index]
                }
                SectionDim::Range { low, high, step } => {
                    let (low, high, step) = (self.long(low)?, self.long(high)?, self.long(step)?);
                    if step <= 0 {
                        return self.fault(FaultKind::Stride, section.span, vec![step]);
                    }
                    if high > low && (low < 0 || high > extent) {
                        return self.fault(FaultKind::Segment, section.span, vec![low, high, extent]);
                    }
                    let indices: Vec<i64> = (low..high).step_by(step as usize).collect();
                    shape.push(indices.len() as i64);
                    indices
                }
                SectionDim::Piece(Piece { way, at, by, length }) => {
                    let (at, length) = (self.long(at)?, self.long(length)?);
                    if length < 1 {
                        return self.fault(FaultKind::Stride, section.span, vec![length]);
                    }
                    let indices = piece(*way, at, (*by, length), extent);
                    shape.push(indices.len() as i64);
                    indices
                }
            };
            let extend = |outer: usize| indices.iter().map(move |index| outer * extent as usize + *index as usize);
            elements = elements.into_iter().flat_map(extend).collect();
        }
        Ok((shape, elements))
    }
}

/// The indices of a piece of `extent` elements, of which there are `length`, or have that many elements.
fn piece(way: PieceWay, at: i64, (by, length): (bool, i64), extent: i64) -> Vec<i64> {
    match way {
        PieceWay::Strided => (at..extent).step_by(length as usize).filter(|_| at < length).collect(),
        PieceWay::Adjacent => {
            let elements = if by { length } else { extent.max(1).saturating_add(length - 1) / length };
            // Behind the last piece the product may be anything.
            let low = at.checked_mul(elements).map_or(extent, |low| low.min(extent));
            (low..low.saturating_add(elements).min(extent)).collect()
        }
    }
}

/// Some elements, in order.
fn gather(data: &Data, elements: &[usize]) -> Data {
    macro_rules! each {
        ($($variant:ident)*) => {
            match data {
                $(Data::$variant(values) => Data::$variant(elements.iter().map(|at| values[*at].clone()).collect()),)*
            }
        };
    }
    let gathered = each!(Bool I8 U8 I16 U16 I32 U32 I64 U64 F32 F64 Struct);
    debug_assert_eq!(gathered.len(), elements.len());
    gathered
}
