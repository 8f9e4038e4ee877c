//! Values of extent expressions, with at most one dimension still unknown.

use super::args::Arg;
use super::entry::Op;

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
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem | Op::Min | Op::Max => {
                let right = self.pop(rest);
                let left = self.pop(rest);
                apply(op, left, right)
            }
        }
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
        Op::Mul | Op::Const(_) | Op::Dim(_) | Op::Scalar(_) | Op::Neg => Extent::Open,
    }
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
        use Op::{Const, Dim, Div, Max, Min, Neg, Rem, Sub};
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
        use Op::{Add, Const, Dim, Div, Mul};
        assert_eq!(value(&[Dim(0), Const(1), Add], &[i64::MAX]).0, Extent::Undefined);
        assert_eq!(value(&[Dim(0), Dim(0), Mul], &[i64::MAX]).0, Extent::Undefined);
        assert_eq!(value(&[Const(1), Dim(0), Div], &[0]).0, Extent::Undefined);
        assert_eq!(value(&[Add], &[]).0, Extent::Undefined);
    }
}
