// Vectors as wide as the instruction set's registers, by the compiler's vector extension (GCC and Clang). What that does not have are
// instructions by name: <immintrin.h> has them as functions, and takes the compiler longer than a file of kernels.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

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
  unsigned char mask;
  __asm__("vpmovq2m %1, %0" : "=Yk"(mask) : "v"(vector));
  return mask != 0;
#elif defined(__AVX__) && !defined(__AVX512F__)
  int mask;
  __asm__("vmovmskpd %1, %0" : "=r"(mask) : "x"(vector));
  return mask != 0;
#else
  int64_t all = 0;
  for (int64_t i = 0; i < kLanes<int64_t>; ++i) all |= vector[i];
  return all < 0;
#endif
}

// Whether load_part is an instruction: of smaller elements only the newest processors load parts.
template <class T>
constexpr bool kLoadsParts = sizeof(T) >= 4;

// The numbers of lanes, as wide as elements are.
template <class T>
using LaneNumber = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
template <class T>
HIDP_INLINE Vector<LaneNumber<T>> lane_numbers() {
  Vector<LaneNumber<T>> number;
  for (int64_t i = 0; i < kLanes<T>; ++i) number[i] = static_cast<LaneNumber<T>>(i);
  return number;
}

// The first n lanes from `in`, of which no more is read, `other` in those that are left. n may be negative or more than there are lanes,
// but fits into 32 bits.
template <class T>
HIDP_INLINE Vector<T> load_part(const T *in, int64_t n, T other) {
  static_assert(kLoadsParts<T>);
  Vector<T> part = broadcast(other);
#if defined(__AVX2__)
  const Vector<LaneNumber<T>> number = lane_numbers<T>(), end = broadcast(static_cast<LaneNumber<T>>(n));
  const auto &from = *reinterpret_cast<const char (*)[kVectorBytes]>(in);
#if defined(__AVX512F__)
  uint16_t wanted;
  if constexpr (sizeof(T) == 8) {
    __asm__("vpcmpgtq %3, %2, %1\n\tvmovdqu64 %4, %0%{%1%}" : "+v"(part), "=&Yk"(wanted) : "v"(end), "v"(number), "m"(from));
  } else {
    __asm__("vpcmpgtd %3, %2, %1\n\tvmovdqu32 %4, %0%{%1%}" : "+v"(part), "=&Yk"(wanted) : "v"(end), "v"(number), "m"(from));
  }
#else
  const Vector<LaneNumber<T>> wanted = number < end;
  Vector<T> now;
  if constexpr (sizeof(T) == 8) __asm__("vpmaskmovq %2, %1, %0" : "=x"(now) : "x"(wanted), "m"(from));
  else __asm__("vpmaskmovd %2, %1, %0" : "=x"(now) : "x"(wanted), "m"(from));
  part = wanted ? now : part;
#endif
#else
  for (int64_t i = 0; i < kLanes<T> && i < n; ++i) part[i] = in[i];
#endif
  return part;
}

// The same where a whole vector can be read from `in`: the load need not wait for n.
template <class T>
HIDP_INLINE Vector<T> load_whole_part(const T *in, int64_t n, T other) {
  Vector<T> whole = load_vector(in);
#if defined(__AVX512F__)
  // Not to become a masked load again, which is slow where no lane is wanted.
  __asm__("" : "+v"(whole));
#endif
  return lane_numbers<T>() < broadcast(static_cast<LaneNumber<T>>(n)) ? whole : broadcast(other);
}

HIDP_NAMESPACE_END
