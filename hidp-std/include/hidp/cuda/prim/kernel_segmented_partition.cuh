// kernel_segmented_partition: the whole device partitions many segments, which may differ much in length, each by its own pivot,
// both parts in order.
//
// Called by: the host function. Run by: all blocks; a segment by the level that segment_bins.cuh says, giants by all. Result: each
// segment at its place in out (and out_val), and the bounds of the parts of segment i in new_low/new_high[2i] and [2i + 1], for
// what follows on the stream, if it returns true; false after a fault: a segment outside its array (`range`: low, high, extent),
// two that overlap (`overlap`: their numbers), memory (`memory`), or an error of the device. A bound that does not fit its type is
// a fault at `narrow`. Waits for the device. Scratch: the list of segments by bins and counters of giants' parts, from the
// device's pool. in and out do not overlap.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/cuda/prim/for_segments.cuh>
#include <hidp/cuda/prim/kernel_partition.cuh>

HIDP_NAMESPACE_BEGIN

template <class B>
HIDP_INLINE bool holds_bound(int64_t bound) {
  return static_cast<int64_t>(static_cast<B>(bound)) == bound && (std::is_signed_v<B> || bound >= 0);
}

// The bounds of both parts of segment i. One that does not fit is a fault.
template <class Bounds>
struct PartBounds {
  using B = ElementOf<Bounds>;
  Bounds new_low, new_high;
  uint32_t narrow;

  HIDP_DEVICE void note(Trap &trap, int64_t i, int64_t low, int64_t middle, int64_t past) const {
    for (const int64_t bound : {low, middle, past})
      if (!holds_bound<B>(bound)) return trap.raise(narrow, 1, bound);
    store(new_low + 2 * i, static_cast<B>(low));
    store(new_high + 2 * i, static_cast<B>(middle));
    store(new_low + (2 * i + 1), static_cast<B>(middle));
    store(new_high + (2 * i + 1), static_cast<B>(past));
  }
};

template <class Bounds>
struct NoteGiant {
  PartBounds<Bounds> bounds;
  int64_t i, low, front, past;
  template <class W>
  HIDP_DEVICE void operator()(W &worker) const {
    worker.trap.where.item = static_cast<uint64_t>(i);
    bounds.note(worker.trap, i, low, low + front, past);
  }
};

template <class F, class Move, class Pivots, class Bounds>
struct PartitionSegment {
  static constexpr bool can_fault() { return true; }
  Move move;
  Pivots pivots;
  PartBounds<Bounds> bounds;
  template <class Group, class W>
  HIDP_DEVICE void run(W &worker, int64_t i, int64_t low, int64_t past, int64_t length) const {
    int64_t front = 0;
    if (length > 0) front = group_partition<Group, Own, F>(worker, move.at(low), load(pivots + i), length);
    if (is_first<Group>(worker) && !worker.trap.raised) bounds.note(worker.trap, i, low, low + front, past);
    settle<Group>(worker);
  }
};

template <class F, class Move, class Pivots, class Bounds, class Segments>
inline bool segmented_partition(Host &host, const SegmentSites &sites, const Move &move, Pivots pivots, int64_t extent, const Segments &segments,
                                const PartBounds<Bounds> &bounds) {
  SegmentFacts facts;
  if (segments.count <= 0) return !host.failed();
  if (!look_at_outputs(host, sites, segments, extent, &facts)) return false;
  const PartitionSegment<F, Move, Pivots, Bounds> body{move, pivots, bounds};
  return for_segments(host, sites.memory, segments, facts, body, [&](int64_t i, int64_t low, int64_t past) {
    int64_t front = 0;
    const auto pivot = host.fetch(pivots + i);
    if (host.failed() || !partition_on_device<F>(host, sites.memory, move.at(low), pivot, past - low, &front)) return false;
    return run_once<Thread>(host, true, NoteGiant<Bounds>{bounds, i, low, front, past});
  });
}

template <class F, class Src, class Dst, class Pivots, class L, class H, class Bounds>
inline bool kernel_segmented_partition(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, uint32_t narrow, Src in, Dst out,
                                       Pivots pivots, int64_t extent, L lows, H highs, int64_t count, Bounds new_low, Bounds new_high) {
  return segmented_partition<F>(host, SegmentSites{range, overlap, memory}, MoveKeys<Own, Src, Dst>{in, out}, pivots, extent,
                                VectorSegments<L, H>{lows, highs, count}, PartBounds<Bounds>{new_low, new_high, narrow});
}

template <class F, class Src, class Dst, class ValSrc, class ValDst, class Pivots, class L, class H, class Bounds>
inline bool kernel_segmented_partition(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, uint32_t narrow, Src in, Dst out,
                                       ValSrc in_val, ValDst out_val, Pivots pivots, int64_t extent, L lows, H highs, int64_t count,
                                       Bounds new_low, Bounds new_high) {
  const MovePairs<Own, Src, Dst, ValSrc, ValDst> move{in, out, in_val, out_val};
  return segmented_partition<F>(host, SegmentSites{range, overlap, memory}, move, pivots, extent, VectorSegments<L, H>{lows, highs, count},
                                PartBounds<Bounds>{new_low, new_high, narrow});
}

HIDP_NAMESPACE_END
