//! Values of extent expressions, with at most one dimension still unknown.

use super::args::Arg;
use super::entry::{Op, SegmentBound};
use super::segments::{Facts, facts};

/// A dimension that nothing has bound yet.
pub(super) const UNBOUND: i64 = -1;

/// What an extent is as far as the bound dimensions tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// `scale * dimension + offset`; `scale` is 0 where no unbound dimension matters.
    Linear { scale: i128, offset: i128 },
    /// It depends on unbound dimensions in another way.
    Open,
    /// It overflows, divides by zero, or uses a scalar that does not fit a `long`.
    Undefined,
}

impl Extent {
    const fn known(value: i128) -> Self {
        Extent::Linear { scale: 0, offset: value }
    }
}

/// Evaluates postfix programs.
pub(super) struct Evaluator<'a> {
    pub(super) args: &'a [Arg<'a>],
    pub(super) dims: &'a [i64],
    /// The unbound dimension that was met.
    pub(super) unknown: Option<u16>,
}

impl Evaluator<'_> {
    pub(super) fn extent(&mut self, program: &[Op]) -> Extent {
        let mut rest = program;
        self.pop(&mut rest)
    }

    /// The value that the last step of `rest` computes; takes the steps it consists of away.
    fn pop(&mut self, rest: &mut &[Op]) -> Extent {
        let Some((&op, before)) = rest.split_last() else { return Extent::Undefined };
        *rest = before;
        match op {
            Op::Const(value) => Extent::known(value.into()),
            Op::Dim(number) => self.dim(number),
            Op::Scalar(number) => match self.args.get(usize::from(number)).and_then(|arg| arg.value) {
                Some(value) => Extent::known(value.into()),
                None => Extent::Undefined,
            },
            Op::Neg => apply(Op::Sub, Extent::known(0), self.pop(rest)),
            Op::InRange(low, high) => match self.pop(rest) {
                Extent::Linear { scale: 0, offset } if (low.into()..=high.into()).contains(&offset) => {
                    Extent::known(offset)
                }
                Extent::Linear { scale: 0, .. } | Extent::Undefined => Extent::Undefined,
                Extent::Linear { .. } | Extent::Open => Extent::Open,
            },
            Op::Longest(bounds) => self.segments(bounds, rest, |facts| facts.longest),
            Op::Balance(bounds) => self.segments(bounds, rest, |facts| facts.elements / facts.longest.max(1)),
            // Only measures have them, which look at them first.
            Op::Work | Op::Copied | Op::PerKib => Extent::Undefined,
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Rem
            | Op::Min
            | Op::Max
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Shl
            | Op::Shr => {
                let right = self.pop(rest);
                let left = self.pop(rest);
                apply(op, left, right)
            }
        }
    }

    fn segments(&mut self, bounds: &[SegmentBound; 2], rest: &mut &[Op], take: impl Fn(Facts) -> i64) -> Extent {
        let Extent::Linear { scale: 0, offset: count } = self.pop(rest) else { return Extent::Open };
        let facts = i64::try_from(count).ok().and_then(|count| facts(self.args, bounds, count));
        facts.map_or(Extent::Open, |facts| Extent::known(take(facts).into()))
    }

    fn dim(&mut self, number: u16) -> Extent {
        match self.dims.get(usize::from(number)) {
            None => Extent::Undefined,
            Some(&UNBOUND) if self.unknown.is_some_and(|unknown| unknown != number) => Extent::Open,
            Some(&UNBOUND) => {
                self.unknown = Some(number);
                Extent::Linear { scale: 1, offset: 0 }
            }
            Some(&value) => Extent::known(value.into()),
        }
    }
}

fn apply(op: Op, left: Extent, right: Extent) -> Extent {
    let (a, b) = match (left, right) {
        (Extent::Undefined, _) | (_, Extent::Undefined) => return Extent::Undefined,
        (Extent::Open, _) | (_, Extent::Open) => return Extent::Open,
        (Extent::Linear { scale: a, offset: b }, Extent::Linear { scale: c, offset: d }) => ((a, b), (c, d)),
    };
    let linear = |scale: Option<i128>, offset: Option<i128>| match (scale, offset) {
        (Some(scale), Some(offset)) if in_range(scale) && in_range(offset) => Extent::Linear { scale, offset },
        _ => Extent::Undefined,
    };
    match op {
        Op::Add => linear(a.0.checked_add(b.0), a.1.checked_add(b.1)),
        Op::Sub => linear(a.0.checked_sub(b.0), a.1.checked_sub(b.1)),
        Op::Mul if a.0 == 0 => linear(a.1.checked_mul(b.0), a.1.checked_mul(b.1)),
        Op::Mul if b.0 == 0 => linear(a.0.checked_mul(b.1), a.1.checked_mul(b.1)),
        _ if a.0 != 0 || b.0 != 0 => Extent::Open,
        Op::Div => linear(Some(0), a.1.checked_div(b.1)),
        Op::Rem => linear(Some(0), a.1.checked_rem(b.1)),
        Op::Min => linear(Some(0), Some(a.1.min(b.1))),
        Op::Max => linear(Some(0), Some(a.1.max(b.1))),
        Op::And => linear(Some(0), Some(a.1 & b.1)),
        Op::Or => linear(Some(0), Some(a.1 | b.1)),
        Op::Xor => linear(Some(0), Some(a.1 ^ b.1)),
        Op::Shl => linear(Some(0), shift_count(b.1).map(|count| a.1 << count)),
        Op::Shr => linear(Some(0), shift_count(b.1).map(|count| a.1 >> count)),
        Op::Mul
        | Op::Const(_)
        | Op::Dim(_)
        | Op::Scalar(_)
        | Op::Neg
        | Op::InRange(..)
        | Op::Longest(_)
        | Op::Balance(_)
        | Op::Work
        | Op::Copied
        | Op::PerKib => Extent::Open,
    }
}

fn shift_count(count: i128) -> Option<u32> {
    u32::try_from(count).ok().filter(|&count| count < i64::BITS)
}

/// The language computes extents as `long`.
fn in_range(value: i128) -> bool {
    i64::try_from(value).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(program: &[Op], dims: &[i64]) -> (Extent, Option<u16>) {
        let mut evaluator = Evaluator { args: &[], dims, unknown: None };
        let extent = evaluator.extent(program);
        (extent, evaluator.unknown)
    }

    #[test]
    fn operands_keep_their_order() {
        use Op::{And, Const, Dim, Div, InRange, Max, Min, Neg, Or, Rem, Shl, Shr, Sub, Xor};
        let known = |program: &[Op]| match value(program, &[17]).0 {
            Extent::Linear { scale: 0, offset } => offset,
            other => panic!("{other:?}"),
        };
        assert_eq!(known(&[Dim(0), Const(5), Sub]), 12);
        assert_eq!(known(&[Dim(0), Const(5), Div]), 3);
        assert_eq!(known(&[Dim(0), Const(5), Rem]), 2);
        assert_eq!(known(&[Dim(0), Const(5), Min]), 5);
        assert_eq!(known(&[Dim(0), Const(5), Max]), 17);
        assert_eq!(known(&[Dim(0), Neg]), -17);
        assert_eq!(known(&[Dim(0), Const(2), Shl]), 68);
        assert_eq!(known(&[Dim(0), Const(2), Shr]), 4);
        assert_eq!(known(&[Dim(0), Const(24), And]), 16);
        assert_eq!(known(&[Dim(0), Const(24), Or]), 25);
        assert_eq!(known(&[Dim(0), Const(24), Xor]), 9);
        assert_eq!(known(&[Dim(0), InRange(0, 17)]), 17);
    }

    #[test]
    fn unbound_dimensions_stay_linear() {
        use Op::{Add, Const, Dim, Mul};
        let program = [Const(2), Dim(0), Mul, Const(3), Add, Dim(1), Add];
        assert_eq!(value(&program, &[UNBOUND, 10]), (Extent::Linear { scale: 2, offset: 13 }, Some(0)));
        assert_eq!(value(&program, &[UNBOUND, UNBOUND]).0, Extent::Open);
        assert_eq!(value(&[Dim(0), Dim(0), Mul], &[UNBOUND]).0, Extent::Open);
    }

    #[test]
    fn what_a_long_cannot_hold_is_undefined() {
        use Op::{Add, Const, Dim, Div, InRange, Mul, Shl};
        assert_eq!(value(&[Dim(0), Const(1), Add], &[i64::MAX]).0, Extent::Undefined);
        assert_eq!(value(&[Dim(0), Dim(0), Mul], &[i64::MAX]).0, Extent::Undefined);
        assert_eq!(value(&[Const(1), Dim(0), Div], &[0]).0, Extent::Undefined);
        assert_eq!(value(&[Dim(0), Const(64), Shl], &[0]).0, Extent::Undefined);
        assert_eq!(value(&[Dim(0), InRange(0, 255)], &[256]).0, Extent::Undefined);
        assert_eq!(value(&[Dim(0), InRange(0, 255)], &[UNBOUND]).0, Extent::Open);
        assert_eq!(value(&[Add], &[]).0, Extent::Undefined);
    }
}
