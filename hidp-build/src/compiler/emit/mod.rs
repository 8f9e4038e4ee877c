//! Emitters: they print `imp`, and transform nothing.

pub mod c_like;
pub mod cuda;
pub mod openmp;
pub mod rust;
