// Conversions: Rust's `as`. Integers wrap, floats round to the nearest, floats to integers saturate with 0 for NaN; to `bool`
// it is `!= 0`. Without branches, so that loops of them become vector code.
#pragma once

#include <stdint.h>
#include <string.h>

#include <type_traits>

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

template <class To>
struct IntegerRange {
  static constexpr bool is_signed = std::is_signed_v<To>;
  static constexpr int bits = 8 * sizeof(To);
  static constexpr To max = static_cast<To>(is_signed ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits));
  static constexpr To min = static_cast<To>(is_signed ? -max - 1 : 0);
};

// Whether every value of To is exact in From, so that clamping before the conversion is enough.
template <class To, class From>
inline constexpr bool kExactIn = std::is_same_v<From, float> ? sizeof(To) <= 2 : sizeof(To) <= 4;

template <class To, class From>
HIDP_INLINE To saturate_exact(From value) {
  constexpr From low = static_cast<From>(IntegerRange<To>::min);
  constexpr From high = static_cast<From>(IntegerRange<To>::max);
  using Step = std::conditional_t<std::is_same_v<To, uint32_t>, uint32_t, int32_t>;
  From clamped = value > low ? value : low;
  clamped = clamped < high ? clamped : high;
  const To inside = static_cast<To>(static_cast<Step>(clamped));
  return value == value ? inside : To{0};
}

// High is 2^bits or 2^(bits-1): the first float above the range; the one below it converts exactly.
template <class To, class From>
HIDP_INLINE To saturate_rounded(From value) {
  constexpr From low = static_cast<From>(IntegerRange<To>::min);
  constexpr From high = From{2} * static_cast<From>(uint64_t{1} << (IntegerRange<To>::bits - 1 - IntegerRange<To>::is_signed));
  const From at_least = value > low ? value : low;
  const From clamped = at_least < high ? at_least : low;
  const To inside = static_cast<To>(clamped);
  const To limited = value >= high ? IntegerRange<To>::max : inside;
  return value == value ? limited : To{0};
}

template <class To, class From>
HIDP_INLINE To cast(From value) {
  if constexpr (std::is_same_v<To, bool>) return value != From{0};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (kExactIn<To, From>) return saturate_exact<To>(value);
    else return saturate_rounded<To>(value);
  } else return static_cast<To>(value);
}

// The bits of a value as another type of its size.
template <class To, class From>
HIDP_INLINE To bit_cast(From value) {
  static_assert(sizeof(To) == sizeof(From), "bits of one type in another of the same size");
  To result;
  memcpy(&result, &value, sizeof result);
  return result;
}

HIDP_NAMESPACE_END
