//! What the steps of the maths functions ask of a number, as `hidp/maths/lane.hpp` does: `mul_add` rounds once.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `f32` or `f64`, which the runtime's headers call `float` and `double`.
pub(in crate::par::interp) trait Lane:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Whether this is `f64`.
    const IS_DOUBLE: bool;
    /// Bits of the fraction.
    const FRACTION: u32;
    /// What exponents are stored with.
    const BIAS: u64;
    /// The place of the sign.
    const SIGN: u32;

    /// The nearest number of this type.
    fn of(value: f64) -> Self;
    /// The same number.
    fn wide(self) -> f64;
    /// The bits, from the lowest.
    fn to_word(self) -> u64;
    /// A number of these bits.
    fn of_word(word: u64) -> Self;
    /// The product and sum, rounded once.
    fn fused(self, factor: Self, term: Self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// Whether this is no number.
    fn is_nan(self) -> bool;
}

macro_rules! lane {
    ($ty:ident, $word:ident, $fraction:expr, $bias:expr, $sign:expr) => {
        impl Lane for $ty {
            const IS_DOUBLE: bool = $sign == 63;
            const FRACTION: u32 = $fraction;
            const BIAS: u64 = $bias;
            const SIGN: u32 = $sign;

            fn of(value: f64) -> Self {
                value as $ty
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
            fn to_word(self) -> u64 {
                u64::from(self.to_bits())
            }
            fn of_word(word: u64) -> Self {
                $ty::from_bits(word as $word)
            }
            fn fused(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }
            fn root(self) -> Self {
                self.sqrt()
            }
            fn is_nan(self) -> bool {
                <$ty>::is_nan(self)
            }
        }
    };
}
lane!(f32, u32, 23, 127, 31);
lane!(f64, u64, 52, 1023, 63);

pub(super) fn mul_add<F: Lane>(a: F, b: F, c: F) -> F {
    a.fused(b, c)
}
pub(super) fn square_root<F: Lane>(x: F) -> F {
    x.root()
}
pub(super) fn widen<F: Lane>(x: F) -> f64 {
    x.wide()
}
pub(super) fn narrow<F: Lane>(x: f64) -> F {
    F::of(x)
}
pub(super) fn bits<F: Lane>(x: F) -> u64 {
    x.to_word()
}
pub(super) fn from_bits<F: Lane>(word: u64) -> F {
    F::of_word(word)
}
pub(super) fn infinity<F: Lane>() -> F {
    F::of(f64::INFINITY)
}
pub(super) fn not_a_number<F: Lane>() -> F {
    F::of(f64::NAN)
}

pub(super) fn select<F: Lane>(condition: bool, yes: F, no: F) -> F {
    if condition { yes } else { no }
}
/// `yes` where the sign of `sign` is set.
pub(super) fn blend<F: Lane>(sign: F, yes: F, no: F) -> F {
    select(bits(sign) >> F::SIGN != 0, yes, no)
}
/// The smaller number; x, if one of them is none.
pub(super) fn at_most<F: Lane>(bound: F, x: F) -> F {
    select(bound < x, bound, x)
}
/// The larger number likewise.
pub(super) fn at_least<F: Lane>(bound: F, x: F) -> F {
    select(bound > x, bound, x)
}
pub(super) fn magnitude<F: Lane>(x: F) -> F {
    from_bits(bits(x) & !(1 << F::SIGN))
}
/// x with its sign changed where that of `by` is set.
pub(super) fn with_sign<F: Lane>(x: F, by: F) -> F {
    from_bits(bits(x) ^ (bits(by) & (1 << F::SIGN)))
}
pub(super) fn is_negative<F: Lane>(x: F) -> bool {
    bits(x) >> F::SIGN != 0
}

/// In a sum with this the lowest bit counts ones.
pub(super) fn whole_shift<F: Lane>() -> F {
    F::of(1.5 * (1_u64 << F::FRACTION) as f64)
}
/// 2^52 (2^23) and the exponent's bias.
fn biased<F: Lane>() -> F {
    F::of((1_u64 << F::FRACTION) as f64 + F::BIAS as f64)
}
pub(super) fn nearest<F: Lane>(x: F) -> F {
    (x + whole_shift()) - whole_shift()
}
pub(super) fn power_of_two<F: Lane>(n: F) -> F {
    from_bits(bits(n + biased()) << F::FRACTION)
}
pub(super) fn scale<F: Lane>(x: F, n: F) -> F {
    let half = mul_add(n, F::of(0.5), biased());
    let other = (biased::<F>() + biased() - half) + n;
    x * from_bits(bits(half) << F::FRACTION) * from_bits(bits(other) << F::FRACTION)
}

/// A normal number as 2^exponent * mantissa, the mantissa in [sqrt(1/2), sqrt(2)).
#[derive(Clone, Copy)]
pub(super) struct Split<F> {
    pub(super) exponent: F,
    pub(super) mantissa: F,
}
pub(super) fn split<F: Lane>(x: F) -> Split<F> {
    let one = F::BIAS << F::FRACTION;
    let root = if F::IS_DOUBLE { 0x3fe6_a09e_667f_3bcd } else { 0x3f35_04f3 };
    let inside = if F::IS_DOUBLE { u64::MAX } else { u64::from(u32::MAX) };
    let exponent = (bits(x).wrapping_sub(root).wrapping_add(one) & inside) >> F::FRACTION;
    let shifted: F = from_bits(exponent | bits(F::of((1_u64 << F::FRACTION) as f64)));
    let mantissa = bits(x).wrapping_sub(exponent.wrapping_sub(F::BIAS) << F::FRACTION);
    Split { exponent: shifted - biased(), mantissa: from_bits(mantissa) }
}

/// The sum of the even and that of the odd powers.
pub(super) fn polynomial<F: Lane>(x: F, coefficients: &[f64]) -> F {
    let square = x * x;
    let every_second = |from: usize| {
        let terms = coefficients[from..].iter().step_by(2).rev().map(|&term| F::of(term));
        terms.reduce(|sum, term| mul_add(sum, square, term)).unwrap_or(F::of(0.0))
    };
    mul_add(every_second(1), x, every_second(0))
}
