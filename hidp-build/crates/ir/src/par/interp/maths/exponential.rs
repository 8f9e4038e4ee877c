//! exp, exp2, expm1, sinh, cosh, tanh: 2^n from the exponent's bits, the rest from a polynomial on |r| <= ln 2 / 2. What
//! rounding r loses is added at the end.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::coefficients::constants::*;
use super::coefficients::exponential::*;
use super::lane::*;
use super::pair::*;

/// x = n ln 2 + r + rest
#[derive(Clone, Copy)]
pub(super) struct Reduced<F> {
    pub(super) n: F,
    pub(super) r: F,
    pub(super) rest: F,
}

pub(super) fn reduce_by_ln2<F: Lane>(x: F) -> Reduced<F> {
    let n = nearest(x * log2_e_high::<F>());
    let high = mul_add(-n, ln2_high::<F>(), x);
    let low = n * ln2_low::<F>();
    let r = high - low;
    Reduced { n, r, rest: (high - r) - low }
}

pub(in crate::par::interp) fn exp<F: Lane>(x: F) -> F {
    let low = F::of(if F::IS_DOUBLE { -746.0 } else { -105.0 });
    let high = F::of(if F::IS_DOUBLE { 710.0 } else { 89.0 });
    let inside = select(x < low, low, select(x > high, high, x));
    let reduced = reduce_by_ln2(inside);
    let r = reduced.r;
    let tail = mul_add(r * r, exp_tail(r), reduced.rest);
    scale(F::of(1.0) + (r + tail), reduced.n)
}

pub(in crate::par::interp) fn exp2<F: Lane>(x: F) -> F {
    let low = F::of(if F::IS_DOUBLE { -1076.0 } else { -151.0 });
    let high = F::of(if F::IS_DOUBLE { 1025.0 } else { 129.0 });
    let inside = select(x < low, low, select(x > high, high, x));
    let n = nearest(inside);
    let r = inside - n;
    let tail = mul_add(r * r, exp2_tail(r), r * ln2_whole_low::<F>());
    scale(F::of(1.0) + mul_add(r, ln2_whole_high::<F>(), tail), n)
}

pub(in crate::par::interp) fn expm1<F: Lane>(x: F) -> F {
    let low = F::of(if F::IS_DOUBLE { -40.0 } else { -20.0 });
    let high = F::of(if F::IS_DOUBLE { 710.0 } else { 89.0 });
    let inside = select(x < low, low, select(x > high, high, x));
    let reduced = reduce_by_ln2(inside);
    let r = reduced.r;
    let square = product(F::of(0.5) * r, r);
    let tail = mul_add(square.high * (r + r), expm1_tail(r), mul_add(reduced.rest, r, reduced.rest));
    // 2^n (1 - 2^-n + e^r - 1)
    let one = sum(F::of(1.0), -power_of_two(-select(reduced.n > F::of(100.0), F::of(100.0), reduced.n)));
    let first = sum(one.high, r);
    let second = sum(first.high, square.high);
    let result = scale(second.high + (second.low + (first.low + (one.low + (square.low + tail)))), reduced.n);
    select(magnitude(x) < F::of(if F::IS_DOUBLE { 5.551115123125783e-17 } else { 2.9802322387695312e-08 }), x, result)
}

/// sinh and cosh of a >= 0, both divided by 2^n.
#[derive(Clone, Copy)]
pub(super) struct Hyperbolic<F> {
    pub(super) sinh: Pair<F>,
    pub(super) cosh: Pair<F>,
    pub(super) n: F,
}

pub(super) fn hyperbolic<F: Lane>(a: F) -> Hyperbolic<F> {
    let reduced = reduce_by_ln2(a);
    let r = reduced.r;
    let square = r * r;
    let odd = mul_add(r * square, sinh_tail(square), reduced.rest);
    let even = mul_add(square, cosh_tail(square), r * reduced.rest);
    // (2^n - 2^-n) / 2 and (2^n + 2^-n) / 2, over 2^n
    let fraction =
        power_of_two(mul_add(F::of(-2.0), select(reduced.n > F::of(40.0), F::of(40.0), reduced.n), F::of(-1.0)));
    let minus = sum_ordered(F::of(0.5), -fraction);
    let plus = sum_ordered(F::of(0.5), fraction);
    let plus_r = product(plus.high, r);
    let minus_r = product(minus.high, r);
    let sinh = sum(minus.high, plus_r.high);
    let cosh = sum_ordered(plus.high, minus_r.high);
    let sinh_rest = mul_add(plus.low, r, minus.low) + (plus_r.low + sinh.low);
    let cosh_rest = mul_add(minus.low, r, plus.low) + (minus_r.low + cosh.low);
    let sinh_low = mul_add(minus.high, even, mul_add(plus.high, odd, sinh_rest));
    let cosh_low = mul_add(plus.high, even, mul_add(minus.high, odd, cosh_rest));
    Hyperbolic { sinh: pair(sinh.high, sinh_low), cosh: pair(cosh.high, cosh_low), n: reduced.n }
}

pub(in crate::par::interp) fn sinh<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let high = F::of(if F::IS_DOUBLE { 712.0 } else { 91.0 });
    let both = hyperbolic(select(a > high, high, a));
    let result = scale(both.sinh.high + both.sinh.low, both.n);
    select(a < F::of(if F::IS_DOUBLE { 3.725290298461914e-09 } else { 0.0001220703125 }), x, with_sign(result, x))
}

pub(in crate::par::interp) fn cosh<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let high = F::of(if F::IS_DOUBLE { 712.0 } else { 91.0 });
    let both = hyperbolic(select(a > high, high, a));
    scale(both.cosh.high + both.cosh.low, both.n)
}

pub(in crate::par::interp) fn tanh<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let high = F::of(if F::IS_DOUBLE { 22.0 } else { 11.0 });
    let both = hyperbolic(select(a > high, high, a));
    let above = sum_ordered(both.sinh.high, both.sinh.low);
    let below = sum_ordered(both.cosh.high, both.cosh.low);
    let result = quotient(above, below);
    select(
        a < F::of(if F::IS_DOUBLE { 3.725290298461914e-09 } else { 0.0001220703125 }),
        x,
        with_sign(result.high + result.low, x),
    )
}
