// Whole iterations in vector lanes: sums over lanes, and their extremes.
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

// The least value in the lanes of a mask, and the greatest; the least number there is of none.
template <bool Most, int B, int G>
HIDP_INLINE int64_t wide_extreme(const Mask<B, G> &mask, const Wide<int64_t, B, G> &value) {
  using W = Wide<int64_t, B, G>;
  constexpr int64_t kNone = Most ? INT64_MIN : INT64_MAX;
  const W here = wide_select(mask, value, wide_splat<B, G, int64_t>(kNone));
  typename W::Vector found = here.part[0];
#pragma GCC unroll 64
  for (int at = 1; at < W::kParts; ++at) {
    const typename W::Vector other = here.part[at];
    found = (Most ? found < other : other < found) ? other : found;
  }
  int64_t extreme = found[0];
#pragma GCC unroll 64
  for (int lane = 1; lane < W::kPerPart; ++lane) extreme = Most ? max<int64_t>(extreme, found[lane]) : min<int64_t>(extreme, found[lane]);
  return Most || wide_any(mask) ? extreme : INT64_MIN;
}
template <int B, int G>
HIDP_INLINE int64_t wide_least(const Mask<B, G> &mask, const Wide<int64_t, B, G> &value) {
  return wide_extreme<false>(mask, value);
}
template <int B, int G>
HIDP_INLINE int64_t wide_greatest(const Mask<B, G> &mask, const Wide<int64_t, B, G> &value) {
  return wide_extreme<true>(mask, value);
}

HIDP_NAMESPACE_END
