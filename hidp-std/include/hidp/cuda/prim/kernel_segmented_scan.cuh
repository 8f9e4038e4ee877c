// kernel_segmented_scan, kernel_regular_scan: the whole device scans many segments, which may differ much in length.
//
// Called by: the host function. Run by: all blocks; a segment by the level that segment_bins.cuh says, giants by all. Result: the
// prefixes of each segment, at its place in out, for what follows on the stream, if it returns true; false after a fault: a
// segment outside its array (`range`: low, high, extent), two that overlap (`overlap`: their numbers), memory (`memory`), or an
// error of the device. Exclusive without a neutral element, a segment that is not empty is a fault at `empty`. Waits for the
// device, but for regular segments. Scratch: the list of segments by bins, from the device's pool. in and out are equal or do
// not overlap.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/for_segments.cuh>
#include <hidp/cuda/prim/group_scan.cuh>
#include <hidp/cuda/prim/scan_in_one_pass.cuh>

HIDP_NAMESPACE_BEGIN

template <class T, class Op, class Src, class Dst>
struct ScanSegment {
  Src in;
  Dst out;
  uint32_t empty;
  T neutral;
  bool has_neutral, exclusive;
  bool can_fault() const { return !IsBuiltin<Op>::value || (exclusive && !has_neutral); }
  template <class Group, class W>
  HIDP_DEVICE void run(W &worker, int64_t, int64_t low, int64_t, int64_t length) const {
    if (length == 0) return;
    if (exclusive && !has_neutral) worker.trap.raise(empty);
    else group_scan<Group, Own, T, Op>(worker, in + low, out + low, length, neutral, false, exclusive);
  }
};

template <class T, class Op, class Src, class Dst, class Segments>
inline bool segmented_scan(Host &host, const SegmentSites &sites, uint32_t empty, Src in, Dst out, int64_t extent, const Segments &segments,
                           const T &neutral, bool has_neutral, bool exclusive) {
  SegmentFacts facts;
  if (segments.count <= 0) return !host.failed();
  if (!look_at_outputs(host, sites, segments, extent, &facts)) return false;
  const ScanSegment<T, Op, Src, Dst> body{in, out, empty, neutral, has_neutral, exclusive};
  return for_segments(host, sites.memory, segments, facts, body, [&](int64_t, int64_t low, int64_t past) {
    if (exclusive && !has_neutral) host.trap.raise(empty);
    return !host.failed() && scan_in_one_pass<T, Op>(host, sites.memory, in + low, out + low, past - low, neutral, exclusive);
  });
}

template <class T, class Op, class Src, class Dst>
inline bool kernel_regular_scan(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, uint32_t empty, Src in, Dst out, int64_t extent,
                                int64_t size, int64_t count, T neutral, bool has_neutral, bool exclusive) {
  return segmented_scan<T, Op>(host, SegmentSites{range, overlap, memory}, empty, in, out, extent, RegularSegments{size, count}, neutral,
                               has_neutral, exclusive);
}

template <class T, class Op, class Src, class Dst, class L, class H>
inline bool kernel_segmented_scan(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, uint32_t empty, Src in, Dst out, int64_t extent,
                                  L lows, H highs, int64_t count, T neutral, bool has_neutral, bool exclusive) {
  return segmented_scan<T, Op>(host, SegmentSites{range, overlap, memory}, empty, in, out, extent, VectorSegments<L, H>{lows, highs, count},
                               neutral, has_neutral, exclusive);
}

HIDP_NAMESPACE_END
