// Numbers as the sum of two: what rounding loses in a step is carried to the end of a function.
#pragma once

#include <hidp/maths/lane.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

template <class F>
struct Pair {
  F high, low;
};
template <class F>
HIDP_INLINE Pair<F> pair(F high, F low) {
  return {high, low};
}

// a + b, exactly, where a is not the smaller one.
template <class F>
HIDP_INLINE Pair<F> sum_ordered(F a, F b) {
  const F sum = a + b;
  return pair(sum, b - (sum - a));
}
// a + b, exactly.
template <class F>
HIDP_INLINE Pair<F> sum(F a, F b) {
  const F sum = a + b;
  const F of_b = sum - a;
  return pair(sum, (a - (sum - of_b)) + (b - of_b));
}
template <class F>
HIDP_INLINE F upper_half(F a) {
  const F shifted = a * F(kIsDouble<F> ? 0x1p27 + 1 : 0x1p12 + 1);
  return shifted - (shifted - a);
}
// a * b, exactly: where mul_add rounds twice, from products of halves.
template <class F>
HIDP_INLINE Pair<F> product(F a, F b) {
  const F whole = a * b;
  if constexpr (kFused) {
    return pair(whole, mul_add(a, b, -whole));
  } else {
    const F a_high = upper_half(a);
    const F b_high = upper_half(b);
    const F a_low = a - a_high;
    const F b_low = b - b_high;
    return pair(whole, ((a_high * b_high - whole) + a_high * b_low + a_low * b_high) + a_low * b_low);
  }
}
template <class F>
HIDP_INLINE Pair<F> product(Pair<F> a, Pair<F> b) {
  const Pair<F> whole = product(a.high, b.high);
  return sum_ordered(whole.high, whole.low + mul_add(a.high, b.low, a.low * b.high));
}
// The same, but the second part may be some units of the first one's last place.
template <class F>
HIDP_INLINE Pair<F> product_open(Pair<F> a, Pair<F> b) {
  const Pair<F> whole = product(a.high, b.high);
  return pair(whole.high, whole.low + mul_add(a.high, b.low, a.low * b.high));
}
// By one division: what the first part misses, it gets from the second.
template <class F>
HIDP_INLINE Pair<F> quotient(Pair<F> a, Pair<F> b) {
  const F inverse = F(1) / b.high;
  const F whole = a.high * inverse;
  const Pair<F> back = product(whole, b.high);
  const F rest = ((a.high - back.high) - back.low) + mul_add(-whole, b.low, a.low);
  return pair(whole, rest * inverse);
}
// 0 of 0.
template <class F>
HIDP_INLINE Pair<F> square_root(Pair<F> a) {
  const F whole = square_root(a.high);
  const Pair<F> back = product(whole, whole);
  const F rest = ((a.high - back.high) - back.low) + a.low;
  return pair(whole, select(whole > F(0), rest / (whole + whole), F(0)));
}

}  // namespace maths
HIDP_NAMESPACE_END
