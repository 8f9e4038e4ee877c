// thread_histogram: one worker folds values into bins, in order.
//
// Called by: a worker. Run by: that worker alone. Result: in bins; returns the position of the first key outside
// [0, bin_count), or n if there is none; what stands behind it has not been folded. Scratch: none.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/cast.hpp>

HIDP_NAMESPACE_BEGIN

template <class T, class Op, class K, class V>
inline int64_t thread_histogram(const Op &op, const K *keys, const V *values, T *bins, int64_t n, int64_t bin_count) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t bin = static_cast<int64_t>(keys[i]);
    if (HIDP_UNLIKELY(static_cast<uint64_t>(bin) >= static_cast<uint64_t>(bin_count))) return i;
    bins[bin] = op(bins[bin], cast<T>(values[i]));
  }
  return n;
}

HIDP_NAMESPACE_END
