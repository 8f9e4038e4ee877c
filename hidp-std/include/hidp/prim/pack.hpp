// pack_marked: moves the marked elements of a small array to its front, in their order.
//
// Called by: a worker. Run by: that worker alone; elements of 4 and 8 bytes in vector lanes with AVX2 and AVX-512. Result: in
// `elements`, of which what stands behind the moved ones is left in any order, and their number in `count`. Scratch: none.
//
// A vector of elements is read before one is stored at or before its place, so the array is packed where it stands.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/prim/vector.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

#if defined(__AVX2__)
template <class T>
constexpr bool kPacksInLanes = sizeof(T) == 4 || sizeof(T) == 8;
#else
template <class T>
constexpr bool kPacksInLanes = false;
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
// For each set of marked lanes the 32-bit lanes that come to the front: eight bytes a set.
template <int Lanes>
struct FrontLanes {
  uint64_t of[1 << Lanes];

  constexpr FrontLanes() : of{} {
    constexpr int words = 8 / Lanes;
    for (int marked = 0; marked < 1 << Lanes; ++marked) {
      int at = 0;
      for (int word = 0; word < 8; ++word) {
        if (marked >> (word / words) & 1) of[marked] |= static_cast<uint64_t>(word) << (8 * at++);
      }
    }
  }
};
template <int Lanes>
constexpr FrontLanes<Lanes> kFrontLanes;
#endif

// A bit for each lane of a vector of T.
template <class T>
HIDP_INLINE uint32_t bits_of_marks(const bool *marks) {
  uint32_t bits = 0;
  for (int64_t part = 0; part < kLanes<T>; part += 8) {
    constexpr int64_t count = kLanes<T> < 8 ? kLanes<T> : 8;
    uint64_t bytes = 0;
    __builtin_memcpy(&bytes, marks + part, count);
    // The product's highest byte has the lowest bit of each byte.
    bits |= static_cast<uint32_t>(bytes * 0x0102040810204080u >> 56) << part;
  }
  return bits;
}

#if defined(__AVX2__)
// The marked lanes first; what the others hold is of no use.
template <class T>
HIDP_INLINE Vector<T> pack_lanes(Vector<T> vector, uint32_t marked) {
  Vector<T> packed;
#if defined(__AVX512F__)
  const uint16_t mask = static_cast<uint16_t>(marked);
  if constexpr (sizeof(T) == 8) __asm__("vpcompressq %1, %0%{%2%}%{z%}" : "=v"(packed) : "v"(vector), "Yk"(mask));
  else __asm__("vpcompressd %1, %0%{%2%}%{z%}" : "=v"(packed) : "v"(vector), "Yk"(mask));
#else
  const auto &from = reinterpret_cast<const char (&)[8]>(kFrontLanes<kLanes<T>>.of[marked]);
  Vector<int32_t> lanes;
  __asm__("vpmovzxbd %1, %0" : "=x"(lanes) : "m"(from));
  __asm__("vpermd %1, %2, %0" : "=x"(packed) : "x"(vector), "x"(lanes));
#endif
  return packed;
}
#endif

template <class T>
inline void pack_marked(Worker &, T *elements, const bool *marks, int64_t n, int64_t *count) {
  int64_t kept = 0, at = 0;
#if defined(__AVX2__)
  if constexpr (kPacksInLanes<T>) {
    for (; at + kLanes<T> <= n; at += kLanes<T>) {
      const uint32_t marked = bits_of_marks<T>(marks + at);
      store_vector(elements + kept, pack_lanes<T>(load_vector(elements + at), marked));
      kept += __builtin_popcount(marked);
    }
  }
#endif
  for (; at < n; ++at) {
    elements[kept] = elements[at];
    kept += marks[at];
  }
  *count = kept;
}

HIDP_NAMESPACE_END
