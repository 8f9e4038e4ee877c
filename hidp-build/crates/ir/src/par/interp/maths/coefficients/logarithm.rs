//! Coefficients and constants of logarithms.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::super::lane::*;

/// 1 / ln 10
pub(crate) fn log10_e_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.4342944819032518) } else { F::of(0.4342944920063019) }
}

pub(crate) fn log10_e_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.098319650216765e-17) } else { F::of(-1.0103049952192578e-08) }
}

/// log10 2, the first part short enough that 12 (8) bits times it are exact
pub(crate) fn log10_2_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.30102999566383914) } else { F::of(0.301025390625) }
}

pub(crate) fn log10_2_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.42050232272661e-13) } else { F::of(4.605039066518657e-06) }
}

/// (2 artanh s - 2 s) / s^3 of z = s^2
/// double: degree 6, from 0.0 to 0.02945, error 2^-59.48
/// float: degree 2, from 0.0 to 0.02945, error 2^-30.2
pub(crate) fn log_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                0.6666666666666735,
                0.39999999999409325,
                0.2857142874369598,
                0.22222198427761528,
                0.18183572426974545,
                0.15313830172554607,
                0.14798279630495675,
            ],
        )
    } else {
        polynomial(x, &[0.6666677594184875, 0.39977577328681946, 0.29871073365211487])
    }
}
