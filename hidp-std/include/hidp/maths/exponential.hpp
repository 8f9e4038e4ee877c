// exp, exp2, expm1, sinh, cosh, tanh: 2^n from the exponent's bits, the rest from a polynomial on |r| <= ln 2 / 2. What
// rounding r loses is added at the end.
#pragma once

#include <hidp/maths/coefficients/constants.hpp>
#include <hidp/maths/coefficients/exponential.hpp>
#include <hidp/maths/pair.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// x = n ln 2 + r + rest
template <class F>
struct Reduced {
  F n, r, rest;
};
template <class F>
HIDP_INLINE Reduced<F> reduce_by_ln2(F x) {
  const F n = nearest(x * log2_e_high<F>());
  const F high = mul_add(-n, ln2_high<F>(), x);
  const F low = n * ln2_low<F>();
  const F r = high - low;
  return {n, r, (high - r) - low};
}

template <class F>
HIDP_INLINE F exp(F x) {
  const F low = F(kIsDouble<F> ? -746.0 : -105.0);
  const F high = F(kIsDouble<F> ? 710.0 : 89.0);
  const F inside = select(x < low, low, select(x > high, high, x));
  const Reduced<F> reduced = reduce_by_ln2(inside);
  const F r = reduced.r;
  const F tail = mul_add(r * r, exp_tail(r), reduced.rest);
  return scale(F(1) + (r + tail), reduced.n);
}

template <class F>
HIDP_INLINE F exp2(F x) {
  const F low = F(kIsDouble<F> ? -1076.0 : -151.0);
  const F high = F(kIsDouble<F> ? 1025.0 : 129.0);
  const F inside = select(x < low, low, select(x > high, high, x));
  const F n = nearest(inside);
  const F r = inside - n;
  const F tail = mul_add(r * r, exp2_tail(r), r * ln2_whole_low<F>());
  if constexpr (kFused) {
    return scale(F(1) + mul_add(r, ln2_whole_high<F>(), tail), n);
  } else {
    const Pair<F> first = product(r, ln2_whole_high<F>());
    return scale(F(1) + (first.high + (first.low + tail)), n);
  }
}

template <class F>
HIDP_INLINE F expm1(F x) {
  const F low = F(kIsDouble<F> ? -40.0 : -20.0);
  const F high = F(kIsDouble<F> ? 710.0 : 89.0);
  const F inside = select(x < low, low, select(x > high, high, x));
  const Reduced<F> reduced = reduce_by_ln2(inside);
  const F r = reduced.r;
  const Pair<F> square = product(F(0.5) * r, r);
  const F tail = mul_add(square.high * (r + r), expm1_tail(r), mul_add(reduced.rest, r, reduced.rest));
  // 2^n (1 - 2^-n + e^r - 1)
  const Pair<F> one = sum(F(1), -power_of_two(-select(reduced.n > F(100), F(100), reduced.n)));
  const Pair<F> first = sum(one.high, r);
  const Pair<F> second = sum(first.high, square.high);
  const F result = scale(second.high + (second.low + (first.low + (one.low + (square.low + tail)))), reduced.n);
  return select(magnitude(x) < F(kIsDouble<F> ? 0x1p-54 : 0x1p-25), x, result);
}

// sinh and cosh of a >= 0, both divided by 2^n.
template <class F>
struct Hyperbolic {
  Pair<F> sinh, cosh;
  F n;
};
template <class F>
HIDP_INLINE Hyperbolic<F> hyperbolic(F a) {
  const Reduced<F> reduced = reduce_by_ln2(a);
  const F r = reduced.r;
  const F square = r * r;
  const F odd = mul_add(r * square, sinh_tail(square), reduced.rest);
  const F even = mul_add(square, cosh_tail(square), r * reduced.rest);
  // (2^n - 2^-n) / 2 and (2^n + 2^-n) / 2, over 2^n
  const F fraction = power_of_two(mul_add(F(-2), select(reduced.n > F(40), F(40), reduced.n), F(-1)));
  const Pair<F> minus = sum_ordered(F(0.5), -fraction);
  const Pair<F> plus = sum_ordered(F(0.5), fraction);
  const Pair<F> plus_r = product(plus.high, r);
  const Pair<F> minus_r = product(minus.high, r);
  const Pair<F> sinh = sum(minus.high, plus_r.high);
  const Pair<F> cosh = sum_ordered(plus.high, minus_r.high);
  const F sinh_rest = mul_add(plus.low, r, minus.low) + (plus_r.low + sinh.low);
  const F cosh_rest = mul_add(minus.low, r, plus.low) + (minus_r.low + cosh.low);
  const F sinh_low = mul_add(minus.high, even, mul_add(plus.high, odd, sinh_rest));
  const F cosh_low = mul_add(plus.high, even, mul_add(minus.high, odd, cosh_rest));
  return {pair(sinh.high, sinh_low), pair(cosh.high, cosh_low), reduced.n};
}

template <class F>
HIDP_INLINE F sinh(F x) {
  const F a = magnitude(x);
  const F high = F(kIsDouble<F> ? 712.0 : 91.0);
  const Hyperbolic<F> both = hyperbolic(select(a > high, high, a));
  const F result = scale(both.sinh.high + both.sinh.low, both.n);
  return select(a < F(kIsDouble<F> ? 0x1p-28 : 0x1p-13), x, with_sign(result, x));
}

template <class F>
HIDP_INLINE F cosh(F x) {
  const F a = magnitude(x);
  const F high = F(kIsDouble<F> ? 712.0 : 91.0);
  const Hyperbolic<F> both = hyperbolic(select(a > high, high, a));
  return scale(both.cosh.high + both.cosh.low, both.n);
}

template <class F>
HIDP_INLINE F tanh(F x) {
  const F a = magnitude(x);
  const F high = F(kIsDouble<F> ? 22.0 : 11.0);
  const Hyperbolic<F> both = hyperbolic(select(a > high, high, a));
  const Pair<F> above = sum_ordered(both.sinh.high, both.sinh.low);
  const Pair<F> below = sum_ordered(both.cosh.high, both.cosh.low);
  const Pair<F> result = quotient(above, below);
  return select(a < F(kIsDouble<F> ? 0x1p-28 : 0x1p-13), x, with_sign(result.high + result.low, x));
}

}  // namespace maths
HIDP_NAMESPACE_END
