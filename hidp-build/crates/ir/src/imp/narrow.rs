//! Kernels with `int`s for their `long`s, and what these are bounded by.

use super::Function;
use hidp_syntax::ordered::OrdMap;

/// A kernel's function with `int`s for most of its `long` values, its positions among them. It has the same parameters, and does the same where
/// `fits` of `hidp/cuda/launch.cuh` says so of `most`.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrow {
    /// Parameters, variables, body.
    pub function: Function,
    /// No `int` that was a `long` is further from 0.
    pub most: Sum,
}

/// What a launch has that values of its kernel depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// The distance from 0 of what a parameter gets, by its number.
    Param(usize),
    /// The extent of a dimension, outermost first.
    Extent(usize),
}

/// A sum of products of sizes, with factors that are positive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum(OrdMap<Vec<Size>, f64>);

impl Sum {
    /// So much.
    pub fn constant(value: f64) -> Sum {
        Sum([(Vec::new(), value)].into_iter().collect())
    }
    /// A size.
    pub fn size(size: Size) -> Sum {
        Sum([(vec![size], 1.0)].into_iter().collect())
    }
    /// Products and their factors.
    pub fn terms(&self) -> impl Iterator<Item = (&[Size], f64)> {
        self.0.iter().map(|(sizes, factor)| (sizes.as_slice(), *factor))
    }
    fn combined(mut self, other: &Sum, combine: impl Fn(f64, f64) -> f64) -> Sum {
        for (sizes, factor) in &other.0 {
            let own = self.0.entry(sizes.clone()).or_default();
            *own = combine(*own, *factor);
        }
        self
    }
    /// This and another one.
    pub fn plus(self, other: &Sum) -> Sum {
        self.combined(other, |own, other| own + other)
    }
    /// One that is less than neither.
    pub fn join(self, other: &Sum) -> Sum {
        self.combined(other, f64::max)
    }
    /// Their product.
    pub fn times(&self, other: &Sum) -> Sum {
        let mut product = Sum::default();
        for (sizes, factor) in &self.0 {
            for (others, by) in &other.0 {
                let mut all = [sizes.as_slice(), others].concat();
                all.sort_unstable();
                *product.0.entry(all).or_default() += factor * by;
            }
        }
        product
    }
}
