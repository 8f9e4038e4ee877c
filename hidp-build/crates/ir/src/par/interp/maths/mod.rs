//! The maths functions of the language, step by step as the run time's headers compute them with fused multiply-add, so that
//! the bits are the same.
//!
//! `xtask/maths/port.py` makes the modules from `hidp/maths/*.hpp`; `lane` is written by hand.

// First parts of pairs: the nearest number is what is meant, whatever has a name.
#[allow(clippy::approx_constant)]
mod coefficients;
mod error;
mod exponential;
#[allow(clippy::excessive_precision)]
mod inverse;
mod lane;
mod logarithm;
mod pair;
mod power;
mod root;
mod trigonometry;

pub(super) use error::{erf, erfc};
pub(super) use exponential::{cosh, exp, exp2, expm1, sinh, tanh};
pub(super) use inverse::{acos, asin, atan, atan2};
pub(super) use logarithm::{acosh, asinh, atanh, log, log1p, log2, log10};
pub(super) use power::pow;
pub(super) use root::{cbrt, hypot};
pub(super) use trigonometry::{cos, sin, tan};
