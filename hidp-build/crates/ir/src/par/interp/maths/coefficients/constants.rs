//! Constants that several families of functions need.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::super::lane::*;

/// ln 2, the first part short enough that 12 (8) bits times it are exact
pub(crate) fn ln2_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.693147180559663) } else { F::of(0.693145751953125) }
}

pub(crate) fn ln2_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(2.8235290563031577e-13) } else { F::of(1.428606765330187e-06) }
}

/// ln 2
pub(crate) fn ln2_whole_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(0.6931471805599453) } else { F::of(0.6931471824645996) }
}

pub(crate) fn ln2_whole_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(2.3190468138462996e-17) } else { F::of(-1.9046542121259336e-09) }
}

/// 1 / ln 2
pub(crate) fn log2_e_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.4426950408889634) } else { F::of(1.4426950216293335) }
}

pub(crate) fn log2_e_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(2.0355273740931033e-17) } else { F::of(1.925963033500011e-08) }
}

/// pi / 2
pub(crate) fn half_pi_high<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(1.5707963267948966) } else { F::of(1.5707963705062866) }
}

pub(crate) fn half_pi_low<F: Lane>() -> F {
    if F::IS_DOUBLE { F::of(6.123233995736766e-17) } else { F::of(-4.371138828673793e-08) }
}
