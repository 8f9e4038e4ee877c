// Segments of an array in device memory, and their checks.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/items.cuh>
#include <hidp/cuda/prim/merge_sort_on_device.cuh>
#include <hidp/cuda/prim/rows.cuh>

HIDP_NAMESPACE_BEGIN

// `count` segments of `size` elements, one after the other.
struct RegularSegments {
  int64_t size, count;
  HIDP_DEVICE int64_t low(int64_t i) const { return i * size; }
  HIDP_DEVICE int64_t past(int64_t i) const { return (i + 1) * size; }
  HIDP_DEVICE int64_t length(int64_t) const { return size; }
};

// Segment i is [lows[i], highs[i]); empty if that ends before it starts. L and H are places.
template <class L, class H>
struct VectorSegments {
  L lows;
  H highs;
  int64_t count;
  HIDP_DEVICE int64_t low(int64_t i) const { return static_cast<int64_t>(load(lows + i)); }
  HIDP_DEVICE int64_t past(int64_t i) const { return static_cast<int64_t>(load(highs + i)); }
  HIDP_DEVICE int64_t length(int64_t i) const {
    const int64_t first = low(i), behind = past(i);
    return behind > first ? behind - first : 0;
  }
};

struct SegmentSites {
  uint32_t range, overlap, memory;
};

// What a look at all segments tells. All bytes zero: of none.
struct SegmentFacts {
  int64_t elements; // in all segments together
  int64_t longest;
  int64_t filled;   // how many are not empty
  // How far from the end of all segments the first one is that does not lie in its array; 0: all do.
  int64_t bad_to_end;
  // Whether one may start before the one before it ends.
  int64_t unordered;
};

template <class Segments>
struct LookAtSegments {
  Segments segments;
  int64_t extent, each;
  Any<SegmentFacts> facts;

  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    int64_t elements = 0, longest = 0, filled = 0, bad = 0;
    bool unordered = false;
    const int64_t begin = part * each, end = begin + each < segments.count ? begin + each : segments.count;
    for (int64_t i = begin + lane<Block>(worker); i < end; i += kWidth<Block, W>) {
      const int64_t low = segments.low(i), length = segments.length(i);
      const bool outside = length > 0 && (low < 0 || length > extent || low > extent - length);
      bad = outside && bad == 0 ? segments.count - i : bad;
      elements = add(elements, length);
      longest = max(longest, length);
      filled += length > 0;
      if (i > 0) unordered |= low < max(segments.low(i - 1), segments.past(i - 1));
    }
    elements = reduce_over<Warp, Thread, Add<int64_t>>(worker, elements);
    longest = reduce_over<Warp, Thread, Max<int64_t>>(worker, longest);
    filled = reduce_over<Warp, Thread, Add<int64_t>>(worker, filled);
    bad = reduce_over<Warp, Thread, Max<int64_t>>(worker, bad);
    unordered = any<Warp>(worker, unordered);
    if (!is_first<Warp>(worker)) return;
    atomic_add(HIDP_FIELD(facts, .elements), elements);
    atomic_max(HIDP_FIELD(facts, .longest), longest);
    atomic_add(HIDP_FIELD(facts, .filled), filled);
    atomic_max(HIDP_FIELD(facts, .bad_to_end), bad);
    atomic_max(HIDP_FIELD(facts, .unordered), static_cast<int64_t>(unordered));
  }
};

// Segments that one block looks at.
constexpr int64_t kSegmentsAtOnce = 2048;

// Checks that every segment lies in [0, extent): the first that does not is a fault at `sites.range` with low, high and extent.
// Waits for the device.
template <class L, class H>
inline bool look_at_segments(Host &host, const SegmentSites &sites, const VectorSegments<L, H> &segments, int64_t extent, SegmentFacts *facts) {
  const Any<SegmentFacts> place = host.alloc<SegmentFacts>(1, true, sites.memory);
  if (host.failed()) return false;
  using Look = LookAtSegments<VectorSegments<L, H>>;
  const int64_t parts = ceil_div(segments.count, kSegmentsAtOnce);
  if (!for_items<Block>(host, parts, false, Look{segments, extent, kSegmentsAtOnce, place})) return false;
  *facts = host.fetch(place);
  host.free(place);
  if (host.failed()) return false;
  if (facts->bad_to_end == 0) return true;
  const int64_t bad = segments.count - facts->bad_to_end;
  const int64_t low = static_cast<int64_t>(host.fetch(segments.lows + bad));
  const int64_t high = static_cast<int64_t>(host.fetch(segments.highs + bad));
  if (!host.failed()) host.trap.raise(sites.range, 3, low, high, extent);
  return false;
}
inline bool look_at_segments(Host &host, const SegmentSites &, const RegularSegments &segments, int64_t, SegmentFacts *facts) {
  *facts = SegmentFacts{segments.size * segments.count, segments.size, segments.size > 0 ? segments.count : 0, 0, 0};
  return !host.failed();
}

template <class Segments>
struct ListLows {
  Segments segments;
  Any<int64_t> lows, numbers;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t i) const {
    store(lows + i, segments.length(i) > 0 ? segments.low(i) : INT64_MAX);
    store(numbers + i, i);
  }
};

template <class Segments>
struct FindOverlap {
  Segments segments;
  Any<int64_t> lows, numbers;
  int64_t filled;
  // How far from the end of `filled` the first one is.
  Any<int64_t> first;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t before) const {
    const int64_t past = load(lows + before) + segments.length(load(numbers + before));
    if (past > load(lows + (before + 1))) atomic_max(first, filled - (before + 1));
  }
};

// Checks that no two of the segments, which need not be in order, share an element: a fault at `sites.overlap` with their
// numbers. Waits for the device.
template <class Segments>
inline bool look_for_overlap(Host &host, const SegmentSites &sites, const Segments &segments, int64_t filled) {
  const Any<int64_t> lows = host.alloc<int64_t>(segments.count, false, sites.memory);
  const Any<int64_t> numbers = host.alloc<int64_t>(segments.count, false, sites.memory);
  const Any<int64_t> first = host.alloc<int64_t>(1, true, sites.memory);
  if (host.failed()) return false;
  if (!for_items<Thread>(host, segments.count, false, ListLows<Segments>{segments, lows, numbers})) return false;
  if (!merge_sort_on_device(host, sites.memory, lows, lows, numbers, numbers, segments.count, false)) return false;
  if (!for_items<Thread>(host, filled - 1, false, FindOverlap<Segments>{segments, lows, numbers, filled, first})) return false;
  const int64_t to_end = host.fetch(first);
  if (!host.failed() && to_end != 0) {
    const int64_t a = host.fetch(numbers + (filled - to_end - 1)), b = host.fetch(numbers + (filled - to_end));
    if (!host.failed()) host.trap.raise(sites.overlap, 2, a < b ? a : b, a < b ? b : a);
  }
  host.free(first);
  host.free(numbers);
  host.free(lows);
  return !host.failed();
}

// Both checks, the second only where it is needed.
template <class Segments>
inline bool look_at_outputs(Host &host, const SegmentSites &sites, const Segments &segments, int64_t extent, SegmentFacts *facts) {
  if (!look_at_segments(host, sites, segments, extent, facts)) return false;
  return facts->unordered == 0 || look_for_overlap(host, sites, segments, facts->filled);
}

HIDP_NAMESPACE_END
