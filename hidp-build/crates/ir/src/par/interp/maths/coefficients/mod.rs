//! The numbers in the maths functions: a module for each family of functions, as their headers have, and one for what several
//! families need.
//!
//! `xtask/maths/coefficients.py` computes them, with the errors of the polynomials.

pub(super) mod constants;
pub(super) mod error;
pub(super) mod exponential;
pub(super) mod inverse;
pub(super) mod logarithm;
pub(super) mod power;
pub(super) mod root;
pub(super) mod trigonometry;
