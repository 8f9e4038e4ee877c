//! Lengths of segments whose bounds are arguments, if they are cheap to compute.

use super::args::Arg;
use super::entry::{Elem, SegmentBound};

/// Segments that are looked at, at most, and elements that they have on average and together, at least: looking takes a small
/// part of the time of a call that uses them.
const MOST_SEGMENTS: i64 = 4096;
const LEAST_MEAN: i64 = 32;
const LEAST_ELEMENTS: i64 = 1 << 16;

/// Of all segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) elements: i64,
    pub(super) longest: i64,
}

/// A vector of bounds.
#[derive(Clone, Copy)]
enum Vector<'a> {
    Int(&'a [i32]),
    Long(&'a [i64]),
}

impl Vector<'_> {
    fn at(self, index: usize) -> i64 {
        match self {
            Vector::Int(values) => values[index].into(),
            Vector::Long(values) => values[index],
        }
    }
}

/// Nothing where it costs too much to know, or the bounds are not where they should be.
pub(super) fn facts(args: &[Arg<'_>], bounds: &[SegmentBound; 2], count: i64) -> Option<Facts> {
    if !(1..=MOST_SEGMENTS).contains(&count) {
        return None;
    }
    let [low, high] = [vector(args, &bounds[0], count)?, vector(args, &bounds[1], count)?];
    let count = usize::try_from(count).ok()?;
    let about = high.at(count - 1).checked_sub(low.at(0))?;
    if about < LEAST_ELEMENTS || about / LEAST_MEAN < count as i64 {
        return None;
    }
    let mut facts = Facts::default();
    for at in 0..count {
        // Segments that make no sense are the kernel's business.
        let length = high.at(at).saturating_sub(low.at(at)).max(0);
        facts.elements = facts.elements.saturating_add(length);
        facts.longest = facts.longest.max(length);
    }
    Some(facts)
}

/// `count` elements of an argument from the bound's offset on.
fn vector<'a>(args: &[Arg<'a>], bound: &SegmentBound, count: i64) -> Option<Vector<'a>> {
    let arg = args.get(usize::from(bound.param))?;
    let &[length] = arg.shape else { return None };
    let (first, count) = (usize::try_from(bound.offset).ok()?, usize::try_from(count).ok()?);
    let fits = first.checked_add(count).is_some_and(|past| past <= length);
    // What is on a device stays there: to look would cost more than to guess.
    if !fits || arg.away.is_some() || arg.address.is_null() {
        return None;
    }
    // SAFETY: `elem` is the type of the parameter's elements, of which the argument has `length`; they are borrowed for `'a`, and
    // nothing writes them before the kernel runs.
    unsafe {
        match bound.elem {
            Elem::I32 => Some(Vector::Int(std::slice::from_raw_parts(arg.address.cast::<i32>().add(first), count))),
            Elem::I64 => Some(Vector::Long(std::slice::from_raw_parts(arg.address.cast::<i64>().add(first), count))),
            Elem::I8
            | Elem::U8
            | Elem::I16
            | Elem::U16
            | Elem::U32
            | Elem::U64
            | Elem::F32
            | Elem::F64
            | Elem::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::{AXPY, World, cuda};
    use crate::rt::Array;
    use crate::{Context, DeviceArray, View};

    fn facts_of(bounds: &impl View<i64, 1>) -> Option<Facts> {
        let bounds = Array::input(&AXPY, 1, bounds).unwrap();
        let bound = |offset| SegmentBound { param: 0, elem: Elem::I64, offset };
        facts(&[bounds.arg()], &[bound(0), bound(1)], 2)
    }

    #[test]
    fn bounds_on_a_device_are_not_looked_at() {
        let bounds = [0, 1 << 20, 3 << 20];
        let known = Some(Facts { elements: 3 << 20, longest: 2 << 20 });
        let cpu = Context::builder().cpu().build().unwrap();
        assert_eq!(facts_of(&bounds), known);
        assert_eq!(facts_of(&DeviceArray::from_host(&cpu, &bounds).unwrap()), known);
        assert_eq!(facts_of(&DeviceArray::from_host(&cuda(&World::default()), &bounds).unwrap()), None);
    }
}
