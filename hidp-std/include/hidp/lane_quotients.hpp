// Whole iterations in vector lanes: quotients and remainders.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>
#include <hidp/lanes.hpp>

HIDP_NAMESPACE_BEGIN

// Integers of up to 32 bits have quotients by floats that hold all of them: a quotient of `a` by `b` that is none itself is at least 1 / b
// away from the next integer, which is more than it is rounded by.
#if defined(HIDP_LANE_BITS)
template <class T>
constexpr bool kDividesAsFloat = std::is_integral_v<T> && sizeof(T) <= 4;
#else
// Other instruction sets have no conversions of unsigned integers.
template <class T>
constexpr bool kDividesAsFloat = std::is_integral_v<T> && (sizeof(T) < 4 || (sizeof(T) == 4 && std::is_signed_v<T>));
#endif
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_quotient(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {
  using Whole = std::conditional_t<sizeof(T) == 4, T, int32_t>;
  using Float = std::conditional_t<sizeof(T) == 4, double, float>;
  const auto as_float = [](const Wide<T, B, G> &x) HIDP_INLINED { return wide_convert<Wide<Float, B, G>>(wide_cast<Whole>(x)); };
  const auto x = as_float(a), y = as_float(b);
  const auto quotient = wide_parts<Wide<Float, B, G>>([&](int at) HIDP_INLINED { return x.part[at] / y.part[at]; });
  return wide_cast<T>(wide_convert<Wide<Whole, B, G>>(quotient));
}

// Divisors are not 0 in any lane: who calls has chosen harmless ones where nobody is.
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_div(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {
  if constexpr (std::is_floating_point_v<T>) {
    return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] / b.part[at]; });
  } else if constexpr (kDividesAsFloat<T> && std::is_signed_v<T> && sizeof(T) == 4) {
    // MIN / -1 is MIN.
    const auto flips = b == wide_splat<B, G>(T{-1});
    return wide_select(flips, -a, wide_quotient(a, wide_select(flips, wide_splat<B, G>(T{1}), b)));
  } else if constexpr (kDividesAsFloat<T>) {
    return wide_quotient(a, b);
  } else {
    return wide_apply<T>([](T x, T y) HIDP_INLINED { return div(x, y); }, a, b);
  }
}
template <class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_rem(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {
  if constexpr (kDividesAsFloat<T>) {
    const auto quotient = wide_div(a, b);
    return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] - quotient.part[at] * b.part[at]; });
  } else {
    return wide_apply<T>([](T x, T y) HIDP_INLINED { return rem(x, y); }, a, b);
  }
}

// Integers by a positive constant, which compilers make products and shifts of.
template <int64_t N, class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_div_by(const Wide<T, B, G> &a) {
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] / T(N); });
}
template <int64_t N, class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_rem_by(const Wide<T, B, G> &a) {
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] % T(N); });
}

HIDP_NAMESPACE_END
