// kernel_segmented_reverse, kernel_regular_reverse, and both in place: the whole device reverses many segments, which may differ
// much in length.
//
// Called by: the host function. Run by: all blocks; a segment by the level that segment_bins.cuh says, giants by all. Result: each
// segment reversed at its place, for what follows on the stream, if it returns true; false after a fault: a segment outside its
// array (`range`: low, high, extent), two that overlap (`overlap`: their numbers), memory (`memory`), or an error of the device.
// Waits for the device, but for regular segments. Scratch: the list of segments by bins, from the device's pool. in and out do
// not overlap.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/for_segments.cuh>
#include <hidp/cuda/prim/group_reverse.cuh>
#include <hidp/cuda/prim/kernel_reverse.cuh>

HIDP_NAMESPACE_BEGIN

template <class Src, class Dst>
struct ReverseSegment {
  static constexpr bool can_fault() { return false; }
  Src in;
  Dst out;
  template <class Group, class W>
  HIDP_DEVICE void run(W &worker, int64_t, int64_t low, int64_t, int64_t length) const {
    group_reverse<Group, Own>(worker, in + low, out + low, length);
  }
};

template <class Dst>
struct ReverseSegmentInplace {
  static constexpr bool can_fault() { return false; }
  Dst data;
  template <class Group, class W>
  HIDP_DEVICE void run(W &worker, int64_t, int64_t low, int64_t, int64_t length) const {
    group_reverse_inplace<Group, Own>(worker, data + low, length);
  }
};

template <class Src, class Dst, class Segments>
inline bool segmented_reverse(Host &host, const SegmentSites &sites, Src in, Dst out, int64_t extent, const Segments &segments) {
  SegmentFacts facts;
  if (segments.count <= 0) return !host.failed();
  if (!look_at_outputs(host, sites, segments, extent, &facts)) return false;
  return for_segments(host, sites.memory, segments, facts, ReverseSegment<Src, Dst>{in, out}, [&](int64_t, int64_t low, int64_t past) {
    kernel_reverse(host, in + low, out + low, past - low);
    return !host.failed();
  });
}

template <class Dst, class Segments>
inline bool segmented_reverse_inplace(Host &host, const SegmentSites &sites, Dst data, int64_t extent, const Segments &segments) {
  SegmentFacts facts;
  if (segments.count <= 0) return !host.failed();
  if (!look_at_outputs(host, sites, segments, extent, &facts)) return false;
  return for_segments(host, sites.memory, segments, facts, ReverseSegmentInplace<Dst>{data}, [&](int64_t, int64_t low, int64_t past) {
    kernel_reverse_inplace(host, data + low, past - low);
    return !host.failed();
  });
}

template <class Src, class Dst>
inline bool kernel_regular_reverse(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, Src in, Dst out, int64_t extent, int64_t size,
                                   int64_t count) {
  return segmented_reverse(host, SegmentSites{range, overlap, memory}, in, out, extent, RegularSegments{size, count});
}

template <class Src, class Dst, class L, class H>
inline bool kernel_segmented_reverse(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, Src in, Dst out, int64_t extent, L lows,
                                     H highs, int64_t count) {
  return segmented_reverse(host, SegmentSites{range, overlap, memory}, in, out, extent, VectorSegments<L, H>{lows, highs, count});
}

template <class Dst>
inline bool kernel_regular_reverse_inplace(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, Dst data, int64_t extent, int64_t size,
                                           int64_t count) {
  return segmented_reverse_inplace(host, SegmentSites{range, overlap, memory}, data, extent, RegularSegments{size, count});
}

template <class Dst, class L, class H>
inline bool kernel_segmented_reverse_inplace(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, Dst data, int64_t extent, L lows,
                                             H highs, int64_t count) {
  return segmented_reverse_inplace(host, SegmentSites{range, overlap, memory}, data, extent, VectorSegments<L, H>{lows, highs, count});
}

HIDP_NAMESPACE_END
