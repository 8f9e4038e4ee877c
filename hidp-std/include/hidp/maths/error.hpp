// erf and erfc: erf is x times a polynomial where x is small, erfc(x) = e^(-x^2) P(q) / (1 + 2 x) with q = (x - 4) / (x + 4)
// where it is not; each is 1 without the other. Float in double, erf by one polynomial, which takes no quotients.
#pragma once

#include <hidp/maths/coefficients/constants.hpp>
#include <hidp/maths/coefficients/error.hpp>
#include <hidp/maths/exponential.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// erfc(a) / 2^n of a in [0, 28].
template <class F>
struct Complement {
  Pair<F> value;
  F n;
};
template <class F>
HIDP_INLINE Complement<F> complement(F a) {
  const Pair<F> q = quotient(sum(a, F(-4)), sum(a, F(4)));
  const F tail = q.high * erfc_tail(q.high);
  const Pair<F> second = sum(erfc_second_high<F>(), tail);
  const F slope = erfc_second_low<F>() + second.low;
  // P = first + q (second + tail), the first terms in two parts; q.low times about its slope.
  const Pair<F> linear = product(q.high, second.high);
  const Pair<F> first = sum_ordered(erfc_first_high<F>(), linear.high);
  const F first_low = first.low + (linear.low + mul_add(q.high, slope, mul_add(q.low, mul_add(F(3), tail, second.high), erfc_first_low<F>())));
  const Pair<F> twice = sum(F(1), a + a);
  const Pair<F> fraction = quotient(pair(first.high, first_low), twice);
  // e^(-a^2)
  const Pair<F> square = product(a, a);
  const Reduced<F> reduced = reduce_by_ln2(-square.high);
  const F r = reduced.r;
  const Pair<F> one = sum_ordered(F(1), r);
  const F power_tail = r * r * exp_tail(r);
  const F one_low = one.low + mul_add(reduced.rest - square.low, one.high + power_tail, power_tail);
  const Pair<F> power = sum_ordered(one.high, one_low);
  return {product(fraction, power), reduced.n};
}

// In double for float.
template <class F>
HIDP_INLINE F short_complement(F a) {
  const F fraction = erfc_short((a - F(4)) / (a + F(4))) / mul_add(F(2), a, F(1));
  const F exponent = -(a * a) * log2_e_high<F>();
  const F n = nearest(exponent);
  return fraction * exp2_short(exponent - n) * power_of_two(n);
}

// erf of |x| < 3/4.
template <class F>
HIDP_INLINE Pair<F> inner_erf(F x) {
  const F z = x * x;
  const Pair<F> first = product(x, two_over_root_pi_high<F>());
  return pair(first.high, mul_add(x * z, erf_tail(z), mul_add(x, two_over_root_pi_low<F>(), first.low)));
}
template <class F>
HIDP_INLINE F wide_erf(F x) {
  const F a = magnitude(x);
  const Pair<F> inner = inner_erf(x);
  const Complement<F> rest = complement(select(a > F(6), F(6), a));
  const F down = power_of_two(rest.n);
  const Pair<F> outer = sum_ordered(F(1), -rest.value.high * down);
  const F large = with_sign(outer.high + (outer.low - rest.value.low * down), x);
  // Below this the parts of the product are no normal numbers.
  const F tiny = F(0x1p-600) * (F(0x1p600) * x * two_over_root_pi_high<F>());
  return select(a < F(0x1p-400), tiny, select(a < F(0.65), inner.high + inner.low, large));
}
template <class F>
HIDP_INLINE F wide_erfc(F x) {
  const F a = magnitude(x);
  const Pair<F> inner = inner_erf(x);
  const Pair<F> near = sum_ordered(F(1), -inner.high);
  const Complement<F> found = complement(select(a > F(28), F(28), a));
  const F plain = scale(found.value.high + found.value.low, found.n);
  const F down = power_of_two(select(found.n < F(-200), F(-200), found.n));
  const Pair<F> other = sum_ordered(F(2), -found.value.high * down);
  const F far = select(x < F(0), other.high + (other.low - found.value.low * down), plain);
  return select(a < F(0.5), near.high + (near.low - inner.low), far);
}
// From 3.92 on it is 1 as a float.
template <class F>
HIDP_INLINE F short_erf(F x) {
  const F inside = at_least(F(-4), at_most(F(4), x));
  return inside * erf_short(mul_add(inside * inside, F(0.125), F(-1)));
}
template <class F>
HIDP_INLINE F short_erfc(F x) {
  const F a = magnitude(x);
  const F found = short_complement(select(a > F(10.5), F(10.5), a));
  return select(x < F(0), F(2) - found, found);
}

template <class F>
HIDP_INLINE F erf(F x) {
  if constexpr (kIsDouble<F>) return wide_erf(x);
  else return narrow(short_erf(widen(x)));
}
template <class F>
HIDP_INLINE F erfc(F x) {
  if constexpr (kIsDouble<F>) return wide_erfc(x);
  else return narrow(short_erfc(widen(x)));
}

}  // namespace maths
HIDP_NAMESPACE_END
