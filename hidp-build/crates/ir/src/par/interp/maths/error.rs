//! erf and erfc: erf is x times a polynomial where x is small, erfc(x) = e^(-x^2) P(q) / (1 + 2 x) with q = (x - 4) / (x + 4)
//! where it is not; each is 1 without the other. Float in double, erf by one polynomial, which takes no quotients.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::coefficients::constants::*;
use super::coefficients::error::*;
use super::coefficients::exponential::*;
use super::exponential::*;
use super::lane::*;
use super::pair::*;

/// erfc(a) / 2^n of a in [0, 28].
#[derive(Clone, Copy)]
pub(super) struct Complement<F> {
    pub(super) value: Pair<F>,
    pub(super) n: F,
}

pub(super) fn complement<F: Lane>(a: F) -> Complement<F> {
    let q = quotient(sum(a, F::of(-4.0)), sum(a, F::of(4.0)));
    let tail = q.high * erfc_tail(q.high);
    let second = sum(erfc_second_high::<F>(), tail);
    let slope = erfc_second_low::<F>() + second.low;
    // P = first + q (second + tail), the first terms in two parts; q.low times about its slope.
    let linear = product(q.high, second.high);
    let first = sum_ordered(erfc_first_high::<F>(), linear.high);
    let first_low = first.low
        + (linear.low
            + mul_add(q.high, slope, mul_add(q.low, mul_add(F::of(3.0), tail, second.high), erfc_first_low::<F>())));
    let twice = sum(F::of(1.0), a + a);
    let fraction = quotient(pair(first.high, first_low), twice);
    // e^(-a^2)
    let square = product(a, a);
    let reduced = reduce_by_ln2(-square.high);
    let r = reduced.r;
    let one = sum_ordered(F::of(1.0), r);
    let power_tail = r * r * exp_tail(r);
    let one_low = one.low + mul_add(reduced.rest - square.low, one.high + power_tail, power_tail);
    let power = sum_ordered(one.high, one_low);
    Complement { value: product_of_pairs(fraction, power), n: reduced.n }
}

/// In double for float.
pub(super) fn short_complement<F: Lane>(a: F) -> F {
    let fraction = erfc_short((a - F::of(4.0)) / (a + F::of(4.0))) / mul_add(F::of(2.0), a, F::of(1.0));
    let exponent = -(a * a) * log2_e_high::<F>();
    let n = nearest(exponent);
    fraction * exp2_short(exponent - n) * power_of_two(n)
}

/// erf of |x| < 3/4.
pub(super) fn inner_erf<F: Lane>(x: F) -> Pair<F> {
    let z = x * x;
    let first = product(x, two_over_root_pi_high::<F>());
    pair(first.high, mul_add(x * z, erf_tail(z), mul_add(x, two_over_root_pi_low::<F>(), first.low)))
}

pub(super) fn wide_erf<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let inner = inner_erf(x);
    let rest = complement(select(a > F::of(6.0), F::of(6.0), a));
    let down = power_of_two(rest.n);
    let outer = sum_ordered(F::of(1.0), -rest.value.high * down);
    let large = with_sign(outer.high + (outer.low - rest.value.low * down), x);
    // Below this the parts of the product are no normal numbers.
    let tiny = F::of(2.409919865102884e-181) * (F::of(4.149515568880993e+180) * x * two_over_root_pi_high::<F>());
    select(a < F::of(3.8725919148493183e-121), tiny, select(a < F::of(0.65), inner.high + inner.low, large))
}

pub(super) fn wide_erfc<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let inner = inner_erf(x);
    let near = sum_ordered(F::of(1.0), -inner.high);
    let found = complement(select(a > F::of(28.0), F::of(28.0), a));
    let plain = scale(found.value.high + found.value.low, found.n);
    let down = power_of_two(select(found.n < F::of(-200.0), F::of(-200.0), found.n));
    let other = sum_ordered(F::of(2.0), -found.value.high * down);
    let far = select(x < F::of(0.0), other.high + (other.low - found.value.low * down), plain);
    select(a < F::of(0.5), near.high + (near.low - inner.low), far)
}

/// From 3.92 on it is 1 as a float.
pub(super) fn short_erf<F: Lane>(x: F) -> F {
    let inside = at_least(F::of(-4.0), at_most(F::of(4.0), x));
    inside * erf_short(mul_add(inside * inside, F::of(0.125), F::of(-1.0)))
}

pub(super) fn short_erfc<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let found = short_complement(select(a > F::of(10.5), F::of(10.5), a));
    select(x < F::of(0.0), F::of(2.0) - found, found)
}

pub(in crate::par::interp) fn erf<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE { wide_erf(x) } else { narrow::<F>(short_erf(widen(x))) }
}

pub(in crate::par::interp) fn erfc<F: Lane>(x: F) -> F {
    if F::IS_DOUBLE { wide_erfc(x) } else { narrow::<F>(short_erfc(widen(x))) }
}
