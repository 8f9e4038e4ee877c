//! asin, acos, atan, atan2.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::coefficients::constants::*;
use super::coefficients::inverse::*;
use super::lane::*;
use super::pair::*;

/// |x| <= 1/2 itself, or s = sqrt((1 - |x|) / 2) of the others, for which asin |x| = pi / 2 - 2 asin s.
#[derive(Clone, Copy)]
pub(super) struct Chord<F> {
    pub(super) high: F,
    pub(super) low: F,
    pub(super) cubed: F,
}

pub(super) fn chord<F: Lane>(a: F) -> Chord<F> {
    let inner = a < F::of(0.5);
    let z = select(inner, a * a, mul_add(F::of(-0.5), a, F::of(0.5)));
    let root = root_of_pair(pair(z, F::of(0.0)));
    let high = select(inner, a, root.high);
    Chord { high, low: select(inner, F::of(0.0), root.low), cubed: high * z * asin_tail(z) }
}

pub(in crate::par::interp) fn asin<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let c = chord(a);
    let turned = sum_ordered(half_pi_high::<F>(), F::of(-2.0) * c.high);
    let outer = turned.high + (turned.low + mul_add(F::of(-2.0), c.low + c.cubed, half_pi_low::<F>()));
    with_sign(select(a < F::of(0.5), c.high + c.cubed, outer), x)
}

pub(in crate::par::interp) fn acos<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let inner = a < F::of(0.5);
    let c = chord(a);
    let high = select(inner, select(x < F::of(0.0), -c.high, c.high), c.high);
    let low = select(inner, select(x < F::of(0.0), -c.cubed, c.cubed), c.low + c.cubed);
    // pi / 2 - asin x, 2 asin s, or pi - 2 asin s
    let factor = select(inner, F::of(-1.0), select(x < F::of(0.0), F::of(-2.0), F::of(2.0)));
    let base_high = select(inner, half_pi_high::<F>(), select(x < F::of(0.0), pi_high::<F>(), F::of(0.0)));
    let base_low = select(inner, half_pi_low::<F>(), select(x < F::of(0.0), pi_low::<F>(), F::of(0.0)));
    let first = sum(base_high, factor * high);
    first.high + (first.low + mul_add(factor, low, base_low))
}

/// The angle of (x, y), both not negative, at most one of them 0 or infinite. Of their ratio, at most 1, what lies between
/// it and the nearest of 0, 1/2 and 1 is left to the polynomial.
pub(super) fn angle<F: Lane>(above: F, below: F) -> Pair<F> {
    let to_half = above > F::of(0.23606797749978969) * below;
    let to_one = above > F::of(0.72075922005612645) * below;
    // tan(a - b) = (y - t x) / (x + t y) of t = 0, 1/2, 1
    let t = select(to_one, F::of(1.0), select(to_half, F::of(0.5), F::of(0.0)));
    let ratio = quotient(sum(above, -t * below), sum_ordered(below, t * above));
    let z = ratio.high * ratio.high;
    let tail = mul_add(ratio.high * z, atan_tail(z), ratio.low);
    let base_high = select(to_one, quarter_pi_high::<F>(), select(to_half, atan_half_high::<F>(), F::of(0.0)));
    let base_low = select(to_one, quarter_pi_low::<F>(), select(to_half, atan_half_low::<F>(), F::of(0.0)));
    let first = sum(base_high, ratio.high);
    pair(first.high, first.low + (base_low + tail))
}

pub(in crate::par::interp) fn atan<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let steep = a > F::of(1.0);
    // Beyond this the result is pi / 2, and what is divided by x would be too small to be a normal number.
    let inside = select(
        a > F::of(if F::IS_DOUBLE { 1.152921504606847e+18 } else { 1073741824.0 }),
        F::of(if F::IS_DOUBLE { 1.152921504606847e+18 } else { 1073741824.0 }),
        a,
    );
    let found = angle(select(steep, F::of(1.0), inside), select(steep, inside, F::of(1.0)));
    let turned = sum_ordered(half_pi_high::<F>(), -found.high);
    let outer = turned.high + (turned.low + (half_pi_low::<F>() - found.low));
    let result = select(steep, outer, found.high + found.low);
    select(a < F::of(if F::IS_DOUBLE { 3.725290298461914e-09 } else { 0.0001220703125 }), x, with_sign(result, x))
}

pub(in crate::par::interp) fn atan2<F: Lane>(y: F, x: F) -> F {
    let b = magnitude(y);
    let a = magnitude(x);
    let steep = b > a;
    let larger = select(steep, b, a);
    let smaller = select(steep, a, b);
    // Both are brought to where their products and quotients are normal numbers. A ratio below all numbers is 0 beside pi or
    // pi / 2; where it is the result itself, it is divided once more below.
    let infinite = larger == infinity::<F>();
    let factor = select(
        larger > F::of(if F::IS_DOUBLE { 3.273390607896142e+150 } else { 1.152921504606847e+18 }),
        F::of(if F::IS_DOUBLE { 2.409919865102884e-181 } else { 8.470329472543003e-22 }),
        select(
            larger < F::of(if F::IS_DOUBLE { 3.8725919148493183e-121 } else { 8.881784197001252e-16 }),
            F::of(if F::IS_DOUBLE { 4.149515568880993e+180 } else { 1.1805916207174113e+21 }),
            F::of(1.0),
        ),
    );
    let both = select(smaller == infinity::<F>(), F::of(1.0), F::of(0.0));
    let below = select(infinite, F::of(1.0), select(larger == F::of(0.0), F::of(1.0), larger * factor));
    let above = select(infinite, both, smaller * factor);
    let found = angle(above, below);
    let first = sum_ordered(select(steep, half_pi_high::<F>(), F::of(0.0)), select(steep, -found.high, found.high));
    let first_low = first.low + select(steep, half_pi_low::<F>() - found.low, found.low);
    let behind = is_negative(x);
    let second = sum_ordered(select(behind, pi_high::<F>(), F::of(0.0)), select(behind, -first.high, first.high));
    let result = second.high + (second.low + select(behind, pi_low::<F>() - first_low, first_low));
    let plain = !steep
        && !behind
        && !infinite
        && above < F::of(if F::IS_DOUBLE { 8.673617379884035e-19 } else { 9.313225746154785e-10 }) * below;
    let all = with_sign(select(plain, select(b == F::of(0.0), F::of(0.0), b / a), result), y);
    select(x.is_nan() || y.is_nan(), x + y, all)
}
