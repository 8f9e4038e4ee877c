//! Coefficients and constants of `pow`.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::super::lane::*;

/// 2 / ln 2
pub(crate) fn two_over_ln2_high<F: Lane>() -> F {
    F::of(2.8853900817779268)
}

pub(crate) fn two_over_ln2_low<F: Lane>() -> F {
    F::of(4.0710547481862066e-17)
}

/// 1 / 3
pub(crate) fn third_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.3333333333333333) } else { F::of(0.3333333432674408) }
}

pub(crate) fn third_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.850371707708594e-17) } else { F::of(-9.934107758624577e-09) }
}

/// (artanh s - s - s^3 / 3) / s^5 of z = s^2
/// double: degree 7, from 0.0 to 0.02945, error 2^-73.44
pub(crate) fn pow_tail<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            0.1999999999999999,
            0.14285714285721926,
            0.1111111110889262,
            0.09090909422350277,
            0.0769227918619766,
            0.06668133446287873,
            0.0583786417181396,
            0.05991107657948693,
        ],
    )
}

/// 2 artanh(s) / (s ln 2) of z = s^2
/// double: degree 5, from 0.0 to 0.02945, error 2^-45.08
pub(crate) fn log2_short<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            2.8853900817778495,
            0.9617966941143179,
            0.5770779420769757,
            0.41220928152491065,
            0.31990450154068617,
            0.2829172490687514,
        ],
    )
}
