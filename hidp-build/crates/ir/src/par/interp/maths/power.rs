//! pow: 2^(y log2 |x|), the logarithm in two parts of about 68 bits; float in double.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::coefficients::constants::*;
use super::coefficients::exponential::*;
use super::coefficients::power::*;
use super::lane::*;
use super::logarithm::*;
use super::pair::*;

pub(super) fn log2_pair<F: Lane>(a: F) -> Pair<F> {
    let of = parts(a);
    let s = quotient(pair(of.f, F::of(0.0)), sum_ordered(F::of(2.0), of.f));
    let z = product_open(s, s);
    // artanh s = s + s z (1 / 3 + …)
    let first = sum_ordered(third_high::<F>(), z.high * pow_tail(z.high));
    let series = pair(first.high, first.low + third_low::<F>());
    let cubed = product_open(product_open(s, z), series);
    let whole = sum_ordered(s.high, cubed.high);
    let artanh = sum_ordered(whole.high, whole.low + (s.low + cubed.low));
    let log2 = product_open(artanh, pair(two_over_ln2_high::<F>(), two_over_ln2_low::<F>()));
    let with_k = sum(of.k, log2.high);
    sum_ordered(with_k.high, with_k.low + log2.low)
}

/// |x|^y, and what is no number where x or y is none.
pub(super) fn wide_power_of_magnitude<F: Lane>(a: F, y: F) -> F {
    let log2 = log2_pair(a);
    // Of 0 and infinity what a logarithm has there.
    let log2_high = select((a > F::of(0.0)) & (a < infinity::<F>()), log2.high, (a - F::of(1.0)) * infinity::<F>());
    // The least logarithm but 0 is 2^-53: more than this makes no difference.
    let inside = at_least(F::of(-3.6893488147419103e+19), at_most(F::of(3.6893488147419103e+19), y));
    let exact = product(log2_high, inside);
    let high = at_least(F::of(-1100.0), at_most(F::of(1100.0), exact.high));
    // Of all results but 0 and infinity it is less. What is no number is replaced.
    let rest = mul_add(log2.low, inside, exact.low);
    let low = at_least(at_most(rest, F::of(9.094947017729282e-13)), F::of(-9.094947017729282e-13));
    let n = nearest(high);
    let r = sum_ordered(high - n, low);
    let tail = mul_add(
        r.high * r.high,
        exp2_tail(r.high),
        mul_add(r.high, ln2_whole_low::<F>(), r.low * ln2_whole_high::<F>()),
    );
    let first = product(r.high, ln2_whole_high::<F>());
    let whole = sum_ordered(F::of(1.0), first.high);
    scale(whole.high + (whole.low + (first.low + tail)), n)
}

/// Whether a power of that size has no fraction.
pub(super) fn is_whole<F: Lane>(size: F) -> bool {
    let from = F::of(if F::IS_DOUBLE { 4503599627370496.0 } else { 8388608.0 });
    (size >= from) | ((size + from) - from == size)
}

pub(super) fn wide_pow<F: Lane>(x: F, y: F) -> F {
    let size = magnitude(y);
    let whole = is_whole(size);
    let odd = whole & !is_whole(F::of(0.5) * size);
    let power = with_sign(wide_power_of_magnitude(magnitude(x), y), select(odd, x, F::of(0.0)));
    let undefined = (x < F::of(0.0)) & (x > -infinity::<F>()) & !whole;
    select((x == F::of(1.0)) | (y == F::of(0.0)), F::of(1.0), select(undefined, not_a_number::<F>(), power))
}

/// In double, for a and y of float.
pub(super) fn short_power_of_positive<F: Lane>(a: F, y: F) -> F {
    let of = split(a);
    let f = of.mantissa - F::of(1.0);
    let s = f / (F::of(2.0) + f);
    let log2 = mul_add(s, log2_short(s * s), of.exponent);
    let exact = log2
        * select(
            y > F::of(1099511627776.0),
            F::of(1099511627776.0),
            select(y < F::of(-1099511627776.0), F::of(-1099511627776.0), y),
        );
    let inside = select(exact > F::of(300.0), F::of(300.0), select(exact < F::of(-300.0), F::of(-300.0), exact));
    let n = nearest(inside);
    exp2_short(inside - n) * power_of_two(n)
}

/// What IEEE 754 and C say of all arguments, given |x|^y where that is positive and finite.
pub(super) fn power_of_all<F: Lane>(x: F, y: F, positive: F) -> F {
    let a = magnitude(x);
    let size = magnitude(y);
    let whole = is_whole(size);
    let even = is_whole(F::of(0.5) * size);
    let negative = is_negative(x);
    let of_zero = select(y < F::of(0.0), infinity::<F>(), F::of(0.0));
    let of_infinity = select(y < F::of(0.0), F::of(0.0), infinity::<F>());
    let unsigned_result = select(a == F::of(0.0), of_zero, select(a == infinity::<F>(), of_infinity, positive));
    let signed_result = select(negative & whole & !even, -unsigned_result, unsigned_result);
    let defined = !negative | whole | (a == F::of(0.0)) | (a == infinity::<F>());
    let result = select(defined, signed_result, not_a_number::<F>());
    let all = select((x.is_nan()) | (y.is_nan()), x + y, result);
    select((x == F::of(1.0)) | (y == F::of(0.0)), F::of(1.0), all)
}

pub(super) fn short_pow<F: Lane>(x: F, y: F) -> F {
    let a = magnitude(x);
    let ordinary = (a > F::of(0.0)) & (a < infinity::<F>());
    let inside = select(ordinary, a, F::of(1.0));
    power_of_all(x, y, narrow::<F>(short_power_of_positive(widen(inside), widen(y))))
}

pub(in crate::par::interp) fn pow<F: Lane>(x: F, y: F) -> F {
    if F::IS_DOUBLE { wide_pow(x, y) } else { short_pow(x, y) }
}
