// Non-temporal stores: results that are far larger than the caches go to memory without being read first.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

// Instructions by name: <immintrin.h> has them as functions, and takes the compiler longer than a whole file of kernels.
#if defined(__AVX512F__)
constexpr size_t kStreamBytes = 64;
#define HIDP_STREAM "vmovntdq"
#elif defined(__AVX__)
constexpr size_t kStreamBytes = 32;
#define HIDP_STREAM "vmovntdq"
#elif defined(__SSE2__)
constexpr size_t kStreamBytes = 16;
#define HIDP_STREAM "movntdq"
#else
// There are no such stores, and where there are none nothing is moved.
constexpr size_t kStreamBytes = 0;
#endif

// `to` is aligned to kStreamBytes.
HIDP_INLINE void stream_vector(void *to, const void *from) {
#if defined(HIDP_STREAM)
  typedef char Bytes __attribute__((vector_size(kStreamBytes), may_alias));
  Bytes bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  __asm__(HIDP_STREAM " %1, %0" : "=m"(*static_cast<Bytes *>(to)) : "v"(bytes));
#else
  __builtin_memcpy(to, from, kStreamBytes);
#endif
}
#undef HIDP_STREAM

// Copies `count` elements past the caches. A line that is not written in full is written the usual way.
template <class T>
inline void stream_out(Worker &worker, T *__restrict to, const T *__restrict from, int64_t count) {
  size_t bytes = static_cast<size_t>(count) * sizeof(T);
  if constexpr (kStreamBytes == 0) {
    __builtin_memcpy(to, from, bytes);
  } else {
    constexpr size_t kLine = 64;
    char *target = reinterpret_cast<char *>(to);
    const char *source = reinterpret_cast<const char *>(from);
    worker.streamed = true;
    // Whole lines, as many as the compiler knows: straight from registers.
    if (bytes % kLine == 0 && reinterpret_cast<uintptr_t>(target) % kLine == 0) {
      for (size_t at = 0; at < bytes; at += kStreamBytes) stream_vector(target + at, source + at);
      return;
    }
    size_t head = (0 - reinterpret_cast<uintptr_t>(target)) % kLine;
    if (head > bytes) head = bytes;
    __builtin_memcpy(target, source, head);
    target += head, source += head, bytes -= head;
    for (; bytes >= kLine; target += kLine, source += kLine, bytes -= kLine) {
      for (size_t at = 0; at < kLine; at += kStreamBytes) stream_vector(target + at, source + at);
    }
    __builtin_memcpy(target, source, bytes);
  }
}

// How many elements stand between an address and the next start of a cache line.
template <class T>
HIDP_INLINE void elements_to_line(Worker &, const T *address, int64_t *count) {
  constexpr uintptr_t kLine = 64;
  *count = static_cast<int64_t>((0 - reinterpret_cast<uintptr_t>(address)) % kLine / sizeof(T));
}

// Before other threads may read what was streamed out.
inline void fence_streams(Worker &worker) {
#if defined(__SSE2__)
  if (worker.streamed) __asm__ volatile("sfence" ::: "memory");
#endif
  worker.streamed = false;
}

HIDP_NAMESPACE_END
