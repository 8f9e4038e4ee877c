// Sort keys as unsigned integers of the same order: integers by value, floats in IEEE 754's total order
// (IEEE 754-2019, 5.10). Descending order is the ascending order of the complement, which keeps sorts stable.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

template <size_t Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = uint64_t;
};
template <class T>
using RadixWord = typename UnsignedOf<sizeof(T)>::type;

// The image of a key. `flip` is 0 for ascending order, all ones for descending.
template <class T>
HIDP_INLINE RadixWord<T> radix_word(T key, RadixWord<T> flip) {
  using U = RadixWord<T>;
  constexpr int bits = 8 * sizeof(T);
  constexpr U top = static_cast<U>(U{1} << (bits - 1));
  U word;
  memcpy(&word, &key, sizeof word);
  if constexpr (std::is_floating_point_v<T>) {
    const U negative = static_cast<U>(U{0} - static_cast<U>(word >> (bits - 1)));
    word = static_cast<U>(word ^ (negative | top));
  } else if constexpr (std::is_signed_v<T>) {
    word = static_cast<U>(word ^ top);
  }
  return static_cast<U>(word ^ flip);
}

// The key of an image.
template <class T>
HIDP_INLINE T radix_key(RadixWord<T> word, RadixWord<T> flip) {
  using U = RadixWord<T>;
  constexpr int bits = 8 * sizeof(T);
  constexpr U top = static_cast<U>(U{1} << (bits - 1));
  word = static_cast<U>(word ^ flip);
  if constexpr (std::is_floating_point_v<T>) {
    const U positive = static_cast<U>(U{0} - static_cast<U>(word >> (bits - 1)));
    word = static_cast<U>(word ^ (static_cast<U>(~positive) | top));
  } else if constexpr (std::is_signed_v<T>) {
    word = static_cast<U>(word ^ top);
  }
  T key;
  memcpy(&key, &word, sizeof key);
  return key;
}

// Stands for the values of a sort that has none.
struct NoValue {};

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

template <class U>
HIDP_INLINE unsigned radix_digit(U word, int shift) {
  return static_cast<unsigned>(word >> shift) & (kDigits - 1);
}

// The bits in which two words of [0, n) differ.
template <class T>
inline RadixWord<T> varying_bits(const T *__restrict keys, int64_t n) {
  using U = RadixWord<T>;
  if (n == 0) return 0;
  U first, differs = 0;
  __builtin_memcpy(&first, keys, sizeof first);
  // The images of floats differ where the bits do, and in all bits if the signs differ.
  for (int64_t i = 0; i < n; ++i) {
    U word;
    __builtin_memcpy(&word, keys + i, sizeof word);
    differs = static_cast<U>(differs | (word ^ first));
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (differs >> (8 * sizeof(T) - 1)) differs = static_cast<U>(~U{0});
  }
  return differs;
}

// Number of low bits up to the highest one that is set.
template <class U>
inline int bit_length(U word) {
  return word == 0 ? 0 : 64 - __builtin_clzll(static_cast<unsigned long long>(word));
}

HIDP_NAMESPACE_END
