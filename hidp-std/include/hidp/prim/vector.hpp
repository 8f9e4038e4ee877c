// Vectors as wide as the instruction set's registers, by the compiler's vector extension (GCC and Clang).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
HIDP_INLINE Vector<T> load_vector(const T *from) {
  Vector<T> vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}
template <class T>
HIDP_INLINE void store_vector(T *to, Vector<T> vector) {
  __builtin_memcpy(to, &vector, sizeof vector);
}
template <class T>
HIDP_INLINE Vector<T> broadcast(T value) {
  return value - Vector<T>{};
}

// As many elements as a vector of 64-bit lanes holds.
template <class B>
HIDP_INLINE Vector<int64_t> load_wide(const B *from) {
  typedef B Narrow __attribute__((vector_size(sizeof(B) * kLanes<int64_t>)));
  Narrow narrow;
  __builtin_memcpy(&narrow, from, sizeof narrow);
  return __builtin_convertvector(narrow, Vector<int64_t>);
}

HIDP_INLINE bool any_negative(Vector<int64_t> vector) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  __m512i lanes;
  __builtin_memcpy(&lanes, &vector, sizeof lanes);
  return _mm512_movepi64_mask(lanes) != 0;
#elif defined(__AVX__) && !defined(__AVX512F__)
  __m256d lanes;
  __builtin_memcpy(&lanes, &vector, sizeof lanes);
  return _mm256_movemask_pd(lanes) != 0;
#else
  int64_t all = 0;
  for (int64_t i = 0; i < kLanes<int64_t>; ++i) all |= vector[i];
  return all < 0;
#endif
}

// Whether load_part is an instruction: of smaller elements only the newest processors load parts.
template <class T>
constexpr bool kLoadsParts = sizeof(T) >= 4;

// The first n lanes from `in`, of which no more is read, `other` in those that are left. n may be negative or more than there are lanes,
// but fits into 32 bits.
template <class T>
HIDP_INLINE Vector<T> load_part(const T *in, int64_t n, T other) {
  static_assert(kLoadsParts<T>);
  const Vector<T> others = broadcast(other);
  Vector<T> part;
#if defined(__AVX512F__)
  __m512i old, now;
  __builtin_memcpy(&old, &others, sizeof old);
  if constexpr (sizeof(T) == 8) {
    const __m512i number = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    now = _mm512_mask_loadu_epi64(old, _mm512_cmplt_epi64_mask(number, _mm512_set1_epi64(n)), in);
  } else {
    const __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    now = _mm512_mask_loadu_epi32(old, _mm512_cmplt_epi32_mask(number, _mm512_set1_epi32(static_cast<int>(n))), in);
  }
  __builtin_memcpy(&part, &now, sizeof part);
#elif defined(__AVX2__)
  __m256i old, now;
  __builtin_memcpy(&old, &others, sizeof old);
  if constexpr (sizeof(T) == 8) {
    const __m256i wanted = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_set_epi64x(3, 2, 1, 0));
    now = _mm256_blendv_epi8(old, _mm256_maskload_epi64(reinterpret_cast<const long long *>(in), wanted), wanted);
  } else {
    const __m256i number = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), number);
    now = _mm256_blendv_epi8(old, _mm256_maskload_epi32(reinterpret_cast<const int *>(in), wanted), wanted);
  }
  __builtin_memcpy(&part, &now, sizeof part);
#else
  part = others;
  for (int64_t i = 0; i < kLanes<T> && i < n; ++i) part[i] = in[i];
#endif
  return part;
}

// The same where a whole vector can be read from `in`: the load need not wait for n.
template <class T>
HIDP_INLINE Vector<T> load_whole_part(const T *in, int64_t n, T other) {
  using Number = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  Vector<Number> number;
  for (int64_t i = 0; i < kLanes<T>; ++i) number[i] = static_cast<Number>(i);
  Vector<T> whole = load_vector(in);
#if defined(__AVX512F__)
  // Not to become a masked load again, which is slow where no lane is wanted.
  __asm__("" : "+v"(whole));
#endif
  return number < broadcast(static_cast<Number>(n)) ? whole : broadcast(other);
}

HIDP_NAMESPACE_END
