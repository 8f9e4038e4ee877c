//! log, log2, log10, log1p, asinh, acosh, atanh: x = 2^k (1 + f), and log(1 + f) = 2 artanh(s) of s = f / (2 + f), written as
//! f - f^2 / 2 + s (f^2 / 2 + R(s^2)), so that the largest term is exact.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::coefficients::constants::*;
use super::coefficients::logarithm::*;
use super::lane::*;
use super::pair::*;

/// x as 2^k (1 + f); of a subnormal number too.
#[derive(Clone, Copy)]
pub(super) struct Parts<F> {
    pub(super) k: F,
    pub(super) f: F,
}

pub(super) fn parts<F: Lane>(x: F) -> Parts<F> {
    let tiny = x < F::of(if F::IS_DOUBLE { 2.2250738585072014e-308 } else { 1.1754943508222875e-38 });
    let lifted = select(tiny, x * F::of(if F::IS_DOUBLE { 1.8014398509481984e+16 } else { 33554432.0 }), x);
    let found = split(lifted);
    Parts {
        k: found.exponent - select(tiny, F::of(if F::IS_DOUBLE { 54.0 } else { 25.0 }), F::of(0.0)),
        f: found.mantissa - F::of(1.0),
    }
}

/// The result where x is a positive number, else what a logarithm has there.
pub(super) fn log_of_all<F: Lane>(x: F, result: F) -> F {
    let upper = select(x < infinity::<F>(), result, x);
    let lower = select(x < F::of(0.0), not_a_number::<F>(), upper);
    select(x == F::of(0.0), -infinity::<F>(), lower)
}

pub(in crate::par::interp) fn log<F: Lane>(x: F) -> F {
    let of = parts(x);
    let f = of.f;
    let s = f / (F::of(2.0) + f);
    let z = s * s;
    let half = F::of(0.5) * f * f;
    let tail = mul_add(s, mul_add(z, log_tail(z), half), of.k * ln2_low::<F>());
    let result = mul_add(of.k, ln2_high::<F>(), f - (half - tail));
    log_of_all(x, result)
}

/// log(1 + f + rest), not multiplied together.
pub(super) fn log_pair<F: Lane>(f: F, rest: F) -> Pair<F> {
    let s = f / (F::of(2.0) + f);
    let z = s * s;
    let half = F::of(0.5) * f * f;
    let first = sum_ordered(f, -half);
    let tail = mul_add(s, mul_add(z, log_tail(z), half), first.low);
    pair(first.high, tail + mul_add(rest, mul_add(f, f, -f), rest))
}

pub(in crate::par::interp) fn log2<F: Lane>(x: F) -> F {
    let of = parts(x);
    let natural = log_pair(of.f, F::of(0.0));
    let first = product(natural.high, log2_e_high::<F>());
    let low = mul_add(natural.high, log2_e_low::<F>(), mul_add(natural.low, log2_e_high::<F>(), first.low));
    let whole = sum(of.k, first.high);
    log_of_all(x, whole.high + (whole.low + low))
}

pub(in crate::par::interp) fn log10<F: Lane>(x: F) -> F {
    let of = parts(x);
    let natural = log_pair(of.f, F::of(0.0));
    let first = product(natural.high, log10_e_high::<F>());
    let low = mul_add(natural.high, log10_e_low::<F>(), mul_add(natural.low, log10_e_high::<F>(), first.low));
    let whole = sum(of.k * log10_2_high::<F>(), first.high);
    log_of_all(x, whole.high + (whole.low + mul_add(of.k, log10_2_low::<F>(), low)))
}

/// log(1 + g) of a pair, in two parts.
pub(super) fn log1p_pair<F: Lane>(g: Pair<F>, more_k: F) -> Pair<F> {
    let one_more = sum(F::of(1.0), g.high);
    let found = split(one_more.high);
    let large = found.exponent > F::of(if F::IS_DOUBLE { 1000.0 } else { 120.0 });
    let down = power_of_two(-select(large, F::of(0.0), found.exponent));
    let rest = select(large, F::of(0.0), (one_more.low + g.low) * down);
    let f = sum(found.mantissa - F::of(1.0), rest);
    let fraction = log_pair(f.high, f.low);
    let k = found.exponent + more_k;
    let whole = sum(k * ln2_high::<F>(), fraction.high);
    pair(whole.high, whole.low + mul_add(k, ln2_low::<F>(), fraction.low))
}

pub(in crate::par::interp) fn log1p<F: Lane>(x: F) -> F {
    let found = log1p_pair(pair(x, F::of(0.0)), F::of(0.0));
    let result = select(x < infinity::<F>(), found.high + found.low, x);
    let above = select(x > F::of(-1.0), result, select(x == F::of(-1.0), -infinity::<F>(), not_a_number::<F>()));
    let all = select(x.is_nan(), x, above);
    select(magnitude(x) < F::of(if F::IS_DOUBLE { 5.551115123125783e-17 } else { 2.9802322387695312e-08 }), x, all)
}

pub(in crate::par::interp) fn asinh<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let big = a > F::of(if F::IS_DOUBLE { 1073741824.0 } else { 16384.0 });
    let inside = select(big, F::of(1.0), a);
    // a + a^2 / (1 + sqrt(1 + a^2))
    let square = product(inside, inside);
    let more = sum(F::of(1.0), square.high);
    let root = root_of_pair(pair(more.high, more.low + square.low));
    let below = sum(F::of(1.0), root.high);
    let fraction = quotient(square, pair(below.high, below.low + root.low));
    let first = sum_ordered(inside, fraction.high);
    let g = pair(first.high, first.low + fraction.low);
    // log(2 a) of large ones
    let found =
        log1p_pair(pair(select(big, a, g.high), select(big, F::of(-1.0), g.low)), select(big, F::of(1.0), F::of(0.0)));
    let result = select(a < infinity::<F>(), found.high + found.low, a);
    select(a < F::of(if F::IS_DOUBLE { 3.725290298461914e-09 } else { 0.0001220703125 }), x, with_sign(result, x))
}

pub(in crate::par::interp) fn acosh<F: Lane>(x: F) -> F {
    let big = x > F::of(if F::IS_DOUBLE { 1073741824.0 } else { 16384.0 });
    let inside = select(big, F::of(1.0), x);
    // (x - 1) + sqrt(x^2 - 1)
    let square = product(inside, inside);
    let less = sum(square.high, F::of(-1.0));
    let radicand = sum(less.high, less.low + square.low);
    let root = root_of_pair(radicand);
    let first = sum(inside - F::of(1.0), root.high);
    let g = sum_ordered(first.high, first.low + root.low);
    let found =
        log1p_pair(pair(select(big, x, g.high), select(big, F::of(-1.0), g.low)), select(big, F::of(1.0), F::of(0.0)));
    let result = select(x < infinity::<F>(), found.high + found.low, x);
    select(x < F::of(1.0), not_a_number::<F>(), result)
}

pub(in crate::par::interp) fn atanh<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let inner = a < F::of(1.0);
    let inside = select(inner, a, F::of(0.0));
    // log(1 + 2 a / (1 - a)) / 2
    let below = sum_ordered(F::of(1.0), -inside);
    let g = quotient(pair(inside + inside, F::of(0.0)), below);
    let found = log1p_pair(g, F::of(0.0));
    let result = F::of(0.5) * (found.high + found.low);
    let all = select(inner, result, select(a == F::of(1.0), infinity::<F>(), not_a_number::<F>()));
    select(a < F::of(if F::IS_DOUBLE { 3.725290298461914e-09 } else { 0.0001220703125 }), x, with_sign(all, x))
}
