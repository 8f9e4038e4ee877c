// kernel_segmented_reduce, kernel_regular_reduce: the whole device folds many segments, which may differ much in length.
//
// Called by: the host function. Run by: all blocks; a segment by the level that segment_bins.cuh says, giants by all. Result:
// the fold of segment i in out[i], for what follows on the stream, if it returns true; false after a fault: a segment outside
// its array (`range`: low, high, extent), memory (`memory`), or an error of the device. An empty segment without a neutral
// element is a fault at `empty`, which shows at the next look. Waits for the device, but for regular segments.
// Scratch: the list of segments by bins, from the device's pool. Segments come in any order and may overlap.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/for_segments.cuh>
#include <hidp/cuda/prim/group_reduce.cuh>
#include <hidp/cuda/prim/kernel_reduce.cuh>

HIDP_NAMESPACE_BEGIN

template <class T, class Op, class Src, class Dst>
struct ReduceSegment {
  Src in;
  Dst out;
  uint32_t empty;
  T neutral;
  bool has_neutral;
  bool can_fault() const { return !IsBuiltin<Op>::value || !has_neutral; }
  template <class Group, class W>
  HIDP_DEVICE void run(W &worker, int64_t i, int64_t low, int64_t, int64_t length) const {
    T fold = neutral;
    if (length > 0) fold = group_reduce<Group, Own, T, Op>(worker, in + low, length);
    else if (!has_neutral) worker.trap.raise(empty);
    if (is_first<Group>(worker) && !worker.trap.raised) store(out + i, fold);
  }
};

// Looks at the segments. Where folds cannot fault, those of up to the average length are folded meanwhile, if that is not too long
// for a warp; returns the first bin of which none are done.
template <class T, class Op, class Src, class Dst, class L, class H>
inline bool look_and_fold(Host &host, const SegmentSites &sites, const ReduceSegment<T, Op, Src, Dst> &body, int64_t extent,
                          const VectorSegments<L, H> &segments, SegmentFacts *facts, int *first_bin) {
  Any<SegmentFacts> place;
  if (!begin_to_look(host, sites, segments, extent, &place)) return false;
  const int bin = BinLimits{kBlockSegment}.bin(extent / segments.count);
  if (bin <= kWarpBin && !body.can_fault()) {
    if (!for_short_segments(host, segments, body, extent, bin)) return false;
    *first_bin = bin + 1;
  }
  return take_facts(host, sites, segments, extent, place, facts);
}
template <class T, class Op, class Src, class Dst>
inline bool look_and_fold(Host &host, const SegmentSites &sites, const ReduceSegment<T, Op, Src, Dst> &, int64_t extent,
                          const RegularSegments &segments, SegmentFacts *facts, int *) {
  return look_at_segments(host, sites, segments, extent, facts);
}

template <class T, class Op, class Src, class Dst, class Segments>
inline bool segmented_reduce(Host &host, const SegmentSites &sites, uint32_t empty, Src in, int64_t extent, Dst out, const Segments &segments,
                             const T &neutral, bool has_neutral) {
  SegmentFacts facts;
  int first_bin = 0;
  if (segments.count <= 0) return !host.failed();
  const ReduceSegment<T, Op, Src, Dst> body{in, out, empty, neutral, has_neutral};
  if (!look_and_fold(host, sites, body, extent, segments, &facts, &first_bin)) return false;
  const auto giant = [&](int64_t i, int64_t low, int64_t past) {
    return fold_on_device<T, Op>(host, sites.memory, in + low, past - low, Any<T>(out + i));
  };
  return for_segments(host, sites.memory, segments, facts, body, giant, first_bin);
}

template <class T, class Op, class Src, class Dst>
inline bool kernel_regular_reduce(Host &host, uint32_t range, uint32_t memory, uint32_t empty, Src in, int64_t extent, Dst out, int64_t size,
                                  int64_t count, T neutral, bool has_neutral) {
  return segmented_reduce<T, Op>(host, SegmentSites{range, range, memory}, empty, in, extent, out, RegularSegments{size, count}, neutral,
                                 has_neutral);
}

template <class T, class Op, class Src, class Dst, class L, class H>
inline bool kernel_segmented_reduce(Host &host, uint32_t range, uint32_t memory, uint32_t empty, Src in, int64_t extent, Dst out, L lows, H highs,
                                    int64_t count, T neutral, bool has_neutral) {
  return segmented_reduce<T, Op>(host, SegmentSites{range, range, memory}, empty, in, extent, out, VectorSegments<L, H>{lows, highs, count},
                                 neutral, has_neutral);
}

HIDP_NAMESPACE_END
