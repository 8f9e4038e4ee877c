// Which lanes of a vector: a bit for each where the instruction set has registers of masks (AVX-512), else integers as wide as the
// lanes, whose bits are all set or all clear. GCC turns comparisons of vectors into integers and back where it is not told
// by the names of instructions.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

#if !defined(HIDP_LANE_BYTES) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define HIDP_LANE_BITS 1
constexpr bool kLaneBits = true;
#else
constexpr bool kLaneBits = false;
#endif

// How many vectors an instruction set has registers for.
#if defined(HIDP_LANE_BITS) || defined(__aarch64__)
constexpr int64_t kVectorRegisters = 32;
#else
constexpr int64_t kVectorRegisters = 16;
#endif

// Vectors of `Lanes` elements.
template <class T, int Lanes>
struct LaneVector {
  typedef T type __attribute__((vector_size(sizeof(T) * Lanes)));
};
template <int Bits>
using LaneInt = std::conditional_t<Bits == 8, int8_t,
                                   std::conditional_t<Bits == 16, int16_t, std::conditional_t<Bits == 32, int32_t, int64_t>>>;
// A bit for each of as many lanes as a register of 64 bytes has.
template <int Bits>
using LaneBits = std::conditional_t<Bits == 8, uint64_t,
                                    std::conditional_t<Bits == 16, uint32_t, std::conditional_t<Bits == 32, uint16_t, uint8_t>>>;

// Comparisons, and their numbers in instructions for integers and for floats.
#define HIDP_LANE_COMPARISON(Name, op, integers, floats) \
  struct Name {                                          \
    static constexpr int kIntegers = integers, kFloats = floats; \
    template <class Part>                                \
    HIDP_INLINE static auto of(Part a, Part b) {         \
      return a op b;                                     \
    }                                                    \
  };
HIDP_LANE_COMPARISON(LanesEqual, ==, 0, 0)
HIDP_LANE_COMPARISON(LanesDiffer, !=, 4, 4)
HIDP_LANE_COMPARISON(LanesLess, <, 1, 17)
HIDP_LANE_COMPARISON(LanesLessOrEqual, <=, 2, 18)
HIDP_LANE_COMPARISON(LanesGreater, >, 6, 30)
HIDP_LANE_COMPARISON(LanesGreaterOrEqual, >=, 5, 29)
#undef HIDP_LANE_COMPARISON

// A bit for each lane of which the comparison holds.
template <class Compare, class Part>
HIDP_INLINE uint64_t part_compare(Part a, Part b);
// In each lane the one or the other.
template <class Part>
HIDP_INLINE Part part_choose(uint64_t chosen, Part yes, Part no);

#if defined(HIDP_LANE_BITS)
// What instructions call vectors of integers.
#define HIDP_INTEGER_PARTS(X)                                              \
  X(b, char, 128) X(b, char, 256) X(b, char, 512)                          \
  X(w, short, 128) X(w, short, 256) X(w, short, 512)                       \
  X(d, int, 128) X(d, int, 256) X(d, int, 512)                             \
  X(q, long long, 128) X(q, long long, 256) X(q, long long, 512)

template <class Compare, class Part>
HIDP_INLINE uint64_t part_compare(Part a, Part b) {
  using T = std::decay_t<decltype(a[0])>;
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (sizeof a == 64) return uint16_t(__builtin_ia32_cmpps512_mask(a, b, Compare::kFloats, -1, 4));
    else if constexpr (sizeof a == 32) return uint8_t(__builtin_ia32_cmpps256_mask(a, b, Compare::kFloats, -1));
    else return uint8_t(__builtin_ia32_cmpps128_mask(a, b, Compare::kFloats, -1));
  } else if constexpr (std::is_same_v<T, double>) {
    if constexpr (sizeof a == 64) return uint8_t(__builtin_ia32_cmppd512_mask(a, b, Compare::kFloats, -1, 4));
    else if constexpr (sizeof a == 32) return uint8_t(__builtin_ia32_cmppd256_mask(a, b, Compare::kFloats, -1));
    else return uint8_t(__builtin_ia32_cmppd128_mask(a, b, Compare::kFloats, -1));
  } else
#define HIDP_COMPARE(letter, Integer, bits)                                                              \
  if constexpr (sizeof(T) == sizeof(Integer) && sizeof a * 8 == bits) {                                  \
    typedef Integer Vector __attribute__((vector_size(bits / 8)));                                       \
    if constexpr (std::is_signed_v<T>)                                                                   \
      return __builtin_ia32_cmp##letter##bits##_mask((Vector)a, (Vector)b, Compare::kIntegers, -1);      \
    else return __builtin_ia32_ucmp##letter##bits##_mask((Vector)a, (Vector)b, Compare::kIntegers, -1);  \
  } else
    HIDP_INTEGER_PARTS(HIDP_COMPARE)
#undef HIDP_COMPARE
    {
      using Wider = typename LaneVector<int64_t, sizeof(Part) / sizeof(T)>::type;
      return part_compare<LanesDiffer>(__builtin_convertvector(Compare::of(a, b), Wider), Wider{});
    }
}

template <class Part>
HIDP_INLINE Part part_choose(uint64_t chosen, Part yes, Part no) {
  using T = std::decay_t<decltype(yes[0])>;
#if defined(__clang__)
#define HIDP_CHOICE(letter, bits, k, yes, no) __builtin_ia32_select##letter##_##bits(k, yes, no)
#else
#define HIDP_CHOICE(letter, bits, k, yes, no) __builtin_ia32_blendm##letter##_##bits##_mask(no, yes, k)
#endif
#define HIDP_CHOOSE(letter, Integer, bits)                                                                  \
  if constexpr (sizeof(T) == sizeof(Integer) && sizeof yes * 8 == bits) {                                   \
    typedef Integer Vector __attribute__((vector_size(bits / 8)));                                          \
    return (Part)HIDP_CHOICE(letter, bits, chosen, (Vector)yes, (Vector)no);                                \
  } else
  HIDP_INTEGER_PARTS(HIDP_CHOOSE)
#undef HIDP_CHOOSE
#undef HIDP_CHOICE
  {
    constexpr int lanes = sizeof(Part) / sizeof(T);
    using Wider = typename LaneVector<int64_t, lanes>::type;
    using Numbers = typename LaneVector<LaneInt<int(sizeof(T)) * 8>, lanes>::type;
    const Wider wider = part_choose(chosen, Wider{} - 1, Wider{});
    return __builtin_convertvector(wider, Numbers) ? yes : no;
  }
}
#undef HIDP_INTEGER_PARTS

// In a register of masks: GCC moves what it combines to others and back, four times as slowly.
template <class Bits>
HIDP_INLINE Bits kept(Bits mask) {
#if !defined(__clang__)
  asm("" : "+k"(mask));
#endif
  return mask;
}
#define HIDP_MASK_OPERATIONS(Bits, suffix)                                                               \
  HIDP_INLINE Bits mask_and(Bits a, Bits b) { return kept(Bits(a & b)); }          \
  HIDP_INLINE Bits mask_or(Bits a, Bits b) { return kept(Bits(a | b)); }            \
  HIDP_INLINE Bits mask_xor(Bits a, Bits b) { return kept(Bits(a ^ b)); }          \
  HIDP_INLINE Bits mask_not(Bits a) { return kept(Bits(~a)); }                     \
  HIDP_INLINE bool mask_any(Bits a, Bits b) { return !__builtin_ia32_kortestz##suffix(a, b); }
HIDP_MASK_OPERATIONS(uint8_t, qi)
HIDP_MASK_OPERATIONS(uint16_t, hi)
HIDP_MASK_OPERATIONS(uint32_t, si)
HIDP_MASK_OPERATIONS(uint64_t, di)
#undef HIDP_MASK_OPERATIONS
#endif

HIDP_NAMESPACE_END
