//! Run time of HiDP kernels and a library of parallel primitives.

pub mod rt;
