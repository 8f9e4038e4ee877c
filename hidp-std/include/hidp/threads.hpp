// Runs a function on several threads. The only place that knows OpenMP; without it everything runs on one.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

// body(thread, threads) on each of at most `wanted` threads; there may be fewer, as inside another parallel region.
template <class Body>
inline void on_threads(int64_t wanted, Body body) {
#if defined(_OPENMP)
  if (wanted > 1) {
#pragma omp parallel num_threads(static_cast<int>(wanted))
    body(static_cast<int64_t>(omp_get_thread_num()), static_cast<int64_t>(omp_get_num_threads()));
    return;
  }
#else
  (void)wanted;
#endif
  body(int64_t{0}, int64_t{1});
}

// [begin, end) of part `part` of `parts` nearly equal parts of [0, extent); each but the last a multiple of `grain`.
struct Part {
  Part(int64_t extent, int64_t grain, int64_t part, int64_t parts) {
    const int64_t grains = extent / grain + (extent % grain != 0);
    const int64_t each = grains / parts, more = grains % parts;
    const int64_t first = part * each + (part < more ? part : more);
    const int64_t past = first + each + (part < more);
    begin = first == grains ? extent : first * grain;
    end = past == grains ? extent : past * grain;
  }
  int64_t begin;
  int64_t end;
};

inline void parallel_zero(void *block, size_t bytes, int64_t threads) {
  constexpr size_t kWorthSharing = size_t{1} << 20;
  if (bytes < kWorthSharing) threads = 1;
  on_threads(threads, [=](int64_t thread, int64_t of) {
    const Part part(static_cast<int64_t>(bytes), 4096, thread, of);
    __builtin_memset(static_cast<char *>(block) + part.begin, 0, static_cast<size_t>(part.end - part.begin));
  });
}

HIDP_NAMESPACE_END
