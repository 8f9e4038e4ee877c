//! Expressions.

use super::super::{Block, ConvertMode, Expr, ExprKind, Place, ScalarFnId};
use super::exact;
use super::memory::BufferId;
use super::ops::{self, OpFault};
use super::{Error, Flow, Machine, Run, Slot, Value};
use crate::par::{Const, FaultKind};
use hidp_syntax::index::Id;
use hidp_syntax::ty::{Scalar, Ty};

impl<'p> Machine<'p> {
    /// The value of an expression.
    pub(super) fn eval(&mut self, expr: &'p Expr) -> Run<Value> {
        match &expr.kind {
            ExprKind::Read(var) => match &self.frame[var.index()] {
                Slot::Scalar(value) => Ok(value.clone()),
                Slot::Unset | Slot::Array(_) => unreachable!("{var:?} holds no value"),
            },
            ExprKind::Const(value) => Ok(constant(*value, expr.ty)),
            ExprKind::Load(place) => {
                let at = self.place(place)?;
                self.cell_is_there(at, place)?;
                if self.watch.is_some() {
                    self.touch(at, false, place.access, place.span)?;
                }
                let value = self.memory.load(at.0, at.1);
                Ok(if place.path.is_empty() { value } else { value.field(&place.path) })
            }
            ExprKind::Binary { op, left, right, checked } => {
                let left = self.eval(left)?;
                let right = self.eval(right)?;
                self.rounded |= exact::binary(*op, &left, &right);
                ops::binary(*op, &left, &right)
                    .or_else(|OpFault { kind, values }| self.fault_unless_proved(!checked, kind, expr.span, values))
            }
            ExprKind::Unary(op, operand) => Ok(ops::unary(*op, &self.eval(operand)?)),
            ExprKind::Lazy { and, left, right } => {
                let left = self.truth(left)?;
                Ok(Value::Bool(if left == *and { self.truth(right)? } else { left }))
            }
            ExprKind::Select { cond, then, otherwise } => {
                if self.truth(cond)? {
                    self.eval(then)
                } else {
                    self.eval(otherwise)
                }
            }
            ExprKind::Convert { operand, mode } => self.convert(expr, operand, *mode),
            ExprKind::Math(function, operands) => {
                let operands = self.eval_all(operands)?;
                let result = ops::math(*function, &operands);
                self.rounded |= exact::math(*function, &operands, &result);
                Ok(result)
            }
            ExprKind::Call(callee, args) => {
                let args = self.eval_all(args)?;
                self.scalar_call(*callee, args)
            }
            ExprKind::Field(operand, field) => Ok(self.eval(operand)?.field(&[*field])),
            ExprKind::Struct(_, fields) => Ok(Value::Struct(self.eval_all(fields)?.into())),
        }
    }

    pub(super) fn eval_all(&mut self, exprs: &'p [Expr]) -> Run<Vec<Value>> {
        exprs.iter().map(|expr| self.eval(expr)).collect()
    }

    fn convert(&mut self, expr: &'p Expr, operand: &'p Expr, mode: ConvertMode) -> Run<Value> {
        let value = self.eval(operand)?;
        let to = expr.scalar();
        match mode {
            ConvertMode::Cast => {
                let result = ops::cast(&value, to);
                self.rounded |= exact::cast(&value, &result);
                Ok(result)
            }
            ConvertMode::Checked => match ops::narrow(&value, to) {
                Ok(value) => Ok(value),
                Err(OpFault { kind, values }) => self.fault(kind, expr.span, values),
            },
        }
    }

    /// The buffer and linear index of an element, checked.
    pub(super) fn place(&mut self, place: &'p Place) -> Run<(BufferId, usize)> {
        let buffer = self.buffer(place.array);
        let mut linear = 0;
        for (dim, index) in place.index.iter().enumerate() {
            let index = self.long(index)?;
            let extent = self.memory.get(buffer).shape[dim];
            if index < 0 || index >= extent {
                let proved = dim >= 32 || place.unproved >> dim & 1 == 0;
                return self.fault_unless_proved(proved, FaultKind::Index, place.span, vec![index, extent, dim as i64]);
            }
            linear = linear * extent + index;
        }
        Ok((buffer, linear as usize))
    }

    /// Writes an element, or a field of one.
    pub(super) fn store(&mut self, at: (BufferId, usize), path: &[u32], value: Value) {
        let (buffer, index) = at;
        let data = &mut self.memory.get_mut(buffer).data;
        if path.is_empty() {
            data.set(index, value);
        } else {
            let mut element = data.get(index);
            element.set_field(path, value);
            data.set(index, element);
        }
    }

    /// Calls a scalar function.
    pub(super) fn scalar_call(&mut self, callee: ScalarFnId, args: Vec<Value>) -> Run<Value> {
        let program = self.program;
        let function = &program.scalar_fns[callee];
        let Some(body) = &function.body else {
            return match self.options.natives.get(&function.name) {
                Some(native) => Ok(native(&args)),
                None => Err(Box::new(Error::Native(function.name.clone()))),
            };
        };
        let mut frame = vec![Slot::Unset; function.vars.len()];
        for (param, arg) in function.params.iter().zip(args) {
            frame[param.index()] = Slot::Scalar(arg);
        }
        let outer_frame = std::mem::replace(&mut self.frame, frame);
        let outer_vars = std::mem::replace(&mut self.vars, &function.vars);
        let result = self.returned(body, function.result);
        (self.frame, self.vars) = (outer_frame, outer_vars);
        result
    }

    fn returned(&mut self, body: &'p Block, ty: Ty) -> Run<Value> {
        Ok(match self.block(body)? {
            Flow::Return(value) => value,
            Flow::Next | Flow::Break | Flow::Continue | Flow::Leave => self.zero(ty),
        })
    }
}

fn constant(value: Const, ty: Ty) -> Value {
    let scalar = ty.scalar().unwrap_or(Scalar::I64);
    match value {
        Const::Int(value) => Value::wrapping(scalar, value),
        Const::Float(value) => Value::saturating(scalar, value),
        Const::Bool(value) => Value::Bool(value),
    }
}
