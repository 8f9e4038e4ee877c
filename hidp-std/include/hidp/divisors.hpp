// Integers by a divisor that keeps its value: products and shifts in place of divisions (Granlund and Montgomery, PLDI 1994), exact for
// all dividends and divisors. Generated code makes a divisor before a loop. By 0 they give what they give by 1: who divides has checked.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>

HIDP_NAMESPACE_BEGIN

__extension__ typedef unsigned __int128 Unsigned128;
__extension__ typedef __int128 Signed128;

// The upper half of a product.
HIDP_INLINE uint32_t upper(uint32_t a, uint32_t b) { return uint32_t((uint64_t(a) * b) >> 32); }
HIDP_INLINE int32_t upper(int32_t a, int32_t b) { return int32_t((int64_t(a) * b) >> 32); }
HIDP_INLINE uint64_t upper(uint64_t a, uint64_t b) { return uint64_t((Unsigned128(a) * b) >> 64); }
HIDP_INLINE int64_t upper(int64_t a, int64_t b) { return int64_t((Signed128(a) * b) >> 64); }

// `above` followed by as many zero bits as it has, by a divisor that is greater than it.
HIDP_INLINE uint32_t divide_upper(uint32_t above, uint32_t by) { return uint32_t((uint64_t(above) << 32) / by); }
HIDP_INLINE uint64_t divide_upper(uint64_t above, uint64_t by) { return uint64_t((Unsigned128(above) << 64) / by); }

// The binary logarithm, rounded up.
template <class U>
HIDP_INLINE int log_up(U value) {
  return value <= 1 ? 0 : 64 - __builtin_clzll(uint64_t(value) - 1);
}

template <class T>
class Divisor {
  using U = std::make_unsigned_t<T>;
  static constexpr int kBits = int(sizeof(T)) * 8;
  T value_, factor_, sign_;
  int first_, second_;

 public:
  explicit HIDP_INLINE Divisor(T by) : value_(by == 0 ? T{1} : by), sign_(0), first_(0), second_(0) {
    if constexpr (std::is_signed_v<T>) {
      const U size = value_ < 0 ? U{0} - U(value_) : U(value_);
      const int log = size <= 2 ? 1 : log_up(size);
      const U half = U{1} << (log - 1);
      // 1 + 2^(bits + log - 1) / size - 2^bits, where the quotient is 2^bits at least.
      factor_ = T(size == 1 ? U{1} : U(U{1} + divide_upper(half, size)));
      sign_ = value_ < 0 ? T{-1} : T{0};
      second_ = log - 1;
    } else {
      const int log = log_up(value_);
      const U power = log == kBits ? U{0} : U{1} << log;
      factor_ = U(divide_upper(U(power - value_), value_) + 1);
      first_ = log < 1 ? log : 1;
      second_ = log < 1 ? 0 : log - 1;
    }
  }
  HIDP_INLINE T quotient(T a) const {
    if constexpr (std::is_signed_v<T>) {
      const T sum = T(U(a) + U(upper(factor_, a)));
      const U rounded = U(sum >> second_) - U(a >> (kBits - 1));
      return T((rounded ^ U(sign_)) - U(sign_));
    } else {
      const U part = upper(factor_, a);
      return U(part + (U(a - part) >> first_)) >> second_;
    }
  }
  HIDP_INLINE T remainder(T a) const { return T(U(a) - U(quotient(a)) * U(value_)); }
};

template <class T>
HIDP_INLINE T div(T a, const Divisor<T> &by) {
  return by.quotient(a);
}
template <class T>
HIDP_INLINE T rem(T a, const Divisor<T> &by) {
  return by.remainder(a);
}

HIDP_NAMESPACE_END
