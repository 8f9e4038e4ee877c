//! Values of an entry's measures for a call, computed on demand.

use super::args::Arg;
use super::entry::{Entry, MOST_MEASURES, Measure, Op};
use super::extent::{Evaluator, Extent};
use super::on_queue::copies;

/// The value of a measure of which nothing is known.
const UNKNOWN: i64 = -1;

/// What is known of a call.
pub(super) struct Values<'a> {
    entry: &'static Entry,
    args: &'a [Arg<'a>],
    dims: &'a [i64],
    found: [i64; MOST_MEASURES],
}

impl<'a> Values<'a> {
    /// Nothing is looked at yet.
    pub(super) fn new(entry: &'static Entry, args: &'a [Arg<'a>], dims: &'a [i64]) -> Self {
        Self { entry, args, dims, found: [UNKNOWN; MOST_MEASURES] }
    }
    /// Finds what shapes alone tell; the rest is looked at where a rule asks for it.
    pub(super) fn look_at_shapes(&mut self) {
        for (at, measure) in self.entry.dispatch.measures.iter().enumerate().take(MOST_MEASURES) {
            if !is_costly(measure) && !is_for_devices(measure) {
                self.found[at] = self.of(measure);
            }
        }
    }
    /// The value of measure number `at`, if there is one.
    pub(super) fn get(&mut self, at: usize) -> Option<i64> {
        let measure = self.entry.dispatch.measures.get(at)?;
        if *self.found.get(at)? == UNKNOWN && (is_costly(measure) || is_for_devices(measure)) {
            self.found[at] = self.of(measure);
        }
        (self.found[at] != UNKNOWN).then_some(self.found[at])
    }
    /// All that was found so far; -1 for the others.
    pub(super) fn found(&self) -> [i64; MOST_MEASURES] {
        self.found
    }

    fn of(&self, measure: &Measure) -> i64 {
        match measure.program.split_last() {
            Some((Op::Copied, [])) => self.copied(),
            Some((Op::Work, work)) => self.program(work),
            Some((Op::PerKib, work)) => match (self.program(work), self.copied()) {
                (UNKNOWN, _) => UNKNOWN,
                (work, copied) => work.saturating_mul(1024) / copied.max(1),
            },
            Some(_) | None => self.program(measure.program),
        }
    }
    fn copied(&self) -> i64 {
        let copies = copies(self.entry, self.args);
        i64::try_from(copies.bytes_to_device.saturating_add(copies.bytes_to_host)).unwrap_or(i64::MAX)
    }
    fn program(&self, program: &[Op]) -> i64 {
        match quick(program, self.dims) {
            Some(value) => value.max(0),
            None => match (Evaluator { args: self.args, dims: self.dims, unknown: None }).extent(program) {
                Extent::Linear { scale: 0, offset } => i64::try_from(offset).map_or(UNKNOWN, |value| value.max(0)),
                Extent::Linear { .. } | Extent::Open | Extent::Undefined => UNKNOWN,
            },
        }
    }
}

/// Whether a measure looks at arrays.
fn is_costly(measure: &Measure) -> bool {
    matches!(measure.program.last(), Some(Op::Longest(_) | Op::Balance(_)))
}

/// Whether a measure is for contexts that have a device.
pub(crate) fn is_for_devices(measure: &Measure) -> bool {
    matches!(measure.program.last(), Some(Op::Work | Op::Copied | Op::PerKib))
}

/// Values of the entry's measures, of those for devices too if they are wanted; -1 for those that the arguments do not give.
#[cfg(feature = "tune")]
pub(crate) fn measure(
    entry: &'static Entry,
    args: &[Arg<'_>],
    dims: &[i64],
    for_devices: bool,
) -> [i64; MOST_MEASURES] {
    let mut values = Values::new(entry, args, dims);
    values.look_at_shapes();
    for (at, measure) in entry.dispatch.measures.iter().enumerate() {
        if for_devices || !is_for_devices(measure) {
            values.get(at);
        }
    }
    values.found
}

/// What the evaluator gives, at once for the usual programs: products, quotients and sums of dimensions.
fn quick(program: &[Op], dims: &[i64]) -> Option<i64> {
    let mut stack = [0_i64; 4];
    let mut height = 0_usize;
    for &op in program {
        let operands = height.checked_sub(2).map(|below| (stack[below], stack[below + 1]));
        let value = match (op, operands) {
            (Op::Const(value), _) => value,
            (Op::Dim(number), _) => *dims.get(usize::from(number))?,
            (Op::Add, Some((a, b))) => a.checked_add(b)?,
            (Op::Sub, Some((a, b))) => a.checked_sub(b)?,
            (Op::Mul, Some((a, b))) => a.checked_mul(b)?,
            (Op::Div, Some((a, b))) => a.checked_div(b)?,
            _ => return None,
        };
        height -= if matches!(op, Op::Const(_) | Op::Dim(_)) { 0 } else { 2 };
        *stack.get_mut(height)? = value;
        height += 1;
    }
    (height == 1).then_some(stack[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_way_agrees_with_the_evaluator() {
        use Op::{Add, Const, Dim, Div, Max, Mul, Sub};
        let dims = [7, 3, 0, i64::MAX];
        let programs: [&[Op]; 9] = [
            &[Dim(0)],
            &[Dim(0), Dim(1), Mul],
            &[Dim(0), Dim(1), Sub, Const(2), Div, Dim(1), Add],
            &[Const(1), Dim(0), Dim(1), Const(5), Const(6), Add, Add, Add, Add],
            &[Dim(0), Dim(2), Div],
            &[Dim(3), Const(1), Add],
            &[Dim(0), Dim(1), Max],
            &[Dim(0), Dim(1)],
            &[],
        ];
        for program in programs {
            let whole = match (Evaluator { args: &[], dims: &dims, unknown: None }).extent(program) {
                Extent::Linear { scale: 0, offset } => i64::try_from(offset).ok(),
                Extent::Linear { .. } | Extent::Open | Extent::Undefined => None,
            };
            assert!(quick(program, &dims).is_none_or(|value| Some(value) == whole), "{program:?}");
        }
        assert_eq!(quick(&[Dim(0), Dim(1), Mul], &dims), Some(21));
        assert_eq!(quick(&[Dim(0), Dim(1), Sub], &dims), Some(4));
        assert_eq!(quick(&[Dim(0), Dim(1)], &dims), None);
    }
}
