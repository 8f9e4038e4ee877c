//! Folds: one step, and the accumulators of reductions.

use super::super::{FoldFn, FoldOp};
use super::{Machine, Run, Value, exact, ops};
use crate::par::FaultKind;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Scalar;

/// A reduction under way: partial results with the logarithm of the number of values in them, in decreasing order.
/// Strict folds keep one.
#[derive(Clone, Debug, Default)]
pub(super) struct Accumulator {
    parts: Vec<(u32, Value)>,
}

/// Whether a fold may combine neighbours pairwise.
fn pairwise(op: &FoldOp) -> bool {
    let float = op.ty.scalar().is_some_and(Scalar::is_float);
    float && !op.ordered && matches!(op.func, FoldFn::Add | FoldFn::Mul)
}

/// What a value counts as: the least and the greatest pass over NaN, so that of NaN alone they are what they are of nothing.
fn counted(op: &FoldOp, value: Value) -> Value {
    let nothing = match op.func {
        FoldFn::Min => f64::INFINITY,
        FoldFn::Max => f64::NEG_INFINITY,
        FoldFn::Add | FoldFn::Mul | FoldFn::And | FoldFn::Or | FoldFn::Xor | FoldFn::Fn(_) => return value,
    };
    match value {
        Value::F32(number) if number.is_nan() => Value::F32(nothing as f32),
        Value::F64(number) if number.is_nan() => Value::F64(nothing),
        other => other,
    }
}

impl<'p> Machine<'p> {
    /// `left op right`
    pub(super) fn fold_step(&mut self, op: &FoldOp, left: Value, right: Value) -> Run<Value> {
        match op.func {
            FoldFn::Fn(function) => self.scalar_call(function, vec![left, right]),
            FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => {
                self.rounded |= exact::fold_step(op.func, &left, &right);
                Ok(ops::fold_step(op.func, &left, &right))
            }
        }
    }

    /// Adds a value to a reduction.
    pub(super) fn accumulate(&mut self, op: &FoldOp, into: &mut Accumulator, value: Value) -> Run<()> {
        let mut part = (0, counted(op, value));
        let pairwise = pairwise(op);
        while let Some((level, _)) = into.parts.last()
            && (!pairwise || *level == part.0)
        {
            let level = part.0 + 1;
            if let Some((_, left)) = into.parts.pop() {
                part = (level, self.fold_step(op, left, part.1)?);
            }
        }
        into.parts.push(part);
        Ok(())
    }

    /// The result of a reduction.
    pub(super) fn finish(&mut self, op: &'p FoldOp, mut from: Accumulator, span: Span) -> Run<Value> {
        let Some((_, mut result)) = from.parts.pop() else { return self.neutral(op, span) };
        while let Some((_, left)) = from.parts.pop() {
            result = self.fold_step(op, left, result)?;
        }
        Ok(result)
    }

    /// The result of an empty fold.
    pub(super) fn neutral(&mut self, op: &'p FoldOp, span: Span) -> Run<Value> {
        match &op.neutral {
            Some(neutral) => self.eval(neutral),
            None => self.fault(FaultKind::EmptyFold, span, vec![]),
        }
    }

    /// Inclusive or exclusive prefixes, strictly from left to right.
    pub(super) fn prefixes(
        &mut self,
        op: &'p FoldOp,
        values: Vec<Value>,
        inclusive: bool,
        span: Span,
    ) -> Run<Vec<Value>> {
        let mut results = Vec::with_capacity(values.len());
        let mut so_far: Option<Value> = None;
        for value in values {
            let value = counted(op, value);
            if !inclusive {
                results.push(match &so_far {
                    Some(value) => value.clone(),
                    None => self.neutral(op, span)?,
                });
            }
            let next = match so_far {
                Some(left) => self.fold_step(op, left, value)?,
                None => value,
            };
            if inclusive {
                results.push(next.clone());
            }
            so_far = Some(next);
        }
        Ok(results)
    }
}
