// Whole iterations in vector lanes: sums over lanes.
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

HIDP_NAMESPACE_END
