//! sin, cos, tan: x = n pi / 2 + r. Up to 2^20 that is Cody and Waite's subtraction of n times pi / 2 in pieces, beyond it Payne
//! and Hanek's product with those bits of 2 / pi that do not give whole turns. Float goes through double.
//!
//! Texts without branches compute both, and the second takes most of the time: vector loops call near_sin, near_cos and near_tan,
//! which give what sin, cos and tan do where is_near holds, and look afterwards whether it did.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::coefficients::constants::*;
use super::coefficients::trigonometry::*;
use super::lane::*;
use super::pair::*;

/// What is left after n quarters of a turn, |high| <= pi / 4, and n in the low bits of `shifted`.
#[derive(Clone, Copy)]
pub(super) struct Quarters<F> {
    pub(super) high: F,
    pub(super) low: F,
    pub(super) shifted: F,
}

/// By the sign that the lowest bit makes: compilers make vectors of comparisons of numbers, not of tests of bits.
pub(super) fn is_odd<F: Lane>(shifted: F) -> bool {
    from_bits::<F>((bits(shifted) << (F::SIGN)) | bits(F::of(1.0))) < F::of(0.0)
}

/// x with another sign in the second half of a turn.
pub(super) fn turned<F: Lane>(x: F, shifted: F) -> F {
    from_bits::<F>(bits(x) ^ ((bits(shifted) >> 1) << (F::SIGN)))
}

pub(super) fn quarters_of_small<F: Lane>(x: F) -> Quarters<F> {
    let shifted = mul_add(x, two_over_pi_high::<F>(), whole_shift::<F>());
    let n = shifted - whole_shift::<F>();
    let first = mul_add(-n, half_pi_1::<F>(), x);
    let second = sum(first, -n * half_pi_2::<F>());
    let third = sum(second.high, -n * half_pi_3::<F>());
    let low = (second.low + third.low) - n * half_pi_4::<F>();
    let r = sum_ordered(third.high, low);
    Quarters { high: r.high, low: r.low, shifted }
}

pub(super) fn quarters_of_large<F: Lane>(x: F) -> Quarters<F> {
    let large = blend(magnitude(x) - F::of(1048576.0), F::of(1048576.0), x);
    let exponent = (bits(large) >> F::FRACTION) & 0x7ff;
    let row = (exponent - (F::BIAS + 20)) >> 4;
    let down = from_bits::<F>(bits(large).wrapping_sub(row << (F::FRACTION + 4)));
    let first = product(down, turns::<F>(4 * row));
    let second = product(down, turns::<F>(4 * row + 1));
    let third = product(down, turns::<F>(4 * row + 2));
    let fourth = down * turns::<F>(4 * row + 3);
    // Whole turns of the largest part, which is below 2^70: its sum with this is a multiple of 2^19.
    let whole = F::of(3.541774862152234e+21);
    let a = sum(first.high - ((first.high + whole) - whole), first.low);
    let b = sum(a.high, second.high);
    let shifted = b.high + whole_shift::<F>();
    let fraction = b.high - (shifted - whole_shift::<F>());
    let c = sum(second.low, third.high);
    let d = sum(a.low, b.low);
    let e = sum(c.high, d.high);
    let g = sum(fraction, e.high);
    let rest = g.low + ((e.low + c.low) + (d.low + (third.low + fourth)));
    let turn = sum_ordered(g.high, rest);
    let r = product_of_pairs(turn, pair(half_pi_high::<F>(), half_pi_low::<F>()));
    Quarters { high: r.high, low: r.low, shifted }
}

pub(super) fn quarters<F: Lane>(x: F) -> Quarters<F> {
    let small = magnitude(x) - F::of(1048576.0);
    let near = quarters_of_small(x);
    let far = quarters_of_large(x);
    let high = select(magnitude(x) < infinity::<F>(), far.high, not_a_number::<F>());
    Quarters {
        high: blend(small, near.high, high),
        low: blend(small, near.low, far.low),
        shifted: blend(small, near.shifted, far.shifted),
    }
}

/// sin and cos of high + low, in two parts.
pub(super) fn sin_pair<F: Lane>(high: F, low: F) -> Pair<F> {
    let z = high * high;
    let half = F::of(0.5) * z;
    pair(high, mul_add(high * z, sin_tail(z), mul_add(-half, low, low)))
}

pub(super) fn cos_pair<F: Lane>(high: F, low: F) -> Pair<F> {
    let square = product(high, high);
    let z = square.high;
    let first = sum_ordered(F::of(1.0), F::of(-0.5) * z);
    pair(first.high, first.low + mul_add(z * z, cos_tail(z), mul_add(F::of(-0.5), square.low, -high * low)))
}

/// Float in double.
#[derive(Clone, Copy)]
pub(super) struct ShortQuarters<F> {
    pub(super) r: F,
    pub(super) shifted: F,
}

pub(super) fn short_quarters_of_small<F: Lane>(x: F) -> ShortQuarters<F> {
    let shifted = mul_add(x, two_over_pi_high::<F>(), whole_shift::<F>());
    let n = shifted - whole_shift::<F>();
    let first = mul_add(-n, half_pi_1::<F>(), x);
    let second = mul_add(-n, half_pi_2::<F>(), first);
    ShortQuarters { r: mul_add(-n, half_pi_3::<F>(), second), shifted }
}

/// x 2 / pi from three pieces of 2 / pi, products with which are exact.
pub(super) fn short_quarters_of_large<F: Lane>(x: F) -> ShortQuarters<F> {
    let a = magnitude(x);
    let two = a >= F::of(268435456.0);
    let three = a >= F::of(9007199254740992.0);
    let four = a >= F::of(3.022314549036573e+23);
    let five = a >= F::of(1.0141204801825835e+31);
    let down = x * select(
        five,
        F::of(9.860761315262648e-32),
        select(
            four,
            F::of(3.308722450212111e-24),
            select(three, F::of(1.1102230246251565e-16), select(two, F::of(3.725290298461914e-09), F::of(1.0))),
        ),
    );
    let first = down * turns_short_1::<F>(two, three, four, five);
    let second = down * turns_short_2::<F>(two, three, four, five);
    let third = down * turns_short_3::<F>(two, three, four, five);
    let whole = first + whole_shift::<F>();
    let rest = (first - (whole - whole_shift::<F>())) + second;
    let more = rest + whole_shift::<F>();
    let turn = (rest - (more - whole_shift::<F>())) + third;
    ShortQuarters { r: turn * half_pi_high::<F>(), shifted: from_bits::<F>(bits(whole).wrapping_add(bits(more))) }
}

pub(super) fn short_quarters<F: Lane>(x: F) -> ShortQuarters<F> {
    let small = magnitude(x) - F::of(1048576.0);
    let near = short_quarters_of_small(x);
    let far = short_quarters_of_large(x);
    ShortQuarters { r: blend(small, near.r, far.r), shifted: blend(small, near.shifted, far.shifted) }
}

/// The sine of that and so many quarters more.
pub(super) fn sine_later<F: Lane>(of: Quarters<F>, more: u64) -> F {
    let shifted = from_bits::<F>(bits(of.shifted).wrapping_add(more));
    let sin = sin_pair(of.high, of.low);
    let cos = cos_pair(of.high, of.low);
    let odd = is_odd(shifted);
    turned(select(odd, cos.high, sin.high) + select(odd, cos.low, sin.low), shifted)
}

pub(super) fn short_sine_later<F: Lane>(of: ShortQuarters<F>, more: u64) -> F {
    let shifted = from_bits::<F>(bits(of.shifted).wrapping_add(more));
    let z = of.r * of.r;
    turned(select(is_odd(shifted), cos_short(z), of.r * sin_short(z)), shifted)
}

/// Of less there is nothing but x left.
pub(super) fn sine<F: Lane>(x: F, of: Quarters<F>) -> F {
    select(magnitude(x) < F::of(7.450580596923828e-09), x, sine_later(of, 0))
}

pub(in crate::par::interp) fn sin<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE { sine(x, quarters(x)) } else { narrow::<F>(short_sine_later(short_quarters(widen(x)), 0)) }
}

pub(in crate::par::interp) fn cos<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE { sine_later(quarters(x), 1) } else { narrow::<F>(short_sine_later(short_quarters(widen(x)), 1)) }
}

pub(super) fn tangent<F: Lane>(x: F, of: Quarters<F>) -> F {
    let sin_parts = sin_pair(of.high, of.low);
    let cos_parts = cos_pair(of.high, of.low);
    let sin = sum_ordered(sin_parts.high, sin_parts.low);
    let cos = sum_ordered(cos_parts.high, cos_parts.low);
    let odd = is_odd(of.shifted);
    let above = pair(select(odd, -cos.high, sin.high), select(odd, -cos.low, sin.low));
    let below = pair(select(odd, sin.high, cos.high), select(odd, sin.low, cos.low));
    let result = quotient(above, below);
    select(magnitude(x) < F::of(7.450580596923828e-09), x, result.high + result.low)
}

pub(super) fn short_tangent<F: Lane>(of: ShortQuarters<F>) -> F {
    let z = of.r * of.r;
    let sin = of.r * sin_short(z);
    let cos = cos_short(z);
    let odd = is_odd(of.shifted);
    select(odd, -cos, sin) / select(odd, sin, cos)
}

pub(in crate::par::interp) fn tan<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE { tangent(x, quarters(x)) } else { narrow::<F>(short_tangent(short_quarters(widen(x)))) }
}
