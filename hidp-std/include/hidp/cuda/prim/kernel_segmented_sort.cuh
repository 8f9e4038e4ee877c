// kernel_segmented_sort, kernel_regular_sort: the whole device sorts many segments, which may differ much in length, each stably.
//
// Called by: the host function. Run by: all blocks; a segment by the level that segment_bins.cuh says, giants by all. Result: each
// segment sorted at its place in out_key (and out_val), for what follows on the stream, if it returns true; false after a fault: a
// segment outside its array (`range`: low, high, extent), two that overlap (`overlap`: their numbers), memory (`memory`), or an
// error of the device. Waits for the device, but for regular segments. Scratch: a copy of the arrays and the list of segments by
// bins, from the device's pool. in and out are equal or do not overlap.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/cuda/prim/block_tile_sort.cuh>
#include <hidp/cuda/prim/for_segments.cuh>
#include <hidp/cuda/prim/kernel_sort.cuh>

HIDP_NAMESPACE_BEGIN

template <class From, class To>
struct SortSegment {
  static constexpr bool can_fault() { return false; }
  From in;
  To out, scratch;
  bool descending;
  template <class Group, class W>
  HIDP_DEVICE void run(W &worker, int64_t, int64_t low, int64_t, int64_t length) const {
    if (length == 0) return;
    if constexpr (std::is_same_v<Group, Block>) block_sort_places(worker, in.at(low), out.at(low), scratch.at(low), length, descending);
    else group_sort<Group>(worker, in.at(low), out.at(low), scratch.at(low), length, descending);
  }
};

// The longest segment for which no level that takes it, or takes a shorter one, needs scratch memory.
template <class To>
inline constexpr int64_t kSortedInRegisters = kThreadRun<To> < kThreadSegment      ? kThreadRun<To>
                                              : kSubwarpRun<To> < kSubwarpSegment ? kSubwarpRun<To>
                                              : kWarpRun<To> < kWarpSegment       ? kWarpRun<To>
                                                                                  : kWarpSegment;

// Elements of scratch memory: as many as the arrays have, unless every segment is sorted in registers.
template <class To>
inline int64_t room_to_sort(const SegmentFacts &facts, int64_t extent) {
  return facts.longest > kSortedInRegisters<To> ? extent : 1;
}

template <class From, class To, class Segments, class Giant>
inline bool segmented_sort(Host &host, const SegmentSites &sites, const From &in, const To &out, const To &scratch, const Segments &segments,
                           const SegmentFacts &facts, bool descending, const Giant &giant) {
  return for_segments(host, sites.memory, segments, facts, SortSegment<From, To>{in, out, scratch, descending}, giant);
}

template <class Src, class Dst, class Segments>
inline bool segmented_sort_keys(Host &host, const SegmentSites &sites, Src in, Dst out, int64_t extent, const Segments &segments, bool descending) {
  using K = ElementOf<Dst>;
  SegmentFacts facts;
  if (segments.count <= 0) return !host.failed();
  if (!look_at_outputs(host, sites, segments, extent, &facts)) return false;
  const Any<K> scratch = host.alloc<K>(room_to_sort<SortPlaces<Any<K>, NoValue>>(facts, extent), false, sites.memory);
  if (host.failed()) return false;
  const SortPlaces<Src, NoValue> from{in};
  const SortPlaces<Any<K>, NoValue> to{out}, other{scratch};
  const bool done = segmented_sort(host, sites, from, to, other, segments, facts, descending, [&](int64_t, int64_t low, int64_t past) {
    return kernel_sort(host, sites.memory, in + low, out + low, past - low, descending);
  });
  host.free(scratch);
  return done;
}

template <class Src, class Dst, class ValSrc, class ValDst, class Segments>
inline bool segmented_sort_pairs(Host &host, const SegmentSites &sites, Src in, Dst out, ValSrc in_val, ValDst out_val, int64_t extent,
                                 const Segments &segments, bool descending) {
  using K = ElementOf<Dst>;
  using V = ElementOf<ValDst>;
  SegmentFacts facts;
  if (segments.count <= 0) return !host.failed();
  if (!look_at_outputs(host, sites, segments, extent, &facts)) return false;
  const int64_t room = room_to_sort<SortPlaces<Any<K>, Any<V>>>(facts, extent);
  const Any<K> scratch = host.alloc<K>(room, false, sites.memory);
  const Any<V> scratch_val = host.alloc<V>(room, false, sites.memory);
  if (host.failed()) return false;
  const SortPlaces<Src, ValSrc> from{in, in_val};
  const SortPlaces<Any<K>, Any<V>> to{out, out_val}, other{scratch, scratch_val};
  const bool done = segmented_sort(host, sites, from, to, other, segments, facts, descending, [&](int64_t, int64_t low, int64_t past) {
    return kernel_sort(host, sites.memory, in + low, out + low, in_val + low, out_val + low, past - low, descending);
  });
  host.free(scratch_val);
  host.free(scratch);
  return done;
}

template <class Src, class Dst>
inline bool kernel_regular_sort(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, Src in, Dst out, int64_t extent, int64_t size,
                                int64_t count, bool descending) {
  return segmented_sort_keys(host, SegmentSites{range, overlap, memory}, in, out, extent, RegularSegments{size, count}, descending);
}

template <class Src, class Dst, class L, class H>
inline bool kernel_segmented_sort(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, Src in, Dst out, int64_t extent, L lows, H highs,
                                  int64_t count, bool descending) {
  return segmented_sort_keys(host, SegmentSites{range, overlap, memory}, in, out, extent, VectorSegments<L, H>{lows, highs, count}, descending);
}

template <class Src, class Dst, class ValSrc, class ValDst>
inline bool kernel_regular_sort(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, Src in, Dst out, ValSrc in_val, ValDst out_val,
                                int64_t extent, int64_t size, int64_t count, bool descending) {
  return segmented_sort_pairs(host, SegmentSites{range, overlap, memory}, in, out, in_val, out_val, extent, RegularSegments{size, count},
                              descending);
}

template <class Src, class Dst, class ValSrc, class ValDst, class L, class H>
inline bool kernel_segmented_sort(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, Src in, Dst out, ValSrc in_val, ValDst out_val,
                                  int64_t extent, L lows, H highs, int64_t count, bool descending) {
  return segmented_sort_pairs(host, SegmentSites{range, overlap, memory}, in, out, in_val, out_val, extent,
                              VectorSegments<L, H>{lows, highs, count}, descending);
}

HIDP_NAMESPACE_END
