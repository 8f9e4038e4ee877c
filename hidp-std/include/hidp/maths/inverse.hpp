// asin, acos, atan, atan2.
#pragma once

#include <hidp/maths/coefficients/constants.hpp>
#include <hidp/maths/coefficients/inverse.hpp>
#include <hidp/maths/pair.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// |x| <= 1/2 itself, or s = sqrt((1 - |x|) / 2) of the others, for which asin |x| = pi / 2 - 2 asin s.
template <class F>
struct Chord {
  F high, low, cubed;
};
template <class F>
HIDP_INLINE Chord<F> chord(F a) {
  const bool inner = a < F(0.5);
  const F z = select(inner, a * a, mul_add(F(-0.5), a, F(0.5)));
  const Pair<F> root = square_root(pair(z, F(0)));
  const F high = select(inner, a, root.high);
  return {high, select(inner, F(0), root.low), high * z * asin_tail(z)};
}

template <class F>
HIDP_INLINE F asin(F x) {
  const F a = magnitude(x);
  const Chord<F> c = chord(a);
  const Pair<F> turned = sum_ordered(half_pi_high<F>(), F(-2) * c.high);
  const F outer = turned.high + (turned.low + mul_add(F(-2), c.low + c.cubed, half_pi_low<F>()));
  return with_sign(select(a < F(0.5), c.high + c.cubed, outer), x);
}

template <class F>
HIDP_INLINE F acos(F x) {
  const F a = magnitude(x);
  const bool inner = a < F(0.5);
  const Chord<F> c = chord(a);
  const F high = select(inner, select(x < F(0), -c.high, c.high), c.high);
  const F low = select(inner, select(x < F(0), -c.cubed, c.cubed), c.low + c.cubed);
  // pi / 2 - asin x, 2 asin s, or pi - 2 asin s
  const F factor = select(inner, F(-1), select(x < F(0), F(-2), F(2)));
  const F base_high = select(inner, half_pi_high<F>(), select(x < F(0), pi_high<F>(), F(0)));
  const F base_low = select(inner, half_pi_low<F>(), select(x < F(0), pi_low<F>(), F(0)));
  const Pair<F> first = sum(base_high, factor * high);
  return first.high + (first.low + mul_add(factor, low, base_low));
}

// The angle of (x, y), both not negative, at most one of them 0 or infinite. Of their ratio, at most 1, what lies between
// it and the nearest of 0, 1/2 and 1 is left to the polynomial.
template <class F>
HIDP_INLINE Pair<F> angle(F above, F below) {
  const bool to_half = above > F(0.23606797749978969) * below;
  const bool to_one = above > F(0.72075922005612645) * below;
  // tan(a - b) = (y - t x) / (x + t y) of t = 0, 1/2, 1
  const F t = select(to_one, F(1), select(to_half, F(0.5), F(0)));
  const Pair<F> ratio = quotient(sum(above, -t * below), sum_ordered(below, t * above));
  const F z = ratio.high * ratio.high;
  const F tail = mul_add(ratio.high * z, atan_tail(z), ratio.low);
  const F base_high = select(to_one, quarter_pi_high<F>(), select(to_half, atan_half_high<F>(), F(0)));
  const F base_low = select(to_one, quarter_pi_low<F>(), select(to_half, atan_half_low<F>(), F(0)));
  const Pair<F> first = sum(base_high, ratio.high);
  return pair(first.high, first.low + (base_low + tail));
}

template <class F>
HIDP_INLINE F atan(F x) {
  const F a = magnitude(x);
  const bool steep = a > F(1);
  // Beyond this the result is pi / 2, and what is divided by x would be too small to be a normal number.
  const F inside = select(a > F(kIsDouble<F> ? 0x1p60 : 0x1p30), F(kIsDouble<F> ? 0x1p60 : 0x1p30), a);
  const Pair<F> found = angle(select(steep, F(1), inside), select(steep, inside, F(1)));
  const Pair<F> turned = sum_ordered(half_pi_high<F>(), -found.high);
  const F outer = turned.high + (turned.low + (half_pi_low<F>() - found.low));
  const F result = select(steep, outer, found.high + found.low);
  return select(a < F(kIsDouble<F> ? 0x1p-28 : 0x1p-13), x, with_sign(result, x));
}

template <class F>
HIDP_INLINE F atan2(F y, F x) {
  const F b = magnitude(y);
  const F a = magnitude(x);
  const bool steep = b > a;
  const F larger = select(steep, b, a);
  const F smaller = select(steep, a, b);
  // Both are brought to where their products and quotients are normal numbers. A ratio below all numbers is 0 beside pi or
  // pi / 2; where it is the result itself, it is divided once more below.
  const bool infinite = larger == infinity<F>();
  const F factor = select(larger > F(kIsDouble<F> ? 0x1p500 : 0x1p60), F(kIsDouble<F> ? 0x1p-600 : 0x1p-70),
                          select(larger < F(kIsDouble<F> ? 0x1p-400 : 0x1p-50), F(kIsDouble<F> ? 0x1p600 : 0x1p70), F(1)));
  const F both = select(smaller == infinity<F>(), F(1), F(0));
  const F below = select(infinite, F(1), select(larger == F(0), F(1), larger * factor));
  const F above = select(infinite, both, smaller * factor);
  const Pair<F> found = angle(above, below);
  const Pair<F> first = sum_ordered(select(steep, half_pi_high<F>(), F(0)), select(steep, -found.high, found.high));
  const F first_low = first.low + select(steep, half_pi_low<F>() - found.low, found.low);
  const bool behind = is_negative(x);
  const Pair<F> second = sum_ordered(select(behind, pi_high<F>(), F(0)), select(behind, -first.high, first.high));
  const F result = second.high + (second.low + select(behind, pi_low<F>() - first_low, first_low));
  const bool plain = !steep && !behind && !infinite && above < F(kIsDouble<F> ? 0x1p-60 : 0x1p-30) * below;
  const F all = with_sign(select(plain, select(b == F(0), F(0), b / a), result), y);
  return select(x != x || y != y, x + y, all);
}

}  // namespace maths
HIDP_NAMESPACE_END
