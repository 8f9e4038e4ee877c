// Segments of an array in device memory, and their checks.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/items.cuh>
#include <hidp/cuda/prim/merge_sort_on_device.cuh>
#include <hidp/cuda/prim/rows.cuh>
#include <hidp/cuda/prim/segment_bins.cuh>

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
    // Bounds of segments that lie nowhere may be farther apart than any number.
    const uint64_t apart = static_cast<uint64_t>(behind) - static_cast<uint64_t>(first);
    return behind <= first ? 0 : apart < uint64_t{INT64_MAX} ? static_cast<int64_t>(apart) : INT64_MAX;
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
  // How many each bin gets, but for the longest, if blocks take segments of up to kBlockSegment elements.
  int64_t in_bin[kGiantBin];
};

// Whether a segment does not lie in [0, extent). Empty ones lie anywhere.
HIDP_DEVICE bool is_outside(int64_t low, int64_t length, int64_t extent) {
  return length > 0 && (low < 0 || length > extent || low > extent - length);
}

// Segments that one block looks at.
constexpr int64_t kSegmentsAtOnce = 2048;
// Counts of a block's segments share a word.
constexpr int kCountBits = 12;
static_assert(kSegmentsAtOnce < int64_t{1} << kCountBits && (kGiantBin + 1) * kCountBits <= 64, "counts fit");

template <class Segments>
struct LookAtSegments {
  Segments segments;
  int64_t extent;
  Any<SegmentFacts> facts;

  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    int64_t elements = 0, longest = 0, bad = 0;
    uint64_t counts = 0;
    bool unordered = false;
    const int64_t begin = part * kSegmentsAtOnce;
    const int64_t end = begin + kSegmentsAtOnce < segments.count ? begin + kSegmentsAtOnce : segments.count;
    for (int64_t i = begin + lane<Block>(worker); i < end; i += kWidth<Block, W>) {
      const int64_t low = segments.low(i), length = segments.length(i);
      bad = bad == 0 && is_outside(low, length, extent) ? segments.count - i : bad;
      elements = add(elements, length);
      longest = max(longest, length);
      const int bin = BinLimits{kBlockSegment}.bin(length);
      counts += uint64_t{bin < kGiantBin} << (bin < kGiantBin ? bin * kCountBits : 0);
      counts += uint64_t{length > 0} << (kGiantBin * kCountBits);
      if (i > 0) unordered |= low < max(segments.low(i - 1), segments.past(i - 1));
    }
    elements = reduce_over<Block, Thread, Add<int64_t>>(worker, elements);
    longest = reduce_over<Block, Thread, Max<int64_t>>(worker, longest);
    counts = reduce_over<Block, Thread, Add<uint64_t>>(worker, counts);
    bad = reduce_over<Block, Thread, Max<int64_t>>(worker, bad);
    unordered = any<Block>(worker, unordered);
    if (!is_first<Block>(worker)) return;
    // Blocks meet at the same few words: those that have nothing to say stay away.
    if (elements != 0) atomic_add(HIDP_FIELD(facts, .elements), elements);
    if (longest != 0) atomic_max(HIDP_FIELD(facts, .longest), longest);
    if (bad != 0) atomic_max(HIDP_FIELD(facts, .bad_to_end), bad);
    if (unordered) atomic_max(HIDP_FIELD(facts, .unordered), int64_t{1});
    const int64_t filled = count_in(counts, kGiantBin);
    if (filled != 0) atomic_add(HIDP_FIELD(facts, .filled), filled);
    HIDP_UNROLL_ALL
    for (int bin = 0; bin < kGiantBin; ++bin) {
      const int64_t held = count_in(counts, bin);
      if (held != 0) atomic_add(HIDP_FIELD(facts, .in_bin[bin]), held);
    }
  }

 private:
  static HIDP_DEVICE int64_t count_in(uint64_t counts, int at) {
    return static_cast<int64_t>(counts >> (at * kCountBits) & ((uint64_t{1} << kCountBits) - 1));
  }
};

// Begins to look at segments; what is launched before take_facts() runs while the host waits for the facts.
template <class L, class H>
inline bool begin_to_look(Host &host, const SegmentSites &sites, const VectorSegments<L, H> &segments, int64_t extent, Any<SegmentFacts> *place) {
  *place = host.alloc<SegmentFacts>(1, true, sites.memory);
  using Look = LookAtSegments<VectorSegments<L, H>>;
  return !host.failed() && for_items<Block>(host, ceil_div(segments.count, kSegmentsAtOnce), false, Look{segments, extent, *place});
}

// The facts. The first segment that does not lie in [0, extent) is a fault at `sites.range` with low, high and extent. Waits for the
// device.
template <class L, class H>
inline bool take_facts(Host &host, const SegmentSites &sites, const VectorSegments<L, H> &segments, int64_t extent, Any<SegmentFacts> place,
                       SegmentFacts *facts) {
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

// Checks that every segment lies in [0, extent). Waits for the device.
template <class L, class H>
inline bool look_at_segments(Host &host, const SegmentSites &sites, const VectorSegments<L, H> &segments, int64_t extent, SegmentFacts *facts) {
  Any<SegmentFacts> place;
  return begin_to_look(host, sites, segments, extent, &place) && take_facts(host, sites, segments, extent, place, facts);
}
inline bool look_at_segments(Host &host, const SegmentSites &, const RegularSegments &segments, int64_t, SegmentFacts *facts) {
  *facts = SegmentFacts{segments.size * segments.count, segments.size, segments.size > 0 ? segments.count : 0, 0, 0, {}};
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
