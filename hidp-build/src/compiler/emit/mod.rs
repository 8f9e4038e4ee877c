//! Emitters: they print `imp`, and transform nothing.

pub mod c_like;
pub mod cuda_flags;
pub mod openmp;
pub mod rust;
