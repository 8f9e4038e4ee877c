// kernel_sort: the whole device sorts one segment, stably; floats in IEEE 754's total order.
//
// Called by: the host function. Run by: all blocks. Result: in out_key (and out_val), for what follows on the stream, if it
// returns true; false after an allocation fault at `memory` or an error of the device. in and out are equal or do not overlap.
// Scratch: n keys and n values, and some counters, from the device's pool.
//
// CUB's radix sort. The executor, which cannot run CUB, sorts tiles by blocks and merges them, all parts at once.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/items.cuh>
#include <hidp/prim/radix_key.hpp>
#if defined(__CUDACC__)
#include <hidp/cuda/prim/radix_sort_by_cub.cuh>
#else
#include <hidp/cuda/prim/merge_sort_on_device.cuh>
#endif

HIDP_NAMESPACE_BEGIN

template <class Src, class Dst>
inline bool kernel_sort(Host &host, uint32_t memory, Src in_key, Dst out_key, int64_t n, bool descending) {
  if (n <= 0) return !host.failed();
#if defined(__CUDACC__)
  return radix_sort_by_cub(host, memory, in_key, out_key, n, descending);
#else
  return merge_sort_on_device(host, memory, in_key, out_key, n, descending);
#endif
}

template <class Src, class Dst, class ValSrc, class ValDst>
inline bool kernel_sort(Host &host, uint32_t memory, Src in_key, Dst out_key, ValSrc in_val, ValDst out_val, int64_t n, bool descending) {
  if (n <= 0) return !host.failed();
#if defined(__CUDACC__)
  return radix_sort_by_cub(host, memory, in_key, out_key, in_val, out_val, n, descending);
#else
  return merge_sort_on_device(host, memory, in_key, out_key, in_val, out_val, n, descending);
#endif
}

HIDP_NAMESPACE_END
