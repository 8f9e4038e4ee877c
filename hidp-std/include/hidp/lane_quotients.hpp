// Whole iterations in vector lanes: quotients and remainders.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>
#include <hidp/lanes.hpp>

HIDP_NAMESPACE_BEGIN

template <class T>
constexpr bool kIsLong = std::is_integral_v<T> && sizeof(T) == 8;

// Unsigned integers of up to 52 bits are the lower bits of doubles from 2^52 on; those of up to 51 with a sign lie around 1.5 * 2^52.
constexpr double kWholes = 0x1p52, kSignedWholes = 0x1.8p52;
constexpr int64_t kWholesBits = 0x4330000000000000, kSignedWholesBits = 0x4338000000000000;

// The double next to each integer of 64 bits.
template <class T, int B, int G>
HIDP_INLINE Wide<double, B, G> wide_as_double(const Wide<T, B, G> &a) {
#if defined(HIDP_LANE_BITS) || defined(__aarch64__)
  return wide_convert<Wide<double, B, G>>(a);
#else
  // The upper half as a multiple of 2^32 from 2^84 on, the lower one from 2^52 on. Signed numbers are taken as 2^63 more.
  using Bits = typename Wide<uint64_t, B, G>::Part;
  using Part = typename Wide<double, B, G>::Part;
  constexpr uint64_t sign = std::is_signed_v<T> ? uint64_t{1} << 63 : 0;
  constexpr double excess = 0x1p84 + kWholes + (std::is_signed_v<T> ? 0x1p63 : 0.0);
  return wide_parts<Wide<double, B, G>>([&](int at) HIDP_INLINED {
    const Bits bits = (Bits)a.part[at] ^ sign;
    const Bits upper = bits >> 32 | uint64_t{0x4530000000000000}, lower = (bits & uint64_t{0xffffffff}) | uint64_t(kWholesBits);
    return ((Part)upper - excess) + (Part)lower;
  });
#endif
}
// The integer next to each double below 2^51.
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_nearest(const Wide<double, B, G> &x) {
  using Bits = typename Wide<T, B, G>::Part;
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return (Bits)(x.part[at] + kSignedWholes) - T(kSignedWholesBits); });
}
template <class T, int B, int G>
struct WideRatio {
  Wide<T, B, G> quotient, remainder;
};
// Integers of 64 bits. A quotient of doubles is off by less than a quarter if it is below 2^49, so that the integer next to it is the quotient or
// one too far from 0. Where it is greater, so is the dividend, and a multiple of 2^26 comes first.
template <class T, int B, int G>
HIDP_INLINE WideRatio<T, B, G> wide_ratio(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {
  using W = Wide<T, B, G>;
  using Doubles = Wide<double, B, G>;
  using Signed = typename Wide<int64_t, B, G>::Part;
  using Part = typename W::Part;
  const auto divisor = wide_as_double(b);
  const auto inverse = wide_parts<Doubles>([&](int at) HIDP_INLINED { return 1.0 / divisor.part[at]; });
  auto ratio = wide_as_double(a) * inverse;
  W quotient = wide_splat<B, G>(T{0}), rest = a;
  const auto is_large = wide_abs(ratio) >= wide_splat<B, G>(0x1p49);
  if (HIDP_UNLIKELY((wide_any<B, G>(is_large)))) {
    const auto multiple = wide_nearest<T>(ratio * wide_splat<B, G>(0x1p-26)) * wide_splat<B, G>(T{1} << 26);
    quotient = wide_select(is_large, multiple, quotient);
    rest = rest - quotient * b;
    ratio = wide_select(is_large, wide_as_double(wide_convert<Wide<int64_t, B, G>>(rest)) * inverse, ratio);
  }
  const auto nearest = wide_nearest<T>(ratio);
  quotient = quotient + nearest;
  rest = rest - nearest * b;
  // It is too far if what is left has the other sign.
  WideRatio<T, B, G> result;
#pragma GCC unroll 64
  for (int at = 0; at < W::kParts; ++at) {
    const Signed x = (Signed)a.part[at], y = (Signed)b.part[at], left = (Signed)rest.part[at];
    if constexpr (std::is_signed_v<T>) {
      const Signed below = x >> 63, differ = (x ^ y) >> 63, too_far = ((left ^ below) - below) >> 63;
      result.quotient.part[at] = quotient.part[at] - ((differ | 1) & too_far);
      result.remainder.part[at] = left + (((y ^ differ) - differ) & too_far);
    } else {
      // By what is half of all numbers and more, once or not at all, what is left may not have its sign.
      const Signed too_far = left >> 63, once = (Signed)(a.part[at] >= b.part[at]);
      result.quotient.part[at] = y < 0 ? (Part)-once : quotient.part[at] + (Part)too_far;
      result.remainder.part[at] = y < 0 ? a.part[at] - (b.part[at] & (Part)once) : rest.part[at] + (b.part[at] & (Part)too_far);
    }
  }
  return result;
}

// Integers of up to 32 bits have quotients by floats that hold all of them: a quotient of `a` by `b` that is none itself is at least 1 / b
// away from the next integer, which is more than it is rounded by.
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_quotient(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {
  using Whole = std::conditional_t<sizeof(T) == 4, T, int32_t>;
  using Float = std::conditional_t<sizeof(T) == 4, double, float>;
  const auto as_float = [](const Wide<T, B, G> &x) HIDP_INLINED { return wide_convert<Wide<Float, B, G>>(wide_cast<Whole>(x)); };
  const auto x = as_float(a), y = as_float(b);
  const auto quotient = wide_parts<Wide<Float, B, G>>([&](int at) HIDP_INLINED { return x.part[at] / y.part[at]; });
  return wide_cast<T>(wide_convert<Wide<Whole, B, G>>(quotient));
}
#if !defined(HIDP_LANE_BITS)
// There are no conversions of unsigned integers.
template <int B, int G>
HIDP_INLINE Wide<uint32_t, B, G> wide_quotient(const Wide<uint32_t, B, G> &a, const Wide<uint32_t, B, G> &b) {
  using Bits = typename Wide<uint64_t, B, G>::Part;
  using Part = typename Wide<double, B, G>::Part;
  const auto x = wide_convert<Wide<uint64_t, B, G>>(a), y = wide_convert<Wide<uint64_t, B, G>>(b);
  const auto quotient = wide_parts<Wide<uint64_t, B, G>>([&](int at) HIDP_INLINED {
    const auto as_double = [](Bits whole) HIDP_INLINED { return (Part)(whole | uint64_t(kWholesBits)) - kWholes; };
    const Part ratio = as_double(x.part[at]) / as_double(y.part[at]), nearest = ratio + kWholes;
    // A comparison that holds is -1.
    return (Bits)nearest + (Bits)(nearest - kWholes > ratio);
  });
  return wide_convert<Wide<uint32_t, B, G>>(quotient);
}
#endif

// Divisors are not 0 in any lane: who calls has chosen harmless ones where nobody is.
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_div(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {
  if constexpr (std::is_floating_point_v<T>) {
    return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] / b.part[at]; });
  } else if constexpr (kIsLong<T>) {
    return wide_ratio(a, b).quotient;
  } else if constexpr (std::is_signed_v<T> && sizeof(T) == 4) {
    // MIN / -1 is MIN.
    const auto flips = b == wide_splat<B, G>(T{-1});
    return wide_select(flips, -a, wide_quotient(a, wide_select(flips, wide_splat<B, G>(T{1}), b)));
  } else {
    return wide_quotient(a, b);
  }
}
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_rem(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {
  if constexpr (std::is_floating_point_v<T>) {
    return wide_apply<T>([](T x, T y) HIDP_INLINED { return rem(x, y); }, a, b);
  } else if constexpr (kIsLong<T>) {
    return wide_ratio(a, b).remainder;
  } else {
    const auto quotient = wide_div(a, b);
    return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] - quotient.part[at] * b.part[at]; });
  }
}

// By the same divisor in all lanes, which is not 0: products with its reciprocal. Half is added to dividends, away from 0. So a quotient by `b` is at
// least half of 1 / b away from integers, which is more than twice what it is rounded by. In vectors of 16 bytes GCC spills halves of integers one by one, for
// longer than a division takes.
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_div_same(const Wide<T, B, G> &a, T by) {
  constexpr bool has_conversions = kLaneBits || std::is_signed_v<T> || sizeof(T) < 4;
  if constexpr (sizeof(T) <= 4 && has_conversions && kLaneBytes > 16) {
    using Whole = std::conditional_t<sizeof(T) == 4, T, int32_t>;
    using Float = std::conditional_t<sizeof(T) == 4, double, float>;
    using Bits = LaneInt<int(sizeof(Float)) * 8>;
    using Floats = Wide<Float, B, G>;
    // MIN / -1 is MIN.
    const bool flips = std::is_signed_v<T> && by == T(-1);
    const Float inverse = Float(1) / Float(flips ? T(1) : by);
    const auto x = wide_convert<Floats>(wide_cast<Whole>(a));
    const auto quotient = wide_parts<Floats>([&](int at) HIDP_INLINED {
      using Part = typename Floats::Part;
      Part half = Part{} + Float(0.5);
      if constexpr (std::is_signed_v<T>) {
        using Numbers = typename LaneVector<Bits, Floats::kPerPart>::type;
        half = (Part)((Numbers)half | ((Numbers)x.part[at] & IntegerRange<Bits>::min));
      }
      return (x.part[at] + half) * inverse;
    });
    const auto result = wide_cast<T>(wide_convert<Wide<Whole, B, G>>(quotient));
    const T sign = T(flips ? -1 : 0);
    return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return (result.part[at] ^ sign) - sign; });
  } else {
    return wide_div(a, wide_splat<B, G>(by));
  }
}
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_rem_same(const Wide<T, B, G> &a, T by) {
  if constexpr (kIsLong<T>) {
    return wide_ratio(a, wide_splat<B, G>(by)).remainder;
  } else {
    const auto quotient = wide_div_same(a, by);
    return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] - quotient.part[at] * by; });
  }
}

// Integers by a positive constant: compilers make products and shifts of it, but one lane after the other where numbers have 64 bits.
template <int64_t N, class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_div_by(const Wide<T, B, G> &a) {
  if constexpr (kIsLong<T> && (N & (N - 1)) != 0) return wide_ratio(a, wide_splat<B, G>(T(N))).quotient;
  else return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] / T(N); });
}
template <int64_t N, class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_rem_by(const Wide<T, B, G> &a) {
  if constexpr (kIsLong<T> && (N & (N - 1)) != 0) return wide_ratio(a, wide_splat<B, G>(T(N))).remainder;
  else return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] % T(N); });
}

HIDP_NAMESPACE_END
