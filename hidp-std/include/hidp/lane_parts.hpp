// Vectors of lanes: what compilers do well only by the names of instructions.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>
#include <hidp/lane_masks.hpp>

HIDP_NAMESPACE_BEGIN

// Conversions between vectors of as many elements. GCC takes those of 64 bytes apart whose elements differ in size by more than two, and
// those from small integers to floats: such go in steps, which would be slower for the vectors of other instruction sets.
template <class To, class From>
HIDP_INLINE To part_cast(From from) {
#if defined(HIDP_LANE_BITS) && !defined(__clang__)
  using T = std::decay_t<decltype(To{}[0])>;
  using F = std::decay_t<decltype(from[0])>;
  constexpr int lanes = sizeof(From) / sizeof(F);
  if constexpr (std::is_integral_v<F> && std::is_floating_point_v<T> && sizeof(F) < sizeof(T)) {
    using Number = LaneInt<int(sizeof(T)) * 8>;
    return __builtin_convertvector(part_cast<typename LaneVector<Number, lanes>::type>(from), To);
  } else if constexpr (std::is_integral_v<F> && std::is_integral_v<T> && (sizeof(T) > 2 * sizeof(F) || sizeof(F) > 2 * sizeof(T))) {
    using Signed = LaneInt<int(sizeof(T) > sizeof(F) ? 2 * sizeof(F) : sizeof(F) / 2) * 8>;
    using Step = std::conditional_t<std::is_signed_v<F>, Signed, std::make_unsigned_t<Signed>>;
    return part_cast<To>(__builtin_convertvector(from, typename LaneVector<Step, lanes>::type));
  } else
#endif
    return __builtin_convertvector(from, To);
}
// Roots by the names of instructions: a loop over lanes in memory would store and load them.
template <class Part>
HIDP_INLINE Part part_sqrt(Part x) {
#if defined(__SSE2__)
  constexpr bool single = sizeof x[0] == 4;
#if defined(__AVX512F__)
#if defined(__clang__)
  if constexpr (sizeof x == 64 && single) return __builtin_ia32_sqrtps512(x, 4);
  else if constexpr (sizeof x == 64) return __builtin_ia32_sqrtpd512(x, 4);
#else
  if constexpr (sizeof x == 64 && single) return __builtin_ia32_sqrtps512_mask(x, x, -1, 4);
  else if constexpr (sizeof x == 64) return __builtin_ia32_sqrtpd512_mask(x, x, -1, 4);
#endif
  else
#endif
#if defined(__AVX__)
  if constexpr (sizeof x == 32 && single) return __builtin_ia32_sqrtps256(x);
  else if constexpr (sizeof x == 32) return __builtin_ia32_sqrtpd256(x);
  else
#endif
  if constexpr (sizeof x == 16 && single) return __builtin_ia32_sqrtps(x);
  else if constexpr (sizeof x == 16) return __builtin_ia32_sqrtpd(x);
  else
#endif
  {
    for (int lane = 0; lane < int(sizeof x / sizeof x[0]); ++lane) x[lane] = sizeof x[0] == 4 ? __builtin_sqrtf(x[lane]) : __builtin_sqrt(x[lane]);
    return x;
  }
}
// GCC has no fused multiply-add of vectors but by the names of instructions.
template <class Part>
HIDP_INLINE Part part_mul_add(Part a, Part b, Part c) {
#if defined(HIDP_FUSED)
  using T = std::decay_t<decltype(a[0])>;
  if constexpr (std::is_floating_point_v<T>) {
#if defined(__FMA__)
    constexpr bool single = sizeof(T) == 4;
#if defined(__AVX512F__)
    if constexpr (sizeof a == 64 && single) return (Part)__builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
    else if constexpr (sizeof a == 64) return (Part)__builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);
    else
#endif
    if constexpr (sizeof a == 32 && single) return (Part)__builtin_ia32_vfmaddps256(a, b, c);
    else if constexpr (sizeof a == 32) return (Part)__builtin_ia32_vfmaddpd256(a, b, c);
    else if constexpr (sizeof a == 16 && single) return (Part)__builtin_ia32_vfmaddps(a, b, c);
    else if constexpr (sizeof a == 16) return (Part)__builtin_ia32_vfmaddpd(a, b, c);
    else
#endif
    {
      Part result;
      for (size_t at = 0; at < sizeof a / sizeof(T); ++at) result[at] = mul_add(a[at], b[at], c[at]);
      return result;
    }
  } else
#endif
    return a * b + c;
}
#if defined(HIDP_LANE_BITS) || (!defined(HIDP_LANE_BYTES) && defined(__AVX2__))
// An address, of elements or of vectors, as a compiler's instruction wants it.
struct From {
  const void *address;
  template <class T>
  HIDP_INLINE operator const T *() const {
    return static_cast<const T *>(address);
  }
};
// Where a register of masks, or their bits in vectors, say. Elements of others are not accessed.
template <class Part, class Chosen>
HIDP_INLINE Part part_load(Chosen chosen, const void *from) {
  using T = std::decay_t<decltype(Part{}[0])>;
#if defined(HIDP_LANE_BITS)
#define HIDP_LOAD(suffix, Integer, bits)                                                                       \
  if constexpr (sizeof(T) == sizeof(Integer) && sizeof(Part) * 8 == bits) {                                    \
    typedef Integer Vector __attribute__((vector_size(bits / 8)));                                             \
    return (Part)__builtin_ia32_loaddqu##suffix##bits##_mask(From{from}, Vector{}, chosen);                    \
  } else
  HIDP_LOAD(qi, char, 128) HIDP_LOAD(qi, char, 256) HIDP_LOAD(qi, char, 512)
  HIDP_LOAD(hi, short, 128) HIDP_LOAD(hi, short, 256) HIDP_LOAD(hi, short, 512)
  HIDP_LOAD(si, int, 128) HIDP_LOAD(si, int, 256) HIDP_LOAD(si, int, 512)
  HIDP_LOAD(di, long long, 128) HIDP_LOAD(di, long long, 256) HIDP_LOAD(di, long long, 512)
#undef HIDP_LOAD
    static_assert(sizeof(Part) == 0);
#else
  if constexpr (sizeof(T) == 4) {
    typedef int Numbers __attribute__((vector_size(32)));
    return (Part)__builtin_ia32_maskloadd256(From{from}, (Numbers)chosen);
  } else {
    typedef long long Numbers __attribute__((vector_size(32)));
    return (Part)__builtin_ia32_maskloadq256(From{from}, (Numbers)chosen);
  }
#endif
}
#endif

HIDP_NAMESPACE_END
