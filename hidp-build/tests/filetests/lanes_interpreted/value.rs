//! Expressions, of scalars and of all lanes.

use std::rc::Rc;

use hidp_build::compiler::ir::imp::{Expr, ExprKind, Wide, WideElement, WideKind};
use hidp_build::compiler::ir::par::BinOp;
use hidp_build::compiler::ir::par::interp::{self, Value, binary, cast, unary};
use hidp_build::compiler::ty::Ty;

use super::machine::{Machine, Run, Slot, Stop, field_of, garbage, integer, truth};

fn combined(op: BinOp, left: &Value, right: &Value) -> Run<Value> {
    binary(op, left, right).map_err(|fault| Stop::Wrong(format!("{op:?} of {left:?} and {right:?}: {fault:?}")))
}

/// As one operation, where values are floating.
fn mul_add(a: &Value, b: &Value, c: &Value) -> Run<Value> {
    Ok(match (a, b, c) {
        (Value::F32(a), Value::F32(b), Value::F32(c)) => Value::F32(a.mul_add(*b, *c)),
        (Value::F64(a), Value::F64(b), Value::F64(c)) => Value::F64(a.mul_add(*b, *c)),
        _ => combined(BinOp::Add, &combined(BinOp::Mul, a, b)?, c)?,
    })
}

fn converted(value: &Value, to: Ty) -> Value {
    to.scalar().map_or_else(|| value.clone(), |to| cast(value, to))
}

fn constant(value: i128, ty: Ty) -> Value {
    converted(&if value > i64::MAX.into() { Value::U64(value as u64) } else { Value::I64(value as i64) }, ty)
}

impl Machine<'_> {
    pub(super) fn long(&self, node: &Expr) -> Run<i64> {
        self.eval(node).map(|value| integer(&value))
    }

    pub(super) fn eval(&self, node: &Expr) -> Run<Value> {
        Ok(match &node.kind {
            ExprKind::Int(value) => constant(*value, node.ty),
            ExprKind::Float(value) => converted(&Value::F64(*value), node.ty),
            ExprKind::Bool(value) => Value::Bool(*value),
            ExprKind::Var(var) => match self.slot(*var)? {
                Slot::Value(value) => value.clone(),
                Slot::Buffer(..) | Slot::Wide(_) | Slot::Tile(_) => {
                    return Err(Stop::Wrong(format!("{var:?} is no value")));
                }
            },
            ExprKind::Load(element) => {
                let index = self.long(&element.index)?;
                field_of(&self.load_at(element.base, index)?, &element.path)
            }
            ExprKind::Unary(op, a) => unary(*op, &self.eval(a)?),
            ExprKind::Binary(op, a, b) => combined(*op, &self.eval(a)?, &self.eval(b)?)?,
            ExprKind::MulAdd(a, b, c) => mul_add(&self.eval(a)?, &self.eval(b)?, &self.eval(c)?)?,
            ExprKind::Lazy(and, a, b) => {
                let left = self.eval(a)?;
                if truth(&left) == *and { self.eval(b)? } else { left }
            }
            ExprKind::Select(c, a, b) => self.eval(if truth(&self.eval(c)?) { a } else { b })?,
            ExprKind::Cast(a) => converted(&self.eval(a)?, node.ty),
            ExprKind::Math(function, args) => {
                interp::math(*function, &args.iter().map(|arg| self.eval(arg)).collect::<Run<Vec<_>>>()?)
            }
            ExprKind::Gather(load, _) => self.eval(load)?,
            ExprKind::Field(of, field) => field_of(&self.eval(of)?, &[*field]),
            ExprKind::Struct(_, fields) => {
                Value::Struct(Rc::new(fields.iter().map(|field| self.eval(field)).collect::<Run<Vec<_>>>()?))
            }
            ExprKind::WorkerIndex => Value::I64(0),
            ExprKind::WorkerCount => Value::I64(1),
            ExprKind::Any(mask) => Value::Bool(self.lanes_of(*mask)?.iter().any(truth)),
            ExprKind::Least { of, mask } => {
                let (values, mask) = (self.lanes_of(*of)?, self.lanes_of(*mask)?);
                let inside = values.iter().zip(mask.iter()).filter(|(_, inside)| truth(inside));
                Value::I64(inside.map(|(value, _)| integer(value)).min().unwrap_or(i64::MIN))
            }
            ExprKind::LaneCount(_) => Value::I64(self.count as i64),
            // As many as any rule asks for, so that groups of all sizes are run.
            ExprKind::VectorRegisters => Value::I64(32),
            ExprKind::Call(..) => return Err(Stop::Unknown("functions")),
            ExprKind::Near(..) => return Err(Stop::Unknown("angles that are likely small")),
            ExprKind::GroupCount(_) | ExprKind::IsAligned(..) | ExprKind::Broadcast(..) | ExprKind::AbsDiffAdd(..) => {
                return Err(Stop::Unknown("units for devices"));
            }
        })
    }

    fn each(&self, operands: &[&Wide], of: impl Fn(&[&Value]) -> Run<Value>) -> Run<Vec<Value>> {
        let operands = operands.iter().map(|operand| self.wide(operand)).collect::<Run<Vec<_>>>()?;
        let lane = |lane: usize| of(&operands.iter().map(|operand| &operand[lane]).collect::<Vec<_>>());
        (0..self.count).map(lane).collect()
    }

    /// The value in each lane.
    pub(super) fn wide(&self, wide: &Wide) -> Run<Vec<Value>> {
        match &wide.kind {
            WideKind::Splat(of) => Ok(vec![self.eval(of)?; self.count]),
            WideKind::Iota(first) => {
                let first = self.long(first)?;
                Ok((0..self.count as i64).map(|lane| Value::I64(first.wrapping_add(lane))).collect())
            }
            WideKind::Var(var) => self.lanes_of(*var),
            WideKind::Load(element) => self.load_lanes(element),
            WideKind::Unary(op, a) => self.each(&[a], |of| Ok(unary(*op, of[0]))),
            WideKind::Binary(op, a, b) => self.each(&[a, b], |of| combined(*op, of[0], of[1])),
            WideKind::MulAdd(a, b, c) => self.each(&[a, b, c], |of| mul_add(of[0], of[1], of[2])),
            WideKind::Select(c, a, b) => self.each(&[c, a, b], |of| Ok(of[if truth(of[0]) { 1 } else { 2 }].clone())),
            WideKind::Cast(a) => self.each(&[a], |of| Ok(cast(of[0], wide.ty))),
            WideKind::Math(function, args) => {
                let args: Vec<&Wide> = args.iter().collect();
                self.each(&args, |of| {
                    Ok(interp::math(*function, &of.iter().map(|&value| value.clone()).collect::<Vec<_>>()))
                })
            }
            WideKind::Call(_) => Err(Stop::Unknown("functions")),
        }
    }

    /// What lanes load; garbage in those that do not.
    fn load_lanes(&self, element: &WideElement) -> Run<Vec<Value>> {
        let (places, whose) = (self.places(element)?, self.mask(element.mask)?);
        let none = garbage(self.program, self.kind(element.base).element());
        let own = match self.slot(element.base)? {
            Slot::Tile(elements) => Some(elements),
            Slot::Value(_) | Slot::Buffer(..) | Slot::Wide(_) => None,
        };
        let load = |(lane, (at, takes)): (usize, (i64, bool))| match own {
            _ if !takes => Ok(field_of(&none, &element.path)),
            Some(elements) => {
                let element = usize::try_from(at).ok().and_then(|at| elements.get(at));
                let count = elements.len();
                element
                    .map(|element| element[lane].clone())
                    .ok_or_else(|| Stop::Wrong(format!("element {at} of {count} is loaded by lane {lane}")))
            }
            None => Ok(field_of(&self.load_at(element.base, at)?, &element.path)),
        };
        places.into_iter().zip(whose).enumerate().map(load).collect()
    }
}
