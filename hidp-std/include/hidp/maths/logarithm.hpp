// log, log2, log10, log1p, asinh, acosh, atanh: x = 2^k (1 + f), and log(1 + f) = 2 artanh(s) of s = f / (2 + f), written as
// f - f^2 / 2 + s (f^2 / 2 + R(s^2)), so that the largest term is exact.
#pragma once

#include <hidp/maths/coefficients/constants.hpp>
#include <hidp/maths/coefficients/logarithm.hpp>
#include <hidp/maths/pair.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// x as 2^k (1 + f); of a subnormal number too.
template <class F>
struct Parts {
  F k, f;
};
template <class F>
HIDP_INLINE Parts<F> parts(F x) {
  const bool tiny = x < F(kIsDouble<F> ? 0x1p-1022 : 0x1p-126);
  const F lifted = select(tiny, x * F(kIsDouble<F> ? 0x1p54 : 0x1p25), x);
  const Split<F> found = split(lifted);
  return {found.exponent - select(tiny, F(kIsDouble<F> ? 54.0 : 25.0), F(0)), found.mantissa - F(1)};
}

// The result where x is a positive number, else what a logarithm has there.
template <class F>
HIDP_INLINE F log_of_all(F x, F result) {
  const F upper = select(x < infinity<F>(), result, x);
  const F lower = select(x < F(0), not_a_number<F>(), upper);
  return select(x == F(0), -infinity<F>(), lower);
}

template <class F>
HIDP_INLINE F log(F x) {
  const Parts<F> of = parts(x);
  const F f = of.f;
  const F s = f / (F(2) + f);
  const F z = s * s;
  const F half = F(0.5) * f * f;
  const F tail = mul_add(s, mul_add(z, log_tail(z), half), of.k * ln2_low<F>());
  const F result = mul_add(of.k, ln2_high<F>(), f - (half - tail));
  return log_of_all(x, result);
}

// log(1 + f + rest), not multiplied together.
template <class F>
HIDP_INLINE Pair<F> log_pair(F f, F rest) {
  const F s = f / (F(2) + f);
  const F z = s * s;
  const F half = F(0.5) * f * f;
  const Pair<F> first = sum_ordered(f, -half);
  const F tail = mul_add(s, mul_add(z, log_tail(z), half), first.low);
  return pair(first.high, tail + mul_add(rest, mul_add(f, f, -f), rest));
}

template <class F>
HIDP_INLINE F log2(F x) {
  const Parts<F> of = parts(x);
  const Pair<F> natural = log_pair(of.f, F(0));
  const Pair<F> first = product(natural.high, log2_e_high<F>());
  const F low = mul_add(natural.high, log2_e_low<F>(), mul_add(natural.low, log2_e_high<F>(), first.low));
  const Pair<F> whole = sum(of.k, first.high);
  return log_of_all(x, whole.high + (whole.low + low));
}

template <class F>
HIDP_INLINE F log10(F x) {
  const Parts<F> of = parts(x);
  const Pair<F> natural = log_pair(of.f, F(0));
  const Pair<F> first = product(natural.high, log10_e_high<F>());
  const F low = mul_add(natural.high, log10_e_low<F>(), mul_add(natural.low, log10_e_high<F>(), first.low));
  const Pair<F> whole = sum(of.k * log10_2_high<F>(), first.high);
  return log_of_all(x, whole.high + (whole.low + mul_add(of.k, log10_2_low<F>(), low)));
}

// log(1 + g) of a pair, in two parts.
template <class F>
HIDP_INLINE Pair<F> log1p_pair(Pair<F> g, F more_k) {
  const Pair<F> one_more = sum(F(1), g.high);
  const Split<F> found = split(one_more.high);
  const bool large = found.exponent > F(kIsDouble<F> ? 1000.0 : 120.0);
  const F down = power_of_two(-select(large, F(0), found.exponent));
  const F rest = select(large, F(0), (one_more.low + g.low) * down);
  const Pair<F> f = sum(found.mantissa - F(1), rest);
  const Pair<F> fraction = log_pair(f.high, f.low);
  const F k = found.exponent + more_k;
  const Pair<F> whole = sum(k * ln2_high<F>(), fraction.high);
  return pair(whole.high, whole.low + mul_add(k, ln2_low<F>(), fraction.low));
}

template <class F>
HIDP_INLINE F log1p(F x) {
  const Pair<F> found = log1p_pair(pair(x, F(0)), F(0));
  const F result = select(x < infinity<F>(), found.high + found.low, x);
  const F above = select(x > F(-1), result, select(x == F(-1), -infinity<F>(), not_a_number<F>()));
  const F all = select(x != x, x, above);
  return select(magnitude(x) < F(kIsDouble<F> ? 0x1p-54 : 0x1p-25), x, all);
}

template <class F>
HIDP_INLINE F asinh(F x) {
  const F a = magnitude(x);
  const bool big = a > F(kIsDouble<F> ? 0x1p30 : 0x1p14);
  const F inside = select(big, F(1), a);
  // a + a^2 / (1 + sqrt(1 + a^2))
  const Pair<F> square = product(inside, inside);
  const Pair<F> more = sum(F(1), square.high);
  const Pair<F> root = square_root(pair(more.high, more.low + square.low));
  const Pair<F> below = sum(F(1), root.high);
  const Pair<F> fraction = quotient(square, pair(below.high, below.low + root.low));
  const Pair<F> first = sum_ordered(inside, fraction.high);
  const Pair<F> g = pair(first.high, first.low + fraction.low);
  // log(2 a) of large ones
  const Pair<F> found = log1p_pair(pair(select(big, a, g.high), select(big, F(-1), g.low)), select(big, F(1), F(0)));
  const F result = select(a < infinity<F>(), found.high + found.low, a);
  return select(a < F(kIsDouble<F> ? 0x1p-28 : 0x1p-13), x, with_sign(result, x));
}

template <class F>
HIDP_INLINE F acosh(F x) {
  const bool big = x > F(kIsDouble<F> ? 0x1p30 : 0x1p14);
  const F inside = select(big, F(1), x);
  // (x - 1) + sqrt(x^2 - 1)
  const Pair<F> square = product(inside, inside);
  const Pair<F> less = sum(square.high, F(-1));
  const Pair<F> radicand = sum(less.high, less.low + square.low);
  const Pair<F> root = square_root(radicand);
  const Pair<F> first = sum(inside - F(1), root.high);
  const Pair<F> g = sum_ordered(first.high, first.low + root.low);
  const Pair<F> found = log1p_pair(pair(select(big, x, g.high), select(big, F(-1), g.low)), select(big, F(1), F(0)));
  const F result = select(x < infinity<F>(), found.high + found.low, x);
  return select(x < F(1), not_a_number<F>(), result);
}

template <class F>
HIDP_INLINE F atanh(F x) {
  const F a = magnitude(x);
  const bool inner = a < F(1);
  const F inside = select(inner, a, F(0));
  // log(1 + 2 a / (1 - a)) / 2
  const Pair<F> below = sum_ordered(F(1), -inside);
  const Pair<F> g = quotient(pair(inside + inside, F(0)), below);
  const Pair<F> found = log1p_pair(g, F(0));
  const F result = F(0.5) * (found.high + found.low);
  const F all = select(inner, result, select(a == F(1), infinity<F>(), not_a_number<F>()));
  return select(a < F(kIsDouble<F> ? 0x1p-28 : 0x1p-13), x, with_sign(all, x));
}

}  // namespace maths
HIDP_NAMESPACE_END
