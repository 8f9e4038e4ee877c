//! Coefficients and constants of inverse trigonometric functions.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::super::lane::*;

/// pi / 4
pub(crate) fn quarter_pi_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.7853981633974483) } else { F::of(0.7853981852531433) }
}

pub(crate) fn quarter_pi_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(3.061616997868383e-17) } else { F::of(-2.1855694143368964e-08) }
}

/// pi
pub(crate) fn pi_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(3.141592653589793) } else { F::of(3.1415927410125732) }
}

pub(crate) fn pi_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.2246467991473532e-16) } else { F::of(-8.742277657347586e-08) }
}

/// atan(1/2)
pub(crate) fn atan_half_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.4636476090008061) } else { F::of(0.46364760398864746) }
}

pub(crate) fn atan_half_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(2.2698777452961687e-17) } else { F::of(5.01215868808913e-09) }
}

/// (atan t - t) / t^3 of z = t^2
/// double: degree 7, from 0.0 to 0.0559, error 2^-58.95
/// float: degree 3, from 0.0 to 0.0559, error 2^-33.2
pub(crate) fn atan_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                -0.33333333333333004,
                0.19999999999807402,
                -0.1428571424724387,
                0.11111107392348492,
                -0.09090709824910556,
                0.0768606026895676,
                -0.06552066470837786,
                0.047272232933611665,
            ],
        )
    } else {
        polynomial(x, &[-0.333333283662796, 0.19999085366725922, -0.14234375953674316, 0.09972738474607468])
    }
}

/// (asin x - x) / x^3 of z = x^2
/// double: degree 12, from 0.0 to 0.25, error 2^-59.75
/// float: degree 5, from 0.0 to 0.25, error 2^-29.23
pub(crate) fn asin_tail<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE {
        polynomial(
            x,
            &[
                0.16666666666666763,
                0.07499999999970129,
                0.04464285717525399,
                0.030381942676938927,
                0.022372215856134605,
                0.017351596443458836,
                0.013981006678389628,
                0.011397394263849269,
                0.010788731643553784,
                0.0036744914523234953,
                0.021784850207918906,
                -0.021108263486821943,
                0.03269672159176309,
            ],
        )
    } else {
        polynomial(
            x,
            &[
                0.16666659712791443,
                0.07500521093606949,
                0.04451363533735275,
                0.03183606266975403,
                0.014329119585454464,
                0.03766760602593422,
            ],
        )
    }
}
