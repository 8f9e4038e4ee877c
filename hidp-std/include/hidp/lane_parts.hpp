// Vectors of lanes: what compilers do well only by the names of instructions.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>
#include <hidp/lane_masks.hpp>

HIDP_NAMESPACE_BEGIN

// GCC widens integers by halves, and by single elements where they become more than twice as wide. Instructions by name do it at once; they take
// whole registers, of which they need the lower elements.
#if !defined(__clang__) && defined(__SSE4_1__)
#define HIDP_LANE_WIDENED(bytes, to, from, Vector, letters, ...)                                          \
  if constexpr (sizeof(To) == bytes && sizeof(T) == to && sizeof(F) == from) {                            \
    if constexpr (std::is_signed_v<F>) return (To)__builtin_ia32_pmovsx##letters((Vector)whole __VA_ARGS__); \
    else return (To)__builtin_ia32_pmovzx##letters((Vector)whole __VA_ARGS__);                            \
  }
template <class To, class From>
HIDP_INLINE To part_widened(From from) {
  using T = std::decay_t<decltype(To{}[0])>;
  using F = std::decay_t<decltype(from[0])>;
  using Chars = typename LaneVector<char, sizeof(From) < 16 ? 16 : int(sizeof(From))>::type;
  using Shorts = typename LaneVector<short, int(sizeof(Chars)) / 2>::type;
  using Ints = typename LaneVector<int, int(sizeof(Chars)) / 4>::type;
  Chars whole;
  if constexpr (sizeof from < sizeof whole) {
    // Through registers: what is loaded whole waits for a store of a part.
    LaneInt<int(sizeof from) * 8> bits;
    __builtin_memcpy(&bits, &from, sizeof from);
    whole = (Chars)typename LaneVector<decltype(bits), int(sizeof whole / sizeof bits)>::type{bits};
  } else {
    whole = (Chars)from;
  }
  HIDP_LANE_WIDENED(16, 2, 1, Chars, bw128)
  HIDP_LANE_WIDENED(16, 4, 1, Chars, bd128)
  HIDP_LANE_WIDENED(16, 8, 1, Chars, bq128)
  HIDP_LANE_WIDENED(16, 4, 2, Shorts, wd128)
  HIDP_LANE_WIDENED(16, 8, 2, Shorts, wq128)
  HIDP_LANE_WIDENED(16, 8, 4, Ints, dq128)
#if defined(__AVX2__)
  HIDP_LANE_WIDENED(32, 2, 1, Chars, bw256)
  HIDP_LANE_WIDENED(32, 4, 1, Chars, bd256)
  HIDP_LANE_WIDENED(32, 8, 1, Chars, bq256)
  HIDP_LANE_WIDENED(32, 4, 2, Shorts, wd256)
  HIDP_LANE_WIDENED(32, 8, 2, Shorts, wq256)
  HIDP_LANE_WIDENED(32, 8, 4, Ints, dq256)
#endif
#if defined(__AVX512BW__)
  using Words = typename LaneVector<short, 32>::type;
  using Doubles = typename LaneVector<int, 16>::type;
  using Quads = typename LaneVector<long long, 8>::type;
  HIDP_LANE_WIDENED(64, 2, 1, Chars, bw512_mask, , Words{}, -1)
  HIDP_LANE_WIDENED(64, 4, 1, Chars, bd512_mask, , Doubles{}, -1)
  HIDP_LANE_WIDENED(64, 8, 1, Chars, bq512_mask, , Quads{}, -1)
  HIDP_LANE_WIDENED(64, 4, 2, Shorts, wd512_mask, , Doubles{}, -1)
  HIDP_LANE_WIDENED(64, 8, 2, Shorts, wq512_mask, , Quads{}, -1)
  HIDP_LANE_WIDENED(64, 8, 4, Ints, dq512_mask, , Quads{}, -1)
#endif
  return __builtin_convertvector(from, To);
}
#undef HIDP_LANE_WIDENED
#endif

// Conversions between vectors of as many elements. GCC takes those apart whose elements become less than half as wide, and those from small integers
// to floats: such go in steps.
template <class To, class From>
HIDP_INLINE To part_cast(From from) {
#if !defined(__clang__) && defined(__SSE4_1__)
  using T = std::decay_t<decltype(To{}[0])>;
  using F = std::decay_t<decltype(from[0])>;
  constexpr int lanes = sizeof(From) / sizeof(F);
#if defined(HIDP_LANE_BITS)
  constexpr int number = sizeof(T);
#else
  constexpr int number = 4;
#endif
  if constexpr (std::is_integral_v<F> && std::is_floating_point_v<T> && sizeof(F) < number) {
    using Number = LaneInt<number * 8>;
    return __builtin_convertvector(part_cast<typename LaneVector<Number, lanes>::type>(from), To);
  } else if constexpr (std::is_integral_v<F> && std::is_integral_v<T> && sizeof(T) > sizeof(F)) {
    return part_widened<To>(from);
  } else if constexpr (std::is_integral_v<F> && std::is_integral_v<T> && sizeof(F) > 2 * sizeof(T)) {
    using Signed = LaneInt<int(sizeof(F)) / 2 * 8>;
    using Step = std::conditional_t<std::is_signed_v<F>, Signed, std::make_unsigned_t<Signed>>;
    return part_cast<To>(__builtin_convertvector(from, typename LaneVector<Step, lanes>::type));
  } else
#endif
    return __builtin_convertvector(from, To);
}
// Whether instructions are named, as GCC needs it.
#if !defined(__clang__) && defined(__SSE4_1__)
constexpr bool kNamesInstructions = true;
#else
constexpr bool kNamesInstructions = false;
#endif
// Two vectors as one of elements half as wide. Of halves that are stored one by one a whole could not be loaded until both are in the cache.
template <class To, class From>
HIDP_INLINE To part_halved([[maybe_unused]] From lower, [[maybe_unused]] From upper) {
#if !defined(__clang__) && defined(__SSE4_1__)
  using T = std::decay_t<decltype(To{}[0])>;
  using F = std::decay_t<decltype(lower[0])>;
  constexpr int lanes = sizeof(To) / sizeof(T);
  if constexpr (std::is_integral_v<T> && std::is_integral_v<F>) {
    typename LaneVector<LaneInt<int(sizeof(T)) * 8>, lanes>::type evens;
    for (int lane = 0; lane < lanes; ++lane) evens[lane] = LaneInt<int(sizeof(T)) * 8>(2 * lane);
    return __builtin_shuffle((To)lower, (To)upper, evens);
  } else {
    using Half = typename LaneVector<T, lanes / 2>::type;
    const Half first = part_cast<Half>(lower), second = part_cast<Half>(upper);
#if defined(__AVX512F__)
    if constexpr (sizeof(To) == 64) {
      typedef double Whole __attribute__((vector_size(64)));
      typedef double Doubles __attribute__((vector_size(32)));
      return (To)__builtin_ia32_insertf64x4_mask(__builtin_ia32_pd512_256pd((Doubles)first), (Doubles)second, 1, Whole{}, -1);
    } else
#endif
#if defined(__AVX__)
    if constexpr (sizeof(To) == 32) {
      typedef double Doubles __attribute__((vector_size(16)));
      return (To)__builtin_ia32_vinsertf128_pd256(__builtin_ia32_pd256_pd((Doubles)first), (Doubles)second, 1);
    } else
#endif
    {
      LaneInt<int(sizeof first) * 8> bits[2];
      __builtin_memcpy(bits, &first, sizeof first);
      __builtin_memcpy(bits + 1, &second, sizeof second);
      return (To)typename LaneVector<LaneInt<int(sizeof first) * 8>, 2>::type{bits[0], bits[1]};
    }
  }
#else
  static_assert(sizeof(To) == 0);
#endif
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
