// Whole iterations in vector lanes: sums over lanes, and the least of them.
#pragma once

#include <hidp/abi.hpp>
#include <hidp/lanes.hpp>

HIDP_NAMESPACE_BEGIN

// The sum of integers in the lanes of a mask: in any order, since they wrap.
template <class T, int B, int G>
HIDP_INLINE T wide_sum(const Mask<B, G> &mask, const Wide<T, B, G> &value) {
  using W = Wide<T, B, G>;
  const W here = wide_select(mask, value, wide_splat<B, G, T>(0));
  typename W::Vector sums = here.part[0];
#pragma GCC unroll 64
  for (int at = 1; at < W::kParts; ++at) sums += here.part[at];
  T sum = 0;
#pragma GCC unroll 64
  for (int lane = 0; lane < W::kPerPart; ++lane) sum += sums[lane];
  return sum;
}

// The least value in the lanes of a mask; the least number there is of none.
template <int B, int G>
HIDP_INLINE int64_t wide_least(const Mask<B, G> &mask, const Wide<int64_t, B, G> &value) {
  using W = Wide<int64_t, B, G>;
  const W here = wide_select(mask, value, wide_splat<B, G, int64_t>(INT64_MAX));
  typename W::Vector found = here.part[0];
#pragma GCC unroll 64
  for (int at = 1; at < W::kParts; ++at) {
    const typename W::Vector other = here.part[at];
    found = other < found ? other : found;
  }
  int64_t least = found[0];
#pragma GCC unroll 64
  for (int lane = 1; lane < W::kPerPart; ++lane) least = min<int64_t>(least, found[lane]);
  return wide_any(mask) ? least : INT64_MIN;
}

HIDP_NAMESPACE_END
