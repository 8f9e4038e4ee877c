//! Values of expressions in each lane.

use super::atoms::{Facts, Range};
use super::claim::{self, Reason};
use super::lanes::{LANES, Value};
use super::poly::Poly;
use super::walk::Walk;
use super::{Action, is_integer, is_unsigned};
use hidp_ir::imp::{Expr, ExprKind, VarId, visit};
use hidp_ir::par::{BinOp, MathFn, UnOp};

impl Walk<'_> {
    pub(super) fn eval(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Int(value) => i64::try_from(*value).map_or(Value::Unknown, Value::known),
            ExprKind::Var(var) => self.value_of(*var),
            ExprKind::Load(element) => {
                let value = self.access(element, Action::Load, 1);
                self.opaque(expr, &[value])
            }
            ExprKind::Unary(UnOp::Neg, operand) if is_integer(expr.ty) => {
                let operand = self.eval(operand);
                Value::known(0).minus(&operand)
            }
            ExprKind::Binary(op, left, right) => {
                let (first, second) = (self.eval(left), self.eval(right));
                if is_integer(left.ty) {
                    self.arithmetic(expr, *op, &first, &second)
                } else {
                    self.opaque(expr, &[first, second])
                }
            }
            ExprKind::Cast(operand) => {
                let value = self.eval(operand);
                if !is_integer(expr.ty) || !is_integer(operand.ty) {
                    return self.opaque(expr, &[value]);
                }
                // What is below 0 becomes another number.
                let is_one = value.lanes().is_some_and(|lanes| self.atoms.in_one_part(&lanes, 0));
                value.doubted((is_unsigned(expr.ty) && !is_one).then_some(Reason::Bound))
            }
            ExprKind::Math(which @ (MathFn::Min | MathFn::Max), operands) => {
                let values: Vec<Value> = operands.iter().map(|operand| self.eval(operand)).collect();
                self.bounded(expr, &values, *which == MathFn::Min)
            }
            ExprKind::Select(cond, then, otherwise) => {
                let cond = self.eval(cond);
                // Lanes evaluate what they choose.
                let values = [then, otherwise].map(|chosen| self.where_chosen(&cond, chosen));
                if values[0] == values[1] {
                    values[0].clone()
                } else if cond.is_surely_uniform() && values.iter().all(Value::is_surely_uniform) {
                    self.one_of(expr, &values, Range::or)
                } else {
                    self.clamped(expr, &values).doubted(Some(Reason::Choice))
                }
            }
            ExprKind::Lazy(_, first, second) => {
                let first = self.eval(first);
                let second = self.where_chosen(&first, second);
                self.opaque(expr, &[first, second])
            }
            ExprKind::Broadcast(group, inner) => {
                let width = self.width(*group);
                let mut value = Value::Unknown;
                self.among(|lane| lane % width == 0, |this| value = this.eval(inner));
                if width == LANES { self.opaque(expr, &[]) } else { self.opaque(expr, &[value]) }
            }
            ExprKind::WorkerIndex => {
                let width = self.width(self.grid.level);
                let base = self.atoms.atom("group", "group", Facts::multiple_of((LANES / width) as i64));
                Value::spread(&base, |lane| Poly::constant((lane / width) as i64))
            }
            ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Unary(..)
            | ExprKind::MulAdd(..)
            | ExprKind::AbsDiffAdd(..)
            | ExprKind::Gather(..)
            | ExprKind::Math(..)
            | ExprKind::Near(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..)
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::IsAligned(..)
            | ExprKind::Any(_)
            | ExprKind::Least { .. }
            | ExprKind::LaneCount(_)
            | ExprKind::VectorRegisters => {
                let values: Vec<Value> = visit::operands(expr).into_iter().map(|operand| self.eval(operand)).collect();
                self.opaque(expr, &values)
            }
        }
    }

    fn where_chosen(&mut self, cond: &Value, expr: &Expr) -> Value {
        let around = self.apart;
        if !cond.is_surely_uniform() {
            self.apart = around.or(Some(Reason::Branch));
        }
        let value = self.eval(expr);
        self.apart = around;
        value
    }

    fn value_of(&mut self, var: VarId) -> Value {
        match self.values.get(&var) {
            Some(value) => value.clone(),
            None => Value::uniform(self.own_atom(var)),
        }
    }

    fn arithmetic(&mut self, expr: &Expr, op: BinOp, left: &Value, right: &Value) -> Value {
        let known = match right {
            Value::Uniform(right, None) => right.known().filter(|right| *right > 0),
            Value::Uniform(..) | Value::Lanes(..) | Value::Unknown => None,
        };
        match op {
            BinOp::Add => left.plus(right),
            BinOp::Sub => left.minus(right),
            BinOp::Mul => left.times(right),
            BinOp::Div => match known {
                Some(divisor) => left.over(divisor, &mut self.atoms),
                None => self.quotient(expr, left, right),
            },
            BinOp::Rem => match known {
                Some(divisor) => left.modulo(divisor, &mut self.atoms),
                None => match self.quotient(expr, left, right) {
                    Value::Unknown => Value::Unknown,
                    turns => left.minus(&turns.times(right)),
                },
            },
            BinOp::Lt | BinOp::Ge => self.compared(expr, &left.minus(right), &[left, right]),
            BinOp::Gt | BinOp::Le => self.compared(expr, &right.minus(left), &[left, right]),
            BinOp::And => {
                let mask = match right {
                    Value::Uniform(right, None) => right.known(),
                    Value::Uniform(..) | Value::Lanes(..) | Value::Unknown => None,
                };
                if let Some(mask) = mask.filter(|mask| *mask > 0 && *mask < i64::MAX && (mask + 1).count_ones() == 1) {
                    return left.modulo(mask + 1, &mut self.atoms);
                }
                // All bits but the lowest.
                let facts = match (mask.filter(|mask| *mask < 0), left) {
                    (Some(mask), Value::Uniform(left, None)) => {
                        let high = self.atoms.range(left).high.map(|high| high & mask);
                        let low = self.atoms.range(left).low.map(|low| low & mask);
                        Facts { step: claim::gcd(mask, 1 << 30), range: Range { low, high } }
                    }
                    _ => Facts::NONE,
                };
                self.opaque_with(expr, &[left.clone(), right.clone()], facts)
            }
            BinOp::Shl | BinOp::Shr | BinOp::Or | BinOp::Xor | BinOp::Eq | BinOp::Ne => {
                self.opaque(expr, &[left.clone(), right.clone()])
            }
        }
    }

    /// The quotient by what is the same in all lanes: rows are taken to be no shorter than a warp.
    fn quotient(&mut self, expr: &Expr, left: &Value, right: &Value) -> Value {
        let (Some(lanes), Value::Uniform(divisor, doubt)) = (left.lanes(), right) else {
            return self.opaque(expr, &[left.clone(), right.clone()]);
        };
        let step = self.atoms.step(divisor);
        let same = step != 0 && self.atoms.in_one_part(&lanes, step);
        let doubt = left.doubt().or(*doubt).or((!same).then_some(Reason::Quotient));
        let range = match self.atoms.range(divisor).both() {
            Some((low, high)) if low == high && low > 0 => {
                lanes.iter().map(|lane| self.atoms.range(lane).over(low)).reduce(Range::or).unwrap_or(Range::ALL)
            }
            _ => Range::ALL,
        };
        self.opaque_with(expr, &[], Facts { step: 1, range }).doubted(doubt)
    }

    /// Whether a difference is below zero: the same in all lanes if they are on one side.
    fn compared(&mut self, expr: &Expr, difference: &Value, of: &[&Value; 2]) -> Value {
        let same =
            difference.doubt().is_none() && difference.lanes().is_some_and(|lanes| self.atoms.in_one_part(&lanes, 0));
        if same { self.opaque(expr, &[]) } else { self.opaque(expr, &of.map(Value::clone)) }
    }

    /// The smaller or larger one: taken for the one that lanes differ in, in doubt where it may not always be that.
    fn bounded(&mut self, expr: &Expr, values: &[Value], smaller: bool) -> Value {
        if values.iter().all(Value::is_surely_uniform) {
            return self.one_of(expr, values, |own, other| {
                let (low, high): (fn(_, _) -> _, fn(_, _) -> _) =
                    if smaller { (every, any_min) } else { (any_max, every_max) };
                Range { low: low(own.low, other.low), high: high(own.high, other.high) }
            });
        }
        let [left, right] = values else { return self.clamped(expr, values).doubted(Some(Reason::Bound)) };
        let (kept, bound) = if left.is_uniform() { (right, left) } else { (left, right) };
        let difference = if smaller { kept.minus(bound) } else { bound.minus(kept) };
        let inside = |lane: &Poly| self.atoms.range(lane).high.is_some_and(|high| high <= 0);
        let inside = difference.lanes().is_some_and(|lanes| lanes.iter().all(inside));
        self.clamped(expr, values).doubted((!inside).then_some(Reason::Bound))
    }

    /// The one of several values that lanes differ in.
    fn clamped(&mut self, expr: &Expr, values: &[Value]) -> Value {
        let mut lanes = values.iter().filter(|value| !value.is_uniform());
        match (lanes.next(), lanes.next()) {
            (Some(only), None) => only.clone(),
            _ => self.opaque(expr, values),
        }
    }

    /// One of several values that all lanes have: what all of them are multiples of, it is a multiple of.
    fn one_of(&mut self, expr: &Expr, values: &[Value], join: impl Fn(Range, Range) -> Range) -> Value {
        let facts = values.iter().map(|value| match value {
            Value::Uniform(value, None) => Facts { step: self.atoms.step(value), range: self.atoms.range(value) },
            Value::Uniform(..) | Value::Lanes(..) | Value::Unknown => Facts::NONE,
        });
        let facts = facts
            .reduce(|own, other| Facts { step: claim::gcd(own.step, other.step), range: join(own.range, other.range) });
        let facts = facts.unwrap_or(Facts::NONE);
        self.opaque_with(expr, values, Facts { step: facts.step.max(1), ..facts })
    }

    /// Something that is not looked into: the same in all lanes if all that it is made of is.
    fn opaque(&mut self, expr: &Expr, of: &[Value]) -> Value {
        self.opaque_with(expr, of, Facts::NONE)
    }

    fn opaque_with(&mut self, expr: &Expr, of: &[Value], facts: Facts) -> Value {
        if of.iter().all(Value::is_uniform) {
            let key = format!("{} {:?}", self.scope, expr.kind);
            let doubt = of.iter().find_map(Value::doubt);
            Value::Uniform(self.atoms.atom(&key, &self.name(expr), facts), doubt)
        } else {
            Value::Unknown
        }
    }

    /// A short name for readers.
    fn name(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Load(element) => format!("{}[…]", self.function.vars[element.base].name),
            ExprKind::Broadcast(_, inner) => self.name(inner),
            _ => "…".to_owned(),
        }
    }
}

/// The smaller of two numbers, if both are known; if one is.
fn every(own: Option<i64>, other: Option<i64>) -> Option<i64> {
    Some(own?.min(other?))
}

fn any_min(own: Option<i64>, other: Option<i64>) -> Option<i64> {
    own.into_iter().chain(other).min()
}

/// The larger of two numbers, if both are known; if one is.
fn every_max(own: Option<i64>, other: Option<i64>) -> Option<i64> {
    Some(own?.max(other?))
}

fn any_max(own: Option<i64>, other: Option<i64>) -> Option<i64> {
    own.into_iter().chain(other).max()
}
