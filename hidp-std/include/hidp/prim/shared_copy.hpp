// worker_from_shared, worker_to_shared: copies between a private buffer and elements that other iterations may touch.
//
// Called by: generated kernels, around what works on private copies. Run by: one worker. Result: each element is an old or a new value,
// never a mixture. Scratch: none.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/access.hpp>
#include <hidp/prim/vector.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

// Relaxed accesses become no vectors. What moves a vector here is an instruction that the compiler does not look into, so it can neither
// repeat nor split it; the processor takes aligned elements of up to 8 bytes whole.
#if defined(__AVX512F__)
#define HIDP_MOVE "vmovdqu64"
#elif defined(__AVX__)
#define HIDP_MOVE "vmovdqu"
#elif defined(__SSE2__)
#define HIDP_MOVE "movdqu"
#endif

#if defined(HIDP_MOVE)
HIDP_INLINE void copy_shared_vector(const void *from, void *to) {
  typedef char __attribute__((vector_size(kVectorBytes), aligned(1), may_alias)) SharedBytes;
  SharedBytes bytes;
  __asm__ volatile(HIDP_MOVE " %1, %0" : "=v"(bytes) : "m"(*static_cast<const SharedBytes *>(from)));
  __asm__ volatile(HIDP_MOVE " %1, %0" : "=m"(*static_cast<SharedBytes *>(to)) : "v"(bytes));
}
#undef HIDP_MOVE

// Whole vectors, the last of which may overlap the one before. Whether that was all.
template <class T>
HIDP_INLINE bool copied_by_vectors(const T *from, T *to, int64_t n) {
  if constexpr (!std::is_arithmetic_v<T>) return false;
  const int64_t last = n - kLanes<T>;
  if (last < 0) return false;
  for (int64_t at = 0; at < last; at += kLanes<T>) copy_shared_vector(from + at, to + at);
  copy_shared_vector(from + last, to + last);
  return true;
}
#else
template <class T>
HIDP_INLINE bool copied_by_vectors(const T *, T *, int64_t) {
  return false;
}
#endif

template <class T>
inline void worker_from_shared(Worker &, const T *from, T *to, int64_t n) {
  if (copied_by_vectors(from, to, n)) return;
  for (int64_t i = 0; i < n; ++i) to[i] = load_shared(from + i);
}

template <class T>
inline void worker_to_shared(Worker &, const T *from, T *to, int64_t n) {
  if (copied_by_vectors(from, to, n)) return;
  for (int64_t i = 0; i < n; ++i) store_shared(to + i, from[i]);
}

HIDP_NAMESPACE_END
