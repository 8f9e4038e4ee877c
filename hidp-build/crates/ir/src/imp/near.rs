//! Maths of small angles.

use crate::par::MathFn;

/// Functions of an angle that take a fraction of the time where it is near 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearFn {
    /// Whether the angle is so near: a `bool`.
    IsNear,
    /// `sin` where it is, anything elsewhere.
    Sin,
    /// `cos` likewise.
    Cos,
    /// `tan` likewise.
    Tan,
}

impl NearFn {
    /// The function for angles near 0, if there is one.
    pub fn of(function: MathFn) -> Option<NearFn> {
        let known = [(MathFn::Sin, NearFn::Sin), (MathFn::Cos, NearFn::Cos), (MathFn::Tan, NearFn::Tan)];
        known.into_iter().find(|(of, _)| *of == function).map(|(_, near)| near)
    }
    /// Its name in the run time.
    pub const fn name(self) -> &'static str {
        match self {
            NearFn::IsNear => "is_near",
            NearFn::Sin => "near_sin",
            NearFn::Cos => "near_cos",
            NearFn::Tan => "near_tan",
        }
    }
}
