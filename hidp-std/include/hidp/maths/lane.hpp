// What the texts of hidp/maths ask of a number: float, double, or whatever holds one of them in each lane. A type of lanes
// overloads these names; everything else in hidp/maths is written over them and over operators, without branches.
#pragma once

#include <hidp/arith.hpp>
#include <hidp/cast.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

template <class F>
struct Lane;
template <>
struct Lane<float> {
  using Bits = uint32_t;
  using Wide = double;
  static constexpr int fraction = 23;
  static constexpr uint32_t bias = 127;
};
template <>
struct Lane<double> {
  using Bits = uint64_t;
  static constexpr int fraction = 52;
  static constexpr uint64_t bias = 1023;
};
template <class F>
using Bits = typename Lane<F>::Bits;
template <class F>
using Wide = typename Lane<F>::Wide;
template <class F>
constexpr bool kIsDouble = Lane<F>::fraction == 52;

template <class F>
HIDP_INLINE F select(bool condition, F yes, F no) {
  return condition ? yes : no;
}
template <class F>
HIDP_INLINE Bits<F> bits(F x) {
  return bit_cast<Bits<F>>(x);
}
template <class F>
HIDP_INLINE F from_bits(Bits<F> bits) {
  return bit_cast<F>(bits);
}
// `yes` where the sign of `sign` is set, without a condition: compilers move what only one side of a choice needs to where it is
// chosen, and cannot make vectors of loads there.
template <class F>
HIDP_INLINE F blend(F sign, F yes, F no) {
  const Bits<F> mask = Bits<F>(0) - (bits(sign) >> (8 * sizeof(F) - 1));
  return from_bits<F>((bits(yes) & mask) | (bits(no) & ~mask));
}
// The smaller and the larger number; x, if one of them is none.
template <class F>
HIDP_INLINE F at_most(F bound, F x) {
  return bound < x ? bound : x;
}
template <class F>
HIDP_INLINE F at_least(F bound, F x) {
  return bound > x ? bound : x;
}
HIDP_INLINE float square_root(float x) { return HIDP_LIBRARY(sqrtf)(x); }
HIDP_INLINE double square_root(double x) { return HIDP_LIBRARY(sqrt)(x); }
HIDP_INLINE double widen(float x) { return static_cast<double>(x); }
HIDP_INLINE float narrow(double x) { return static_cast<float>(x); }

// Whether mul_add rounds once.
#if defined(HIDP_FUSED)
constexpr bool kFused = true;
#else
constexpr bool kFused = false;
#endif

template <class F>
HIDP_INLINE F infinity() {
  return F(__builtin_inf());
}
template <class F>
HIDP_INLINE F not_a_number() {
  return F(__builtin_nan(""));
}
template <class F>
HIDP_INLINE F magnitude(F x) {
  return from_bits<F>(bits(x) & ~(Bits<F>(1) << (8 * sizeof(F) - 1)));
}
// x with its sign changed where that of `by` is set.
template <class F>
HIDP_INLINE F with_sign(F x, F by) {
  return from_bits<F>(bits(x) ^ (bits(by) & (Bits<F>(1) << (8 * sizeof(F) - 1))));
}
// By the sign, also of zero and of what is no number.
template <class F>
HIDP_INLINE bool is_negative(F x) {
  return with_sign(F(1), x) < F(0);
}

// To this much more than a number of less than half of it adding gives the nearest whole number in the low bits.
template <class F>
HIDP_INLINE F whole_shift() {
  return F(kIsDouble<F> ? 0x1.8p52 : 0x1.8p23);
}
// The nearest whole number, of two the even one; of less than 2^51 (2^22).
template <class F>
HIDP_INLINE F nearest(F x) {
  return (x + whole_shift<F>()) - whole_shift<F>();
}
// 2^n of a whole number, the least of which is a normal number's.
template <class F>
HIDP_INLINE F power_of_two(F n) {
  const F shifted = n + F(kIsDouble<F> ? 0x1p52 + 1023 : 0x1p23 + 127);
  return from_bits<F>(bits(shifted) << Lane<F>::fraction);
}
// x 2^n, rounded once, whatever is left of it.
template <class F>
HIDP_INLINE F scale(F x, F n) {
  // Half of n and what is left, each with the exponent's bias in the low bits.
  const F biased = F(kIsDouble<F> ? 0x1p52 + 1023 : 0x1p23 + 127);
  const F half = mul_add(n, F(0.5), biased);
  const F other = (biased + biased - half) + n;
  return x * from_bits<F>(bits(half) << Lane<F>::fraction) * from_bits<F>(bits(other) << Lane<F>::fraction);
}
// x of a normal number as 2^exponent * mantissa, the mantissa in [sqrt(1/2), sqrt(2)).
template <class F>
struct Split {
  F exponent, mantissa;
};
template <class F>
HIDP_INLINE Split<F> split(F x) {
  const Bits<F> one = Lane<F>::bias << Lane<F>::fraction;
  const Bits<F> root = kIsDouble<F> ? Bits<F>(0x3fe6a09e667f3bcd) : Bits<F>(0x3f3504f3);
  const Bits<F> biased = (bits(x) - root + one) >> Lane<F>::fraction;
  const F shifted = from_bits<F>(biased | bits(F(kIsDouble<F> ? 0x1p52 : 0x1p23)));
  const F exponent = shifted - F(kIsDouble<F> ? 0x1p52 + 1023 : 0x1p23 + 127);
  return {exponent, from_bits<F>(bits(x) - ((biased - Lane<F>::bias) << Lane<F>::fraction))};
}

// c0 + c1 x + …, as the sum of its even and its odd powers.
template <class F, class C>
HIDP_INLINE F every_second(F, C first) {
  return F(first);
}
template <class F, class C>
HIDP_INLINE F every_second(F, C first, C) {
  return F(first);
}
template <class F, class C, class... More>
HIDP_INLINE F every_second(F square, C first, C, More... more) {
  return mul_add(every_second(square, more...), square, F(first));
}
template <class F, class C>
HIDP_INLINE F polynomial(F x, C first, C second) {
  return mul_add(F(second), x, F(first));
}
template <class F, class C, class... More>
HIDP_INLINE F polynomial(F x, C first, C second, More... more) {
  const F square = x * x;
  return mul_add(every_second(square, second, more...), x, every_second(square, first, second, more...));
}

}  // namespace maths
HIDP_NAMESPACE_END
