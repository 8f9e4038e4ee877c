//! Statements.

use super::super::{Block, FoldOp, Loop, Place, Stmt, StmtKind, VarId};
use super::memory::BufferId;
use super::value::{self, Data, Fill};
use super::{Array, Flow, Machine, Run, Slot, Value};
use crate::par::{Access, Expr, FAULT_VALUES, FaultKind};
use hidp_syntax::index::Id;
use hidp_syntax::source::Span;

impl<'p> Machine<'p> {
    /// Runs a block.
    pub(super) fn block(&mut self, block: &'p Block) -> Run<Flow> {
        for stmt in &block.stmts {
            match self.stmt(stmt)? {
                Flow::Next => {}
                flow @ (Flow::Break | Flow::Continue | Flow::Leave | Flow::Return(_)) => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &'p Stmt) -> Run<Flow> {
        self.step()?;
        match &stmt.kind {
            StmtKind::Assign { var, value } => {
                let value = self.eval(value)?;
                self.frame[var.index()] = Slot::Scalar(value);
            }
            StmtKind::Store { place, value } => {
                let value = self.eval(value)?;
                let at = self.place(place)?;
                self.touch(at, true, place.access, place.span)?;
                self.note(at, &value);
                self.store(at, &place.path, value);
            }
            StmtKind::Declare { var, zero } => self.declare(*var, *zero, stmt.span)?,
            StmtKind::AssignField { var, path, value } => {
                let value = self.eval(value)?;
                if let Slot::Scalar(whole) = &mut self.frame[var.index()] {
                    whole.set_field(path, value);
                }
            }
            StmtKind::Atomic { place, op, value } => self.atomic(place, op, value)?,
            StmtKind::If { cond, then, otherwise } => {
                let taken = if self.truth(cond)? { then } else { otherwise };
                return self.block(taken);
            }
            StmtKind::Loop(node) => return self.loop_stmt(node),
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Scope(block) => {
                return Ok(match self.block(block)? {
                    Flow::Leave => Flow::Next,
                    flow @ (Flow::Next | Flow::Break | Flow::Continue | Flow::Return(_)) => flow,
                });
            }
            StmtKind::Leave => return Ok(Flow::Leave),
            StmtKind::Return(value) => return Ok(Flow::Return(self.eval(value)?)),
            StmtKind::Map(map) => self.map(map)?,
            StmtKind::Prim(call) => self.prim(call)?,
            StmtKind::Swap(left, right) => {
                let (left, right) = (self.buffer(*left), self.buffer(*right));
                let shapes = [left, right].map(|buffer| self.memory.get(buffer).shape.clone());
                if let Some((a, b)) = shapes[0].iter().zip(&shapes[1]).find(|(a, b)| a != b) {
                    return self.fault(FaultKind::Shape, stmt.span, vec![*a, *b]);
                }
                self.memory.swap(left, right);
                self.forget(left);
                self.forget(right);
            }
            StmtKind::Call { callee, args } => self.call(*callee, args, stmt.span)?,
            StmtKind::Require { cond, fault, values } => {
                if !self.truth(cond)? {
                    let values = values.iter().map(|(_, value)| self.long(value)).collect::<Run<_>>()?;
                    return self.fault(*fault, stmt.span, values);
                }
            }
        }
        Ok(Flow::Next)
    }

    fn loop_stmt(&mut self, node: &'p Loop) -> Run<Flow> {
        while self.truth(&node.cond)? {
            self.step()?;
            match self.block(&node.body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                flow @ (Flow::Leave | Flow::Return(_)) => return Ok(flow),
            }
            match self.block(&node.step)? {
                Flow::Next | Flow::Break | Flow::Continue => {}
                flow @ (Flow::Leave | Flow::Return(_)) => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn atomic(&mut self, place: &'p Place, op: &'p FoldOp, value: &'p Expr) -> Run<()> {
        let value = self.eval(value)?;
        let at = self.place(place)?;
        self.touch(at, true, Access::Shared, place.span)?;
        let old = self.memory.load(at.0, at.1).field(&place.path);
        let new = self.fold_step(op, old, value)?;
        self.store(at, &place.path, new);
        Ok(())
    }

    /// The contents of a buffer are new: what touched the old ones does not matter.
    pub(super) fn forget(&mut self, buffer: BufferId) {
        if let Some(watch) = &mut self.watch {
            watch.forget(buffer);
        }
    }

    /// A local comes to life.
    fn declare(&mut self, var: VarId, zero: bool, span: Span) -> Run<()> {
        let known = &self.vars[var];
        let fill = if zero { Fill::Zero } else { Fill::Poison };
        let element = Value::filled(self.program, known.ty, fill);
        if !known.is_array() {
            self.frame[var.index()] = Slot::Scalar(element);
            return Ok(());
        }
        let mut shape = Vec::with_capacity(known.shape.len());
        for extent in &known.shape {
            let size = self.long(extent)?;
            if size < 0 {
                return self.fault(FaultKind::NegativeSize, span, vec![size]);
            }
            shape.push(size);
        }
        self.allocate(var, element, shape, span)
    }

    /// Gives a local array its memory: again the same one if it had one.
    fn allocate(&mut self, var: VarId, element: Value, mut shape: Vec<i64>, span: Span) -> Run<()> {
        let size = value::size_of(self.program, self.vars[var].ty);
        let count = shape.iter().try_fold(1_i64, |count, extent| count.checked_mul(*extent));
        let bytes = count.and_then(|count| count.checked_mul(size as i64));
        let (Some(count), Some(bytes)) = (count, bytes) else {
            shape.truncate(FAULT_VALUES);
            return self.fault(FaultKind::SizeOverflow, span, shape);
        };
        let born = self.maps.len();
        if let Slot::Array(buffer) = self.frame[var.index()] {
            self.forget(buffer);
            let old = self.memory.get_mut(buffer);
            if old.shape == shape {
                old.data.refill(&element, count as usize);
                old.born = born;
                return Ok(());
            }
        }
        let bytes = bytes as u64;
        let within = self.memory.bytes.saturating_add(bytes) <= self.options.max_bytes;
        let data = if within { Data::filled(&element, count as usize) } else { None };
        let Some(data) = data else {
            return self.fault(FaultKind::Allocation, span, vec![bytes as i64]);
        };
        self.memory.bytes += bytes;
        let buffer = match self.frame[var.index()] {
            Slot::Array(buffer) => {
                let old = self.memory.get_mut(buffer);
                let freed = old.data.len() as u64 * size;
                (old.shape, old.data, old.born) = (shape, data, born);
                self.memory.bytes -= freed;
                buffer
            }
            Slot::Unset | Slot::Scalar(_) => self.memory.add(Array { shape, data }, born),
        };
        self.forget(buffer);
        self.frame[var.index()] = Slot::Array(buffer);
        Ok(())
    }
}
