// pow: 2^(y log2 |x|), the logarithm in two parts of about 68 bits; float in double.
#pragma once

#include <hidp/maths/coefficients/constants.hpp>
#include <hidp/maths/coefficients/power.hpp>
#include <hidp/maths/exponential.hpp>
#include <hidp/maths/logarithm.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

template <class F>
HIDP_INLINE Pair<F> log2_pair(F a) {
  const Parts<F> of = parts(a);
  const Pair<F> s = quotient(pair(of.f, F(0)), sum_ordered(F(2), of.f));
  const Pair<F> z = product_open(s, s);
  // artanh s = s + s z (1 / 3 + …)
  const Pair<F> first = sum_ordered(third_high<F>(), z.high * pow_tail(z.high));
  const Pair<F> series = pair(first.high, first.low + third_low<F>());
  const Pair<F> cubed = product_open(product_open(s, z), series);
  const Pair<F> whole = sum_ordered(s.high, cubed.high);
  const Pair<F> artanh = sum_ordered(whole.high, whole.low + (s.low + cubed.low));
  const Pair<F> log2 = product_open(artanh, pair(two_over_ln2_high<F>(), two_over_ln2_low<F>()));
  const Pair<F> with_k = sum(of.k, log2.high);
  return sum_ordered(with_k.high, with_k.low + log2.low);
}

// |x|^y, and what is no number where x or y is none.
template <class F>
HIDP_INLINE F wide_power_of_magnitude(F a, F y) {
  const Pair<F> log2 = log2_pair(a);
  // Of 0 and infinity what a logarithm has there.
  const F log2_high = select((a > F(0)) & (a < infinity<F>()), log2.high, (a - F(1)) * infinity<F>());
  // The least logarithm but 0 is 2^-53: more than this makes no difference.
  const F inside = at_least(F(-0x1p65), at_most(F(0x1p65), y));
  const Pair<F> exact = product(log2_high, inside);
  const F high = at_least(F(-1100), at_most(F(1100), exact.high));
  // Of all results but 0 and infinity it is less. What is no number is replaced.
  const F rest = mul_add(log2.low, inside, exact.low);
  const F low = at_least(at_most(rest, F(0x1p-40)), F(-0x1p-40));
  const F n = nearest(high);
  const Pair<F> r = sum_ordered(high - n, low);
  const F tail = mul_add(r.high * r.high, exp2_tail(r.high), mul_add(r.high, ln2_whole_low<F>(), r.low * ln2_whole_high<F>()));
  const Pair<F> first = product(r.high, ln2_whole_high<F>());
  const Pair<F> whole = sum_ordered(F(1), first.high);
  return scale(whole.high + (whole.low + (first.low + tail)), n);
}
// Whether a power of that size has no fraction.
template <class F>
HIDP_INLINE bool is_whole(F size) {
  const F from = F(kIsDouble<F> ? 0x1p52 : 0x1p23);
  return (size >= from) | ((size + from) - from == size);
}
template <class F>
HIDP_INLINE F wide_pow(F x, F y) {
  const F size = magnitude(y);
  const bool whole = is_whole(size);
  const bool odd = whole & !is_whole(F(0.5) * size);
  const F power = with_sign(wide_power_of_magnitude(magnitude(x), y), select(odd, x, F(0)));
  const bool undefined = (x < F(0)) & (x > -infinity<F>()) & !whole;
  return select((x == F(1)) | (y == F(0)), F(1), select(undefined, not_a_number<F>(), power));
}

// In double, for a and y of float.
template <class F>
HIDP_INLINE F short_power_of_positive(F a, F y) {
  const Split<F> of = split(a);
  const F f = of.mantissa - F(1);
  const F s = f / (F(2) + f);
  const F log2 = mul_add(s, log2_short(s * s), of.exponent);
  const F exact = log2 * select(y > F(0x1p40), F(0x1p40), select(y < F(-0x1p40), F(-0x1p40), y));
  const F inside = select(exact > F(300), F(300), select(exact < F(-300), F(-300), exact));
  const F n = nearest(inside);
  return exp2_short(inside - n) * power_of_two(n);
}

// What IEEE 754 and C say of all arguments, given |x|^y where that is positive and finite.
template <class F>
HIDP_INLINE F power_of_all(F x, F y, F positive) {
  const F a = magnitude(x);
  const F size = magnitude(y);
  const bool whole = is_whole(size);
  const bool even = is_whole(F(0.5) * size);
  const bool negative = is_negative(x);
  const F of_zero = select(y < F(0), infinity<F>(), F(0));
  const F of_infinity = select(y < F(0), F(0), infinity<F>());
  const F unsigned_result = select(a == F(0), of_zero, select(a == infinity<F>(), of_infinity, positive));
  const F signed_result = select(negative & whole & !even, -unsigned_result, unsigned_result);
  const bool defined = !negative | whole | (a == F(0)) | (a == infinity<F>());
  const F result = select(defined, signed_result, not_a_number<F>());
  const F all = select((x != x) | (y != y), x + y, result);
  return select((x == F(1)) | (y == F(0)), F(1), all);
}

template <class F>
HIDP_INLINE F short_pow(F x, F y) {
  const F a = magnitude(x);
  const bool ordinary = (a > F(0)) & (a < infinity<F>());
  const F inside = select(ordinary, a, F(1));
  return power_of_all(x, y, narrow(short_power_of_positive(widen(inside), widen(y))));
}

template <class F>
HIDP_INLINE F pow(F x, F y) {
  if constexpr (kIsDouble<F>) return wide_pow(x, y);
  else return short_pow(x, y);
}

}  // namespace maths
HIDP_NAMESPACE_END
