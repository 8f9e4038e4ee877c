// Segments of an array, their checks, and their distribution over threads.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/prim/team_sort.hpp>

HIDP_NAMESPACE_BEGIN

// Segment i is [lows[i], highs[i]), empty if that ends before it starts; or, without vectors, [i * size, (i + 1) * size).
template <class L, class H>
struct Segments {
  const L *lows;
  const H *highs;
  int64_t size, count;

  bool regular() const { return lows == nullptr; }
  int64_t low(int64_t i) const { return regular() ? i * size : static_cast<int64_t>(lows[i]); }
  int64_t past(int64_t i) const { return regular() ? (i + 1) * size : static_cast<int64_t>(highs[i]); }
  int64_t length(int64_t i) const {
    if (regular()) return size;
    const int64_t first = static_cast<int64_t>(lows[i]), past = static_cast<int64_t>(highs[i]);
    return past > first ? past - first : 0;
  }
};

// One instantiation serves both forms where the vectors hold `long`.
inline Segments<int64_t, int64_t> regular_segments(int64_t size, int64_t count) {
  return Segments<int64_t, int64_t>{nullptr, nullptr, size, count};
}
template <class L, class H>
inline Segments<L, H> vector_segments(const L *lows, const H *highs, int64_t count) {
  return Segments<L, H>{lows, highs, 0, count};
}

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

// Whether segments [begin, end) follow one another in [0, extent), as they mostly do. Without branches, for vector lanes.
template <class L, class H>
inline bool follow_in_order(const Segments<L, H> &segments, int64_t extent, int64_t begin, int64_t end) {
  const L *const lows = segments.lows;
  const H *const highs = segments.highs;
  if (static_cast<int64_t>(lows[begin]) < 0) return false;
  int64_t wrong = 0;
  for (int64_t i = begin; i < end; ++i) wrong |= static_cast<int64_t>(lows[i]) > static_cast<int64_t>(highs[i]);
  for (int64_t i = begin + 1; i < end; ++i) wrong |= static_cast<int64_t>(lows[i]) < static_cast<int64_t>(highs[i - 1]);
  return wrong == 0 && static_cast<int64_t>(highs[end - 1]) <= extent;
}

template <class L, class H>
inline SegmentFacts segment_facts(const Segments<L, H> &segments, Trap &trap, uint32_t site, int64_t extent, int64_t begin, int64_t end) {
  SegmentFacts facts;
  int64_t past;
  if (segments.regular() && segments.size >= 0 && !__builtin_mul_overflow(segments.size, end, &past) && past <= extent) {
    facts.elements = segments.size * (end - begin);
    facts.first_low = segments.low(begin);
    facts.last_past = past;
    facts.any = facts.elements > 0;
    return facts;
  }
  if (begin < end && !segments.regular() && follow_in_order(segments, extent, begin, end)) {
    facts.first_low = segments.low(begin);
    facts.last_past = segments.past(end - 1);
    for (int64_t i = begin; i < end; ++i) facts.elements += segments.past(i) - segments.low(i);
    facts.any = facts.elements > 0;
    return facts;
  }
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
template <class L, class H>
inline bool check_segments(Host &host, uint32_t site, uint32_t memory_site, const Segments<L, H> &segments, int64_t extent,
                           SegmentFacts *result) {
  const int64_t parts = host.workers();
  SegmentFacts *facts = host.alloc<SegmentFacts>(parts, false, memory_site);
  if (facts == nullptr) return false;
  const bool done = launch_static(host, parts, 1, kSegmentCost * segments.count, [&](Worker &worker, int64_t begin, int64_t end) {
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

// Where a segment starts, and its number.
struct SegmentStart {
  int64_t low, number;
};

// Sorts by the starts, none of which is negative, stably: least significant digit first, over the bits that are used. Gives
// where the result is: in `starts` or in `other`.
HIDP_KERNEL SegmentStart *sort_starts(SegmentStart *starts, SegmentStart *other, int64_t n) {
  constexpr int kBits = 11;
  constexpr int64_t kMask = (int64_t{1} << kBits) - 1;
  int64_t used = 0;
  for (int64_t i = 0; i < n; ++i) used |= starts[i].low;
  for (int shift = 0; shift < 64 && used >> shift != 0; shift += kBits) {
    int64_t next[kMask + 1] = {};
    for (int64_t i = 0; i < n; ++i) ++next[starts[i].low >> shift & kMask];
    int64_t sum = 0;
    for (int64_t &slot : next) {
      const int64_t count = slot;
      slot = sum;
      sum += count;
    }
    for (int64_t i = 0; i < n; ++i) other[next[starts[i].low >> shift & kMask]++] = starts[i];
    SegmentStart *const done = other;
    other = starts;
    starts = done;
  }
  return starts;
}

// Checks that no two of the segments, which need not be in order, share an element: a fault at `site` with their numbers.
template <class L, class H>
HIDP_KERNEL bool check_disjoint(Host &host, uint32_t site, uint32_t memory_site, const Segments<L, H> &segments) {
  SegmentStart *starts = host.alloc<SegmentStart>(segments.count, false, memory_site);
  SegmentStart *other = host.alloc<SegmentStart>(segments.count, false, memory_site);
  if (starts == nullptr || other == nullptr) return false;
  int64_t used = 0;
  for (int64_t i = 0; i < segments.count; ++i) {
    starts[used] = SegmentStart{segments.low(i), i};
    used += segments.length(i) > 0;
  }
  const SegmentStart *sorted = sort_starts(starts, other, used);
  bool good = true;
  for (int64_t at = 1; good && at < used; ++at) {
    const SegmentStart a = sorted[at - 1], b = sorted[at];
    good = a.low + segments.length(a.number) <= b.low;
    if (!good) host.trap.raise(site, 2, smaller(a.number, b.number), a.number < b.number ? b.number : a.number);
  }
  host.free(other);
  host.free(starts);
  return good;
}

// Both checks, the second only where it is needed. Regular segments pass `extent` >= size * count and are disjoint.
struct SegmentSites {
  uint32_t range, overlap, memory;
};
template <class L, class H>
inline bool check_outputs(Host &host, const SegmentSites &sites, const Segments<L, H> &segments, int64_t extent, SegmentFacts *facts) {
  return check_segments(host, sites.range, sites.memory, segments, extent, facts) &&
         (facts->ascending || check_disjoint(host, sites.overlap, sites.memory, segments));
}

// Segments that are larger than a fair share, as far as they are listed.
class LargeSegments {
 public:
  template <class L, class H>
  LargeSegments(const Segments<L, H> &segments, int64_t count, int64_t most) : count_(count) {
    int64_t found = 0;
    for (int64_t i = 0; count <= kMost && found < count; ++i)
      if (segments.length(i) > most) number_[found++] = i;
  }
  // Whether the workers, each with the next segment in turn, end about when they would if all shared each of them.
  template <class L, class H>
  bool spread_evenly(const Segments<L, H> &segments, int64_t workers) const {
    if (count_ > kMost || count_ < workers) return false;
    int64_t busy[kMost] = {};
    int64_t sum = 0, last = 0;
    for (int64_t at = 0; at < count_; ++at) {
      int64_t *first = busy;
      for (int64_t i = 1; i < workers; ++i)
        if (busy[i] < *first) first = &busy[i];
      const int64_t length = segments.length(number_[at]);
      *first += length;
      sum += length;
      if (*first > last) last = *first;
    }
    return last / 9 <= sum / workers / 8;
  }
  int64_t number(int64_t at) const { return number_[at]; }

 private:
  static constexpr int64_t kMost = 256;
  int64_t count_;
  int64_t number_[kMost];
};

// Runs small(worker, i, low, length) for every segment that a single worker should take, many at once, then
// large(i, low, length), which uses all threads, for each of the few others. Empty ones go to small. Where the others keep all
// workers busy, as two equal ones do two, each is left to one of them.
//
// together(i, end, most) may do segments of [i, end) from the i-th on, `Together` at once, none longer than `most`. It gives the first that it
// has not done.
template <int64_t Together, class L, class H, class Small, class Large, class Group>
inline bool for_segment_groups(Host &host, const Segments<L, H> &segments, const SegmentFacts &facts, Small small, Large large,
                               Group together) {
  if (segments.count == 0) return true;
  const int64_t fair = facts.elements / (4 * host.workers());
  const int64_t usual = fair > kTeamSortLeast ? fair : kTeamSortLeast;
  const int64_t asked = host.tunables.team_segment;
  const int64_t most = asked > 0 ? asked - 1 : usual;
  const int64_t mean = facts.elements / segments.count + kSegmentCost;
  const int64_t take = host.tunables.segment_work > 0 ? host.tunables.segment_work : kSegmentWork;
  const int64_t fitting = mean >= take ? 1 : take / mean;
  const int64_t grain = fitting > Together ? fitting / Together * Together : fitting;
  const int64_t work = facts.elements + kSegmentCost * segments.count;
  int64_t larger = 0;
  const bool done = launch_dynamic(host, segments.count, grain, work, [&](Worker &worker, int64_t begin, int64_t end) {
    int64_t skipped = 0;
    for (int64_t i = begin; i < end && !worker.trap.raised;) {
      i = together(i, end, most);
      for (const int64_t past = smaller(end, i + Together); i < past && !worker.trap.raised; ++i) {
        const int64_t length = segments.length(i);
        if (length <= most) small(worker, i, segments.low(i), length);
        else ++skipped;
      }
    }
    if (skipped > 0) __atomic_fetch_add(&larger, skipped, __ATOMIC_RELAXED);
  });
  if (!done || larger == 0) return done;
  const LargeSegments list(segments, larger, most);
  if (asked == 0 && list.spread_evenly(segments, host.workers())) {
    return launch_ordered(host, larger, 1, facts.elements, [&](Worker &worker, int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end && !worker.trap.raised; ++at) {
        const int64_t i = list.number(at);
        small(worker, i, segments.low(i), segments.length(i));
      }
    });
  }
  for (int64_t i = 0; larger > 0 && i < segments.count; ++i) {
    const int64_t length = segments.length(i);
    if (length <= most) continue;
    --larger;
    if (!large(i, segments.low(i), length)) return false;
  }
  return true;
}

template <class L, class H, class Small, class Large>
inline bool for_segments(Host &host, const Segments<L, H> &segments, const SegmentFacts &facts, Small small, Large large) {
  return for_segment_groups<1>(host, segments, facts, small, large, [](int64_t first, int64_t, int64_t) { return first; });
}

HIDP_NAMESPACE_END
