//! Coefficients of roots.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::super::lane::*;

/// m^(-1/3)
/// double: degree 9, from 0.3535 to 2.8285, error 2^-13.1
pub(crate) fn cbrt_start<F: Lane>(x: F) -> F {
    polynomial(
        x,
        &[
            2.3996684611766774,
            -5.255545149075645,
            10.951470472392797,
            -15.31519790137646,
            14.267006732035789,
            -8.865915670952512,
            3.623685939386935,
            -0.9337879495325754,
            0.13736322515462515,
            -0.008785313841328152,
        ],
    )
}
