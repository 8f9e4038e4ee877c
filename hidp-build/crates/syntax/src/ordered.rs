//! Ordered maps and sets as sorted vectors, with the interface of the standard library's.
//!
//! The compiler's maps are small and their keys mostly arrive in order, while each key type of a `BTreeMap` costs a build script some hundred functions
//! that nobody optimises: a third of what `hidp-build` compiles to. An insertion behind the last key takes constant time, any other one moves
//! what stands after it.

mod map;
mod set;
#[cfg(test)]
mod tests;

pub use map::{Entry, Iter, IterMut, OrdMap};
pub use set::OrdSet;
