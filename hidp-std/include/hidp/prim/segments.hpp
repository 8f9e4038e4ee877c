// Segments of an array, their checks, and their distribution over threads.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/prim/team_sort.hpp>

HIDP_NAMESPACE_BEGIN

// `count` segments of `size` elements, one after the other.
struct RegularSegments {
  int64_t size, count;
  int64_t low(int64_t i) const { return i * size; }
  int64_t length(int64_t) const { return size; }
  int64_t past(int64_t i) const { return (i + 1) * size; }
};

// Segment i is [lows[i], highs[i]); empty if that ends before it starts.
template <class L, class H>
struct VectorSegments {
  const L *lows;
  const H *highs;
  int64_t count;
  int64_t low(int64_t i) const { return static_cast<int64_t>(lows[i]); }
  int64_t past(int64_t i) const { return static_cast<int64_t>(highs[i]); }
  int64_t length(int64_t i) const {
    const int64_t first = static_cast<int64_t>(lows[i]), past = static_cast<int64_t>(highs[i]);
    return past > first ? past - first : 0;
  }
};

// Work of one take from the queue, in elements.
constexpr int64_t kSegmentWork = 16384;
// What a segment costs beside its elements, in elements.
constexpr int64_t kSegmentCost = 8;

struct SegmentFacts {
  int64_t elements = 0; // in all segments together
  int64_t first_low = 0, last_past = 0;
  bool any = false;       // whether one is not empty
  bool ascending = true;  // whether those that are not empty follow one another without overlap
};

template <class Segments>
inline SegmentFacts segment_facts(const Segments &segments, Trap &trap, uint32_t site, int64_t extent, int64_t begin, int64_t end) {
  SegmentFacts facts;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t length = segments.length(i);
    if (length == 0) continue;
    const int64_t low = segments.low(i);
    if (HIDP_UNLIKELY(low < 0 || length > extent || low > extent - length)) {
      trap.raise(site, 3, low, add(low, length), extent);
      return facts;
    }
    if (!facts.any) facts.first_low = low;
    else if (low < facts.last_past) facts.ascending = false;
    facts.any = true;
    facts.last_past = low + length;
    facts.elements += length;
  }
  return facts;
}

inline SegmentFacts joined(const SegmentFacts &a, const SegmentFacts &b) {
  if (!a.any) return b;
  if (!b.any) return a;
  SegmentFacts both = a;
  both.elements += b.elements;
  both.last_past = b.last_past;
  both.ascending = a.ascending && b.ascending && a.last_past <= b.first_low;
  return both;
}

// Checks that every segment lies in [0, extent): the first that does not is a fault at `site` with low, high and extent.
template <class Segments>
inline bool check_segments(Host &host, uint32_t site, uint32_t memory_site, const Segments &segments, int64_t extent,
                           SegmentFacts *result) {
  const int64_t parts = host.workers();
  SegmentFacts *facts = host.alloc<SegmentFacts>(parts, false, memory_site);
  if (facts == nullptr) return false;
  const bool done = launch_static(host, parts, 1, segments.count, [&](Worker &worker, int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end && !worker.trap.raised; ++number) {
      const Part part(segments.count, 1, number, parts);
      facts[number] = segment_facts(segments, worker.trap, site, extent, part.begin, part.end);
    }
  });
  if (done) {
    *result = facts[0];
    for (int64_t part = 1; part < parts; ++part) *result = joined(*result, facts[part]);
  }
  host.free(facts);
  return done;
}

// Checks that no two of the segments, which need not be in order, share an element: a fault at `site` with their numbers.
template <class Segments>
inline bool check_disjoint(Host &host, uint32_t site, uint32_t memory_site, const Segments &segments) {
  int64_t *lows = host.alloc<int64_t>(segments.count, false, memory_site);
  int64_t *order = host.alloc<int64_t>(segments.count, false, memory_site);
  if (lows == nullptr || order == nullptr) return false;
  int64_t used = 0;
  for (int64_t i = 0; i < segments.count; ++i) {
    lows[used] = segments.low(i);
    order[used] = i;
    used += segments.length(i) > 0;
  }
  bool done = team_sort(host, memory_site, static_cast<const int64_t *>(lows), lows, static_cast<const int64_t *>(order), order,
                        used, false);
  for (int64_t at = 1; done && at < used; ++at) {
    const int64_t a = order[at - 1], b = order[at];
    if (lows[at - 1] + segments.length(a) <= lows[at]) continue;
    host.trap.raise(site, 2, smaller(a, b), a < b ? b : a);
    done = false;
  }
  host.free(order);
  host.free(lows);
  return done;
}

// Both checks, the second only where it is needed. Regular segments pass `extent` >= size * count and are disjoint.
struct SegmentSites {
  uint32_t range, overlap, memory;
};
template <class Segments>
inline bool check_outputs(Host &host, const SegmentSites &sites, const Segments &segments, int64_t extent, SegmentFacts *facts) {
  return check_segments(host, sites.range, sites.memory, segments, extent, facts) &&
         (facts->ascending || check_disjoint(host, sites.overlap, sites.memory, segments));
}

// Runs small(worker, i, low, length) for every segment that a single worker should take, many at once, then
// large(i, low, length), which uses all threads, for each of the few others. Empty ones go to small.
template <class Segments, class Small, class Large>
inline bool for_segments(Host &host, const Segments &segments, const SegmentFacts &facts, Small small, Large large) {
  if (segments.count == 0) return true;
  const int64_t fair = facts.elements / (4 * host.workers());
  const int64_t usual = fair > kTeamSortLeast ? fair : kTeamSortLeast;
  const int64_t most = host.tunables.team_segment > 0 ? host.tunables.team_segment - 1 : usual;
  const int64_t mean = facts.elements / segments.count + kSegmentCost;
  const int64_t take = host.tunables.segment_work > 0 ? host.tunables.segment_work : kSegmentWork;
  const int64_t grain = mean >= take ? 1 : take / mean;
  const int64_t work = facts.elements + kSegmentCost * segments.count;
  int64_t larger = 0;
  const bool done = launch_dynamic(host, segments.count, grain, work, [&](Worker &worker, int64_t begin, int64_t end) {
    int64_t skipped = 0;
    for (int64_t i = begin; i < end && !worker.trap.raised; ++i) {
      const int64_t length = segments.length(i);
      if (length <= most) small(worker, i, segments.low(i), length);
      else ++skipped;
    }
    if (skipped > 0) __atomic_fetch_add(&larger, skipped, __ATOMIC_RELAXED);
  });
  if (!done) return false;
  for (int64_t i = 0; larger > 0 && i < segments.count; ++i) {
    const int64_t length = segments.length(i);
    if (length <= most) continue;
    --larger;
    if (!large(i, segments.low(i), length)) return false;
  }
  return true;
}

HIDP_NAMESPACE_END
