//! Emitters: they print `imp`, and transform nothing.

pub mod openmp;
pub mod rust;
