// Whole iterations in vector lanes: the less and the greater of two numbers.
#pragma once

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/lane_masks.hpp>
#include <hidp/lane_values.hpp>

HIDP_NAMESPACE_BEGIN

#if !defined(HIDP_LANE_BITS) && !defined(HIDP_LANE_BYTES) && defined(__AVX2__) && !defined(__clang__)
// Whether there is a NaN in several vectors: one comparison tells of two.
template <class W>
HIDP_INLINE bool any_nan(const W &a) {
  typedef float Floats __attribute__((vector_size(32)));
  typedef double Doubles __attribute__((vector_size(32)));
  typedef int Bits __attribute__((vector_size(32)));
  Bits unordered{};
#pragma GCC unroll 64
  for (int at = 0; at < W::kParts; at += 2) {
    if constexpr (sizeof(typename W::Element) == 4) unordered |= (Bits)__builtin_ia32_cmpps256(a.part[at], a.part[at + 1], 3);
    else unordered |= (Bits)__builtin_ia32_cmppd256(a.part[at], a.part[at + 1], 3);
  }
  if constexpr (sizeof(typename W::Element) == 4) return __builtin_ia32_movmskps256((Floats)unordered) != 0;
  else return __builtin_ia32_movmskpd256((Doubles)unordered) != 0;
}
// The instruction alone is right unless the second operand is a NaN, which the result is then: to ask that of all costs less than to choose.
#define HIDP_LANE_NAMED_EXTREMES(instruction)                                                                   \
  if constexpr (std::is_floating_point_v<T> && sizeof(typename W::Part) == 32 && W::kParts % 2 == 0) {         \
    const W result = wide_parts<W>([&](int at) HIDP_INLINED {                                                   \
      if constexpr (sizeof(T) == 4) return __builtin_ia32_##instruction##ps256(a.part[at], b.part[at]);         \
      else return __builtin_ia32_##instruction##pd256(a.part[at], b.part[at]);                                  \
    });                                                                                                         \
    if (!HIDP_UNLIKELY(any_nan(result))) return result;                                                         \
  }
#else
#define HIDP_LANE_NAMED_EXTREMES(instruction)
#endif

// Of floats a NaN gives the other operand. The instructions give the second one then, and of equal zeros: what is left is to know
// where that is a NaN. GCC would take both comparisons together and choose by the result, which is more than to name the instruction.
#define HIDP_LANE_EXTREME(name, op, instruction)                                                              \
  template <class Part>                                                                                       \
  HIDP_INLINE Part part_##name(Part x, Part y) {                                                              \
    if constexpr (!std::is_floating_point_v<std::decay_t<decltype(x[0])>>) return x op y ? x : y;             \
    else {                                                                                                    \
      HIDP_LANE_NAMED_EXTREME(instruction)                                                                    \
      const Part chosen = x op y ? x : y;                                                                     \
      return y != y ? x : chosen;                                                                             \
    }                                                                                                         \
  }                                                                                                           \
  template <class T, int B, int G>                                                                            \
  HIDP_INLINE Wide<T, B, G> wide_##name(const Wide<T, B, G> &a, const Wide<T, B, G> &b) {                     \
    using W = Wide<T, B, G>;                                                                                  \
    HIDP_LANE_NAMED_EXTREMES(instruction)                                                                     \
    return wide_parts<W>([&](int at) HIDP_INLINED { return part_##name(a.part[at], b.part[at]); });           \
  }
#if defined(HIDP_LANE_BITS) && !defined(__clang__)
#define HIDP_LANE_NAMED_EXTREME(instruction)                                                                  \
  if constexpr (sizeof x == 64) {                                                                             \
    const auto numbers = part_compare<LanesEqual>(y, y);                                                      \
    if constexpr (sizeof x[0] == 4) return __builtin_ia32_##instruction##ps512_mask(x, y, x, numbers, 4);     \
    else return __builtin_ia32_##instruction##pd512_mask(x, y, x, numbers, 4);                                \
  }
#elif defined(__AVX2__) && !defined(__clang__)
#define HIDP_LANE_NAMED_EXTREME(instruction)                                                                  \
  if constexpr (sizeof x == 32 && sizeof x[0] == 4) return y != y ? x : __builtin_ia32_##instruction##ps256(x, y); \
  else if constexpr (sizeof x == 32) return y != y ? x : __builtin_ia32_##instruction##pd256(x, y);           \
  else if constexpr (sizeof x == 16 && sizeof x[0] == 4) return y != y ? x : __builtin_ia32_##instruction##ps(x, y);
#else
#define HIDP_LANE_NAMED_EXTREME(instruction)
#endif
HIDP_LANE_EXTREME(min, <, min)
HIDP_LANE_EXTREME(max, >, max)
#undef HIDP_LANE_NAMED_EXTREMES
#undef HIDP_LANE_NAMED_EXTREME
#undef HIDP_LANE_EXTREME

HIDP_NAMESPACE_END
