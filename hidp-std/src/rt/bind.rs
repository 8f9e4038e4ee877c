//! From the shapes of the arguments to the values of the dimension names.

use super::args::Arg;
use super::entry::{Entry, Op};
use super::extent::{Evaluator, Extent, UNBOUND};
use crate::{ArrayText, Binding, Error};

/// Binds every dimension of `entry` and checks every extent.
pub(super) fn bind(entry: &'static Entry, args: &[Arg<'_>], dims: &mut [i64]) -> Result<(), Error> {
    let binder = Binder { entry, args };
    dims.fill(UNBOUND);
    binder.names(dims)?;
    if dims.contains(&UNBOUND) {
        binder.solve(dims)?;
    }
    binder.check(dims)
}

/// One extent of one array argument.
#[derive(Clone, Copy)]
struct Place {
    param: usize,
    axis: usize,
    program: &'static [Op],
    size: i64,
}

struct Binder<'a> {
    entry: &'static Entry,
    args: &'a [Arg<'a>],
}

impl Binder<'_> {
    fn places(&self) -> impl Iterator<Item = Place> {
        let params = self.entry.params.iter().zip(self.args).enumerate();
        params.flat_map(|(param, (row, arg))| {
            row.shape.iter().zip(arg.shape).enumerate().map(move |(axis, (&program, &size))| {
                // No array has more elements than an `isize` counts.
                Place { param, axis, program, size: i64::try_from(size).unwrap_or(i64::MAX) }
            })
        })
    }

    /// Extents that are just a name bind it; all that carry it agree.
    fn names(&self, dims: &mut [i64]) -> Result<(), Error> {
        for place in self.places() {
            let &[Op::Dim(number)] = place.program else { continue };
            match dims.get_mut(usize::from(number)) {
                Some(bound) if *bound == UNBOUND => *bound = place.size,
                Some(bound) if *bound != place.size => return Err(self.mismatch(number, *bound, place)),
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// Names that stand only in expressions take the value that their array's size asks for.
    fn solve(&self, dims: &mut [i64]) -> Result<(), Error> {
        loop {
            let mut progress = false;
            for place in self.places() {
                let mut evaluator = Evaluator { args: self.args, dims, unknown: None };
                let extent = evaluator.extent(place.program);
                let (Extent::Linear { scale, offset }, Some(number)) = (extent, evaluator.unknown) else { continue };
                if scale != 0 {
                    dims[usize::from(number)] = self.solution(number, scale, offset, place)?;
                    progress = true;
                }
            }
            if !progress {
                break;
            }
        }
        match dims.iter().position(|&value| value == UNBOUND) {
            None => Ok(()),
            Some(number) => Err(self.unsolvable(number as u16, self.first_with(number as u16))),
        }
    }

    fn solution(&self, number: u16, scale: i128, offset: i128, place: Place) -> Result<i64, Error> {
        let rest = i128::from(place.size) - offset;
        if rest % scale != 0 {
            return Err(self.unsolvable(number, Some(place)));
        }
        match i64::try_from(rest / scale) {
            Ok(value) if value >= 0 => Ok(value),
            Ok(value) => Err(Error::NegativeDimension {
                entry: self.entry.name,
                dimension: self.dim_name(number),
                value,
                array: self.array(place),
                axis: place.axis,
                size: place.size,
            }),
            Err(_) => Err(self.unsolvable(number, Some(place))),
        }
    }

    /// All names are bound: every extent must be what the header says.
    fn check(&self, dims: &[i64]) -> Result<(), Error> {
        for place in self.places() {
            if let &[Op::Dim(_)] = place.program {
                continue;
            }
            let mut evaluator = Evaluator { args: self.args, dims, unknown: None };
            let Extent::Linear { scale: 0, offset } = evaluator.extent(place.program) else {
                let (array, axis) = (self.array(place), place.axis);
                return Err(Error::UndefinedExtent { entry: self.entry.name, array, axis });
            };
            if offset != i128::from(place.size) {
                return Err(Error::WrongExtent {
                    entry: self.entry.name,
                    array: self.array(place),
                    axis: place.axis,
                    expected: offset as i64, // the evaluator keeps to `long`
                    found: place.size,
                    because: self.binding(place, dims),
                });
            }
        }
        Ok(())
    }

    fn mismatch(&self, number: u16, first_size: i64, second: Place) -> Error {
        let first = self.first_with(number).unwrap_or(second);
        Error::ShapeMismatch {
            entry: self.entry.name,
            dimension: self.dim_name(number),
            first: self.array(first),
            first_size,
            second: self.array(second),
            second_size: second.size,
        }
    }
    fn unsolvable(&self, number: u16, place: Option<Place>) -> Error {
        let none = Place { param: usize::MAX, axis: 0, program: &[], size: 0 };
        let place = place.unwrap_or(none);
        Error::UnsolvableDimension {
            entry: self.entry.name,
            dimension: self.dim_name(number),
            array: self.array(place),
            axis: place.axis,
            size: place.size,
        }
    }
    /// Where the first name in the extent of `place` got its value, if elsewhere.
    fn binding(&self, place: Place, dims: &[i64]) -> Option<Binding> {
        let number = place.program.iter().find_map(|op| if let Op::Dim(number) = op { Some(*number) } else { None })?;
        let binder = self.first_with(number)?;
        let elsewhere = (binder.param, binder.axis) != (place.param, place.axis);
        let value = *dims.get(usize::from(number))?;
        elsewhere.then(|| Binding { dimension: self.dim_name(number), value, array: self.array(binder) })
    }
    /// The extent that is just this name, else the first that has it.
    fn first_with(&self, number: u16) -> Option<Place> {
        let plain = self.places().find(|place| place.program == [Op::Dim(number)]);
        plain.or_else(|| self.places().find(|place| place.program.contains(&Op::Dim(number))))
    }
    fn array(&self, place: Place) -> ArrayText {
        ArrayText::new(self.entry, place.param)
    }
    fn dim_name(&self, number: u16) -> &'static str {
        self.entry.dims.get(usize::from(number)).copied().unwrap_or("")
    }
}
