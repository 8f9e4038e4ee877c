//! Emitters: they print `imp`, and transform nothing.
//!
//! A part of `hidp-build`, which is what build scripts use. Its interface is internal: no version promises anything of it.

pub mod c_like;
pub mod cuda;
pub mod openmp;
pub mod rust;
pub mod stamp;
