// Distributes segments over the levels of the device.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/block_tile_sort.cuh>
#include <hidp/cuda/prim/device_segments.cuh>
#include <hidp/cuda/prim/items.cuh>
#include <hidp/cuda/prim/segment_bins.cuh>

HIDP_NAMESPACE_BEGIN

// How many segments each bin gets. All bytes zero: none.
struct BinCounts {
  int64_t of[kBins];
};
// The segments for the whole device, which are fetched by the host all at once. All bytes zero: none.
struct Giant {
  int64_t number, low, past;
};
struct Giants {
  Giant of[kFairShares];
};

template <class Segments>
struct CountBins {
  Segments segments;
  BinLimits limits;
  int64_t each;
  Any<BinCounts> counts;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    int64_t own[kBins] = {};
    const int64_t begin = part * each, end = begin + each < segments.count ? begin + each : segments.count;
    for (int64_t i = begin + lane<Block>(worker); i < end; i += kWidth<Block, W>) {
      const int bin = limits.bin(segments.length(i));
      HIDP_UNROLL_ALL
      for (int at = 0; at < kBins; ++at) own[at] += at == bin;
    }
    HIDP_UNROLL_ALL
    for (int at = 0; at < kBins; ++at) {
      const int64_t sum = reduce_over<Warp, Thread, Add<int64_t>>(worker, own[at]);
      if (is_first<Warp>(worker) && sum != 0) atomic_add(HIDP_FIELD(counts, .of[at]), sum);
    }
  }
};

// Writes the number of every segment, from `first_bin` on, into the part of the list that belongs to its bin. In what order a bin is listed depends
// on timing; nothing else does.
template <class Segments>
struct ListBins {
  Segments segments;
  BinLimits limits;
  int64_t each;
  int first_bin;
  // Where the next one of each bin goes.
  Any<BinCounts> next;
  Any<int64_t> list;
  Any<Giants> giants;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    const int64_t begin = part * each, end = begin + each < segments.count ? begin + each : segments.count;
    for (int64_t base = begin; base < end; base += kWidth<Block, W>) {
      const int64_t i = base + lane<Block>(worker);
      const int bin = i < end ? limits.bin(segments.length(i)) : int{kBins};
      for (int at = first_bin; at < kBins; ++at) {
        const int own = bin == at;
        const uint32_t mates = lanes_where<Warp>(worker, own != 0);
        int all;
        const int before = counts_before(worker, count_bits(mates), &all) + count_bits(mates & bits_below(static_cast<int>(lane<Warp>(worker))));
        if (all == 0) continue;
        int64_t first = 0;
        if (is_first<Block>(worker)) first = fetch_add(HIDP_FIELD(next, .of[at]), int64_t{all});
        first = broadcast<Block>(worker, first);
        if (own == 0) continue;
        if (at == kGiantBin) store(HIDP_FIELD(giants, .of[first + before]), Giant{i, segments.low(i), segments.past(i)});
        else store(list + (first + before), i);
      }
    }
  }
};

// A segment of the first bins; others are left, and so are those that do not lie in [0, extent).
template <class Segments, class Body, class Group>
struct ShortSegment {
  Segments segments;
  Body body;
  int64_t extent;
  int last_bin;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t i) const {
    const int64_t low = segments.low(i), length = segments.length(i);
    if (BinLimits{kBlockSegment}.bin(length) > last_bin || is_outside(low, length, extent)) return;
    body.template run<Group>(worker, i, low, segments.past(i), length);
  }
};

template <class Segments, class Body, class Group>
struct SegmentItem {
  Segments segments;
  Body body;
  // The segments to take: all of them, or those listed.
  Any<int64_t> list;
  bool listed;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t item) const {
    const int64_t i = listed ? load(list + item) : item;
    worker.trap.where.item = static_cast<uint64_t>(i);
    body.template run<Group>(worker, i, segments.low(i), segments.past(i), segments.length(i));
  }
};

// The bounds of a segment, on the host.
template <class L, class H>
inline void fetch_bounds(Host &host, const VectorSegments<L, H> &segments, int64_t i, int64_t *low, int64_t *past) {
  *low = static_cast<int64_t>(host.fetch(segments.lows + i));
  *past = static_cast<int64_t>(host.fetch(segments.highs + i));
}
inline void fetch_bounds(Host &, const RegularSegments &segments, int64_t i, int64_t *low, int64_t *past) {
  *low = i * segments.size;
  *past = *low + segments.size;
}

template <class Segments, class Body>
class SegmentLaunches {
 public:
  SegmentLaunches(Host &host, uint32_t memory, const Segments &segments, const SegmentFacts &facts, const Body &body)
      : host_(host), memory_(memory), segments_(segments), facts_(facts), body_(body), limits_(BinLimits::of(facts.elements)) {}

  // Whether one bin holds all: then nothing is listed. Segments of bins below `first_bin` are done.
  bool run(const RegularSegments &, int) { return run_alone(limits_.bin(facts_.longest)); }
  template <class L, class H>
  bool run(const VectorSegments<L, H> &, int first_bin) {
    first_bin_ = first_bin;
    if (!count_bins()) return false;
    // Only where segments overlap so much that the sum of their lengths did not fit.
    if (counts_.of[kGiantBin] > kFairShares) {
      limits_.block = INT64_MAX;
      counts_.of[kBlockBin] += counts_.of[kGiantBin];
      counts_.of[kGiantBin] = 0;
    }
    int64_t left = 0;
    for (int bin = first_bin_; bin < kBins; ++bin) left += counts_.of[bin];
    if (left == 0) return !host_.failed();
    for (int bin = first_bin_; bin < kBins; ++bin)
      if (counts_.of[bin] == segments_.count) return run_alone(bin);
    return run_listed();
  }

  // The segments for the whole device, in order.
  int64_t giants() const { return count_of_giants_; }
  const Giant &giant(int64_t at) const { return giants_.of[at]; }

 private:
  bool run_alone(int bin) {
    if (bin == kGiantBin) return take_all();
    return run_bin(bin, segments_.count, Any<int64_t>{}, false);
  }

  // The look at the segments has counted them, unless blocks take longer ones than it thought, and there are such.
  bool count_bins() {
    if (facts_.longest <= kBlockSegment || limits_.block == kBlockSegment) {
      counts_.of[kGiantBin] = segments_.count;
      for (int bin = 0; bin < kGiantBin; ++bin) {
        counts_.of[bin] = facts_.in_bin[bin];
        counts_.of[kGiantBin] -= facts_.in_bin[bin];
      }
      return !host_.failed();
    }
    const Any<BinCounts> place = host_.alloc<BinCounts>(1, true, memory_);
    if (host_.failed() || !for_items<Block>(host_, parts(), false, CountBins<Segments>{segments_, limits_, kSegmentsAtOnce, place})) return false;
    counts_ = host_.fetch(place);
    host_.free(place);
    return !host_.failed();
  }
  int64_t parts() const { return ceil_div(segments_.count, kSegmentsAtOnce); }

  // All are giants, of which there are few.
  bool take_all() {
    count_of_giants_ = segments_.count;
    for (int64_t i = 0; i < count_of_giants_; ++i) {
      Giant &giant = giants_.of[i];
      giant.number = i;
      fetch_bounds(host_, segments_, i, &giant.low, &giant.past);
    }
    return !host_.failed();
  }

  bool run_listed() {
    const Any<int64_t> list = host_.alloc<int64_t>(segments_.count, false, memory_);
    const Any<BinCounts> next = host_.alloc<BinCounts>(1, true, memory_);
    const Any<Giants> giants = host_.alloc<Giants>(1, true, memory_);
    if (host_.failed()) return false;
    // Starts of the bins; giants have a list of their own.
    int64_t starts[kBins] = {}, sum = 0;
    for (int bin = 0; bin < kGiantBin; ++bin) {
      starts[bin] = sum;
      sum += counts_.of[bin];
    }
    BinCounts begin = {};
    for (int bin = 0; bin < kGiantBin; ++bin) begin.of[bin] = starts[bin];
    put(host_, next, begin);
    bool done = for_items<Block>(host_, parts(), false, ListBins<Segments>{segments_, limits_, kSegmentsAtOnce, first_bin_, next, list, giants});
    bool first = true;
    for (int bin = first_bin_; bin < kGiantBin && done; ++bin) {
      if (counts_.of[bin] == 0) continue;
      done = run_bin(bin, counts_.of[bin], list + starts[bin], true, !first);
      first = false;
    }
    if (done && counts_.of[kGiantBin] > 0) done = fetch_giants(giants);
    host_.free(giants);
    host_.free(next);
    host_.free(list);
    return done;
  }

  bool run_bin(int bin, int64_t count, Any<int64_t> list, bool listed, bool joins = false) {
    switch (bin) {
      case kThreadBin: return run_level<Thread>(count, list, listed, joins);
      case kSubwarpBin: return run_level<Subwarp>(count, list, listed, joins);
      case kWarpBin: return run_level<Warp>(count, list, listed, joins);
      default: return run_level<Block>(count, list, listed, joins);
    }
  }
  // All levels together count as one launch, so that of several faults that of the first segment is reported.
  template <class Group>
  bool run_level(int64_t count, Any<int64_t> list, bool listed, bool joins) {
    using Item = SegmentItem<Segments, Body, Group>;
    Over all = over(count);
    if (body_.can_fault()) all = all.can_fault();
    if (joins) all = all.joins();
    return launch<run_items<Group, kBlockThreads, Item>, Group, kBlockThreads>(host_, all, Item{segments_, body_, list, listed});
  }

  bool fetch_giants(Any<Giants> giants) {
    count_of_giants_ = counts_.of[kGiantBin];
    giants_ = host_.fetch(giants);
    for (int64_t at = 1; at < count_of_giants_; ++at)
      for (int64_t to = at; to > 0 && giants_.of[to - 1].number > giants_.of[to].number; --to) swap_buffers(giants_.of[to - 1], giants_.of[to]);
    return !host_.failed();
  }

  Host &host_;
  uint32_t memory_;
  const Segments &segments_;
  const SegmentFacts &facts_;
  const Body &body_;
  BinLimits limits_;
  int first_bin_ = 0;
  BinCounts counts_ = {};
  int64_t count_of_giants_ = 0;
  Giants giants_ = {};
};

// Runs body.run<Group>(worker, i, low, past, length) for every segment that one group should take, many at once, then
// giant(i, low, past), which uses the whole device, for each of the few others. Empty ones go to threads. Those of bins below
// `first_bin` are left out.
template <class Segments, class Body, class Whole>
inline bool for_segments(Host &host, uint32_t memory, const Segments &segments, const SegmentFacts &facts, const Body &body, const Whole &giant,
                         int first_bin = 0) {
  if (segments.count <= 0) return !host.failed();
  SegmentLaunches<Segments, Body> launches(host, memory, segments, facts, body);
  if (!launches.run(segments, first_bin)) return false;
  for (int64_t at = 0; at < launches.giants(); ++at) {
    const Giant &taken = launches.giant(at);
    if (!giant(taken.number, taken.low, taken.past)) return false;
  }
  return true;
}

// Runs a body that cannot fault for the segments of the first bins, up to that of one of `length` elements, before anything is known
// of them. Those whose place is wrong are left out. Results must not depend on other segments.
template <class Group, class Segments, class Body>
inline bool run_short(Host &host, const Segments &segments, const Body &body, int64_t extent, int last_bin) {
  using Item = ShortSegment<Segments, Body, Group>;
  return launch<run_items<Group, kBlockThreads, Item>, Group, kBlockThreads>(host, over(segments.count), Item{segments, body, extent, last_bin});
}
template <class Segments, class Body>
inline bool for_short_segments(Host &host, const Segments &segments, const Body &body, int64_t extent, int last_bin) {
  switch (last_bin) {
    case kThreadBin: return run_short<Thread>(host, segments, body, extent, last_bin);
    case kSubwarpBin: return run_short<Subwarp>(host, segments, body, extent, last_bin);
    default: return run_short<Warp>(host, segments, body, extent, last_bin);
  }
}

HIDP_NAMESPACE_END
