//! Elements of arrays that are written on every path, by their indices.

use hidp_ir::par::{ArrayRef, Expr, Iter, Place, VarId};

use super::certainly_runs;
use crate::shape;
use crate::turns::{self, Turns};

/// Indices of one dimension.
#[derive(Clone)]
pub(super) enum Indices {
    One(Expr),
    /// From the first one to before the second.
    Range(Expr, Expr),
}

impl Indices {
    fn exprs(&self) -> Vec<&Expr> {
        match self {
            Indices::One(at) => vec![at],
            Indices::Range(low, high) => vec![low, high],
        }
    }

    fn same(&self, other: &Indices) -> bool {
        let (these, those) = (self.exprs(), other.exprs());
        these.len() == those.len() && these.iter().zip(those).all(|(this, that)| shape::same(this, that))
    }

    /// What is written after all iterations of `iter`, if that is known.
    fn after(&self, iter: &Iter) -> Option<Indices> {
        match self {
            Indices::One(at) if self.mentions(iter.var) => {
                let by = offset(at, iter)?;
                Some(Indices::Range(shape::add(&iter.lo, &by), shape::add(&iter.hi, &by)))
            }
            Indices::One(_) | Indices::Range(..) => (!self.mentions(iter.var)).then(|| self.clone()),
        }
    }

    /// What the turns before one have written, if this is what that one writes.
    fn until(&self, turns: &Turns) -> Option<Indices> {
        let iter = &turns.iter;
        match self {
            Indices::One(at) if self.mentions(iter.var) => {
                let by = offset(at, iter)?;
                let behind = shape::add(at, &Expr::int(1, at.span));
                Some(match turns.down {
                    false => Indices::Range(shape::add(&iter.lo, &by), at.clone()),
                    true => Indices::Range(behind, shape::add(&iter.hi, &by)),
                })
            }
            Indices::One(_) | Indices::Range(..) => (!self.mentions(iter.var)).then(|| self.clone()),
        }
    }

    /// Both, if one of them is a range and they adjoin.
    fn joined(&self, other: &Indices) -> Option<Indices> {
        let one = Expr::int(1, self.exprs()[0].span);
        let behind = |at: &Expr| shape::add(at, &one);
        let (low, high, next, last) = match (self, other) {
            (Indices::One(_), Indices::One(_)) => return None,
            (Indices::One(at), Indices::Range(low, high)) => (at.clone(), behind(at), low, high),
            (Indices::Range(..), Indices::One(_)) => return other.joined(self),
            (Indices::Range(low, high), Indices::Range(next, last)) => (low.clone(), high.clone(), next, last),
        };
        if shape::same(&high, next) {
            return Some(Indices::Range(low, last.clone()));
        }
        shape::same(last, &low).then(|| Indices::Range(next.clone(), high))
    }

    fn change(&mut self, to: &dyn Fn(&Expr) -> Expr) {
        match self {
            Indices::One(at) => *at = to(at),
            Indices::Range(low, high) => (*low, *high) = (to(low), to(high)),
        }
    }

    fn mentions(&self, var: VarId) -> bool {
        self.exprs().into_iter().any(|expr| shape::mentions(expr, var))
    }
}

/// Elements that are written on every path.
#[derive(Clone)]
pub(super) struct Written {
    pub array: VarId,
    pub dims: Vec<Indices>,
}

/// By how much an index is more than an iterator that takes all values of its range.
fn offset(at: &Expr, iter: &Iter) -> Option<Expr> {
    let by = shape::difference(at, &turns::read(iter.var, at.span)).and_then(|by| i64::try_from(by).ok());
    by.filter(|_| iter.step.as_int() == Some(1)).map(|by| Expr::int(by, at.span))
}

impl Written {
    pub(super) fn mentions(&self, var: VarId) -> bool {
        self.dims.iter().any(|dim| dim.mentions(var))
    }

    pub(super) fn is_in(&self, list: &[Written]) -> bool {
        list.iter().any(|other| {
            other.array == self.array && self.dims.iter().zip(&other.dims).all(|(this, that)| this.same(that))
        })
    }

    /// What is written after all iterations of `iter`.
    pub(super) fn after(&self, iter: &Iter) -> Option<Written> {
        if !self.mentions(iter.var) {
            return certainly_runs(iter).then(|| self.clone());
        }
        let one = self.dims.iter().filter(|dim| dim.mentions(iter.var)).count() == 1;
        let dims: Option<Vec<Indices>> = self.dims.iter().map(|dim| dim.after(iter)).collect();
        dims.filter(|_| one).map(|dims| Written { array: self.array, dims })
    }

    /// What the turns before one have written, if this is what that one writes.
    pub(super) fn until(&self, turns: &Turns) -> Option<Written> {
        if self.dims.iter().filter(|dim| dim.mentions(turns.iter.var)).count() != 1 {
            return None;
        }
        let dims: Option<Vec<Indices>> = self.dims.iter().map(|dim| dim.until(turns)).collect();
        dims.map(|dims| Written { array: self.array, dims })
    }

    /// Both, if they differ in one dimension, in which they adjoin.
    pub(super) fn joined(&self, other: &Written) -> Option<Written> {
        if self.array != other.array {
            return None;
        }
        let mut others = (0..self.dims.len()).filter(|dim| !self.dims[*dim].same(&other.dims[*dim]));
        let (dim, None) = (others.next()?, others.next()) else { return None };
        let mut both = self.clone();
        both.dims[dim] = self.dims[dim].joined(&other.dims[dim])?;
        Some(both)
    }

    /// Whether these are all elements of an array of a shape.
    pub(super) fn is_all(&self, shape: &[Expr]) -> bool {
        self.dims.iter().zip(shape).all(|(dim, extent)| match dim {
            Indices::One(_) => false,
            Indices::Range(low, high) => low.as_int() == Some(0) && shape::same(high, extent),
        })
    }

    pub(super) fn change(&mut self, to: &dyn Fn(&Expr) -> Expr) {
        self.dims.iter_mut().for_each(|dim| dim.change(to));
    }
}

pub(super) fn element(place: &Place) -> Written {
    Written { array: place.array, dims: place.index.iter().cloned().map(Indices::One).collect() }
}

pub(super) fn part(array: &ArrayRef) -> Written {
    let behind = shape::add(&array.offset, &array.len);
    let prefix = array.prefix.iter().cloned().map(Indices::One);
    Written { array: array.array, dims: prefix.chain([Indices::Range(array.offset.clone(), behind)]).collect() }
}

/// What is written after all iterations of `iters`.
pub(super) fn after_all(written: &Written, iters: &[&Iter]) -> Option<Written> {
    iters.iter().try_fold(written.clone(), |written, iter| written.after(iter))
}
