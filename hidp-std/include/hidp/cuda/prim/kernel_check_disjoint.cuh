// kernel_check_disjoint: after a map whose iterations wrote segments [lows[i], highs[i]) of one array.
//
// Called by: the host function. Run by: all blocks. Result: whether no two of them, in any order, share an element; false after a
// fault: two that do (`overlap`: their numbers), memory (`memory`), or an error of the device. Waits for the device. Scratch: if
// they are not in ascending order, four numbers a segment, from the device's pool.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/device_segments.cuh>

HIDP_NAMESPACE_BEGIN

template <class L, class H>
inline bool kernel_check_disjoint(Host &host, uint32_t overlap, uint32_t memory, L lows, H highs, int64_t count) {
  SegmentFacts facts;
  const SegmentSites sites{overlap, overlap, memory};
  const VectorSegments<L, H> segments{lows, highs, count};
  if (count <= 0) return !host.failed();
  return look_at_segments(host, sites, segments, INT64_MAX, &facts) &&
         (facts.unordered == 0 || look_for_overlap(host, sites, segments, facts.filled));
}

HIDP_NAMESPACE_END
