// sin, cos, tan: x = n pi / 2 + r. Up to 2^20 that is Cody and Waite's subtraction of n times pi / 2 in pieces, beyond it Payne
// and Hanek's product with those bits of 2 / pi that do not give whole turns. Float goes through double.
//
// Texts without branches compute both, and the second takes most of the time: vector loops call near_sin, near_cos and near_tan,
// which give what sin, cos and tan do where is_near holds, and look afterwards whether it did.
#pragma once

#include <hidp/maths/coefficients/constants.hpp>
#include <hidp/maths/coefficients/trigonometry.hpp>
#include <hidp/maths/pair.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// What is left after n quarters of a turn, |high| <= pi / 4, and n in the low bits of `shifted`.
template <class F>
struct Quarters {
  F high, low, shifted;
};
// By the sign that the lowest bit makes: compilers make vectors of comparisons of numbers, not of tests of bits.
template <class F>
HIDP_INLINE bool is_odd(F shifted) {
  return from_bits<F>((bits(shifted) << (8 * sizeof(F) - 1)) | bits(F(1))) < F(0);
}
// x with another sign in the second half of a turn.
template <class F>
HIDP_INLINE F turned(F x, F shifted) {
  return from_bits<F>(bits(x) ^ ((bits(shifted) >> 1) << (8 * sizeof(F) - 1)));
}
// Whether what is near is enough. Not of what is no number.
template <class F>
HIDP_INLINE bool is_near(F x) {
  return magnitude(x) < F(0x1p20);
}
template <class F>
HIDP_INLINE Quarters<F> quarters_of_small(F x) {
  const F shifted = mul_add(x, two_over_pi_high<F>(), whole_shift<F>());
  const F n = shifted - whole_shift<F>();
  const F first = mul_add(-n, half_pi_1<F>(), x);
  const Pair<F> second = sum(first, -n * half_pi_2<F>());
  const Pair<F> third = sum(second.high, -n * half_pi_3<F>());
  const F low = (second.low + third.low) - n * half_pi_4<F>();
  const Pair<F> r = sum_ordered(third.high, low);
  return {r.high, r.low, shifted};
}

template <class F>
HIDP_INLINE Quarters<F> quarters_of_large(F x) {
  const F large = blend(magnitude(x) - F(0x1p20), F(0x1p20), x);
  const Bits<F> exponent = (bits(large) >> Lane<F>::fraction) & 0x7ff;
  const Bits<F> row = (exponent - (Lane<F>::bias + 20)) >> 4;
  const F down = from_bits<F>(bits(large) - (row << (Lane<F>::fraction + 4)));
  const Pair<F> first = product(down, turns<F>(4 * row));
  const Pair<F> second = product(down, turns<F>(4 * row + 1));
  const Pair<F> third = product(down, turns<F>(4 * row + 2));
  const F fourth = down * turns<F>(4 * row + 3);
  // Whole turns of the largest part, which is below 2^70: its sum with this is a multiple of 2^19.
  const F whole = F(0x1.8p71);
  const Pair<F> a = sum(first.high - ((first.high + whole) - whole), first.low);
  const Pair<F> b = sum(a.high, second.high);
  const F shifted = b.high + whole_shift<F>();
  const F fraction = b.high - (shifted - whole_shift<F>());
  const Pair<F> c = sum(second.low, third.high);
  const Pair<F> d = sum(a.low, b.low);
  const Pair<F> e = sum(c.high, d.high);
  const Pair<F> g = sum(fraction, e.high);
  const F rest = g.low + ((e.low + c.low) + (d.low + (third.low + fourth)));
  const Pair<F> turn = sum_ordered(g.high, rest);
  const Pair<F> r = product(turn, pair(half_pi_high<F>(), half_pi_low<F>()));
  return {r.high, r.low, shifted};
}

template <class F>
HIDP_INLINE Quarters<F> quarters(F x) {
  const F small = magnitude(x) - F(0x1p20);
  const Quarters<F> near = quarters_of_small(x);
  const Quarters<F> far = quarters_of_large(x);
  const F high = select(magnitude(x) < infinity<F>(), far.high, not_a_number<F>());
  return {blend(small, near.high, high), blend(small, near.low, far.low), blend(small, near.shifted, far.shifted)};
}

// sin and cos of high + low, in two parts.
template <class F>
HIDP_INLINE Pair<F> sin_pair(F high, F low) {
  const F z = high * high;
  const F half = F(0.5) * z;
  return pair(high, mul_add(high * z, sin_tail(z), mul_add(-half, low, low)));
}
template <class F>
HIDP_INLINE Pair<F> cos_pair(F high, F low) {
  const Pair<F> square = product(high, high);
  const F z = square.high;
  const Pair<F> first = sum_ordered(F(1), F(-0.5) * z);
  return pair(first.high, first.low + mul_add(z * z, cos_tail(z), mul_add(F(-0.5), square.low, -high * low)));
}

// Float in double.
template <class F>
struct ShortQuarters {
  F r, shifted;
};
template <class F>
HIDP_INLINE ShortQuarters<F> short_quarters_of_small(F x) {
  const F shifted = mul_add(x, two_over_pi_high<F>(), whole_shift<F>());
  const F n = shifted - whole_shift<F>();
  const F first = mul_add(-n, half_pi_1<F>(), x);
  const F second = mul_add(-n, half_pi_2<F>(), first);
  return {mul_add(-n, half_pi_3<F>(), second), shifted};
}
// x 2 / pi from three pieces of 2 / pi, products with which are exact.
template <class F>
HIDP_INLINE ShortQuarters<F> short_quarters_of_large(F x) {
  const F a = magnitude(x);
  const bool two = a >= F(0x1p28);
  const bool three = a >= F(0x1p53);
  const bool four = a >= F(0x1p78);
  const bool five = a >= F(0x1p103);
  const F down = x * select(five, F(0x1p-103), select(four, F(0x1p-78), select(three, F(0x1p-53), select(two, F(0x1p-28), F(1)))));
  const F first = down * turns_short_1<F>(two, three, four, five);
  const F second = down * turns_short_2<F>(two, three, four, five);
  const F third = down * turns_short_3<F>(two, three, four, five);
  const F whole = first + whole_shift<F>();
  const F rest = (first - (whole - whole_shift<F>())) + second;
  const F more = rest + whole_shift<F>();
  const F turn = (rest - (more - whole_shift<F>())) + third;
  return {turn * half_pi_high<F>(), from_bits<F>(bits(whole) + bits(more))};
}

template <class F>
HIDP_INLINE ShortQuarters<F> short_quarters(F x) {
  const F small = magnitude(x) - F(0x1p20);
  const ShortQuarters<F> near = short_quarters_of_small(x);
  const ShortQuarters<F> far = short_quarters_of_large(x);
  return {blend(small, near.r, far.r), blend(small, near.shifted, far.shifted)};
}

// The sine of that and so many quarters more.
template <class F>
HIDP_INLINE F sine_later(Quarters<F> of, Bits<F> more) {
  const F shifted = from_bits<F>(bits(of.shifted) + more);
  const Pair<F> sin = sin_pair(of.high, of.low);
  const Pair<F> cos = cos_pair(of.high, of.low);
  const bool odd = is_odd(shifted);
  return turned(select(odd, cos.high, sin.high) + select(odd, cos.low, sin.low), shifted);
}
template <class F>
HIDP_INLINE F short_sine_later(ShortQuarters<F> of, Bits<F> more) {
  const F shifted = from_bits<F>(bits(of.shifted) + more);
  const F z = of.r * of.r;
  return turned(select(is_odd(shifted), cos_short(z), of.r * sin_short(z)), shifted);
}
// Of less there is nothing but x left.
template <class F>
HIDP_INLINE F sine(F x, Quarters<F> of) {
  return select(magnitude(x) < F(0x1p-27), x, sine_later(of, 0));
}

template <class F>
HIDP_INLINE F sin(F x) {
  if constexpr (kIsDouble<F>) return sine(x, quarters(x));
  else return narrow(short_sine_later(short_quarters(widen(x)), 0));
}
template <class F>
HIDP_INLINE F near_sin(F x) {
  if constexpr (kIsDouble<F>) return sine(x, quarters_of_small(x));
  else return narrow(short_sine_later(short_quarters_of_small(widen(x)), 0));
}
template <class F>
HIDP_INLINE F cos(F x) {
  if constexpr (kIsDouble<F>) return sine_later(quarters(x), 1);
  else return narrow(short_sine_later(short_quarters(widen(x)), 1));
}
template <class F>
HIDP_INLINE F near_cos(F x) {
  if constexpr (kIsDouble<F>) return sine_later(quarters_of_small(x), 1);
  else return narrow(short_sine_later(short_quarters_of_small(widen(x)), 1));
}

template <class F>
HIDP_INLINE F tangent(F x, Quarters<F> of) {
  const Pair<F> sin_parts = sin_pair(of.high, of.low);
  const Pair<F> cos_parts = cos_pair(of.high, of.low);
  const Pair<F> sin = sum_ordered(sin_parts.high, sin_parts.low);
  const Pair<F> cos = sum_ordered(cos_parts.high, cos_parts.low);
  const bool odd = is_odd(of.shifted);
  const Pair<F> above = pair(select(odd, -cos.high, sin.high), select(odd, -cos.low, sin.low));
  const Pair<F> below = pair(select(odd, sin.high, cos.high), select(odd, sin.low, cos.low));
  const Pair<F> result = quotient(above, below);
  return select(magnitude(x) < F(0x1p-27), x, result.high + result.low);
}
template <class F>
HIDP_INLINE F short_tangent(ShortQuarters<F> of) {
  const F z = of.r * of.r;
  const F sin = of.r * sin_short(z);
  const F cos = cos_short(z);
  const bool odd = is_odd(of.shifted);
  return select(odd, -cos, sin) / select(odd, sin, cos);
}
template <class F>
HIDP_INLINE F tan(F x) {
  if constexpr (kIsDouble<F>) return tangent(x, quarters(x));
  else return narrow(short_tangent(short_quarters(widen(x))));
}
template <class F>
HIDP_INLINE F near_tan(F x) {
  if constexpr (kIsDouble<F>) return tangent(x, quarters_of_small(x));
  else return narrow(short_tangent(short_quarters_of_small(widen(x))));
}

}  // namespace maths
HIDP_NAMESPACE_END
