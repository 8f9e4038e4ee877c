// team_segmented_*: all threads work on many segments, which may differ much in length.
//
// Called by: the host function. Run by: all threads; a segment by one worker, but the few that are larger than a fair share by
// all, one after the other. Result: valid when true is returned; false after a fault: a segment outside its array
// (sites.range: low, high, extent), two output segments that overlap (sites.overlap: their numbers), memory (sites.memory).
// Scratch: from the pool and from the workers. Segments come in any order and need not cover anything.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/prim/segments.hpp>
#include <hidp/prim/simd_reduce.hpp>
#include <hidp/prim/simd_scan.hpp>
#include <hidp/prim/team_partition.hpp>
#include <hidp/prim/team_reduce.hpp>
#include <hidp/prim/team_reverse.hpp>
#include <hidp/prim/team_scan.hpp>
#include <hidp/prim/team_sort.hpp>
#include <hidp/prim/thread_partition.hpp>
#include <hidp/prim/thread_reverse.hpp>
#include <hidp/prim/thread_sort.hpp>

HIDP_NAMESPACE_BEGIN

// What lanes do together with as many segments as a vector of elements has lanes.
enum class GroupLength { vector, two_vectors, up_to_vector, up_to_two, up_to_block, other };

// How long the segments are. `other`: one is longer than a block, ends before it starts, or has not kFewVectors vectors behind it in [0, extent).
template <int64_t Lanes, class L, class H>
HIDP_INLINE GroupLength group_length(const L *lows, const H *highs, int64_t extent) {
  using Wide = Vector<int64_t>;
  Wide wrong = {}, over_vector = {}, over_two = {}, under = {}, under_two = {};
  for (int64_t i = 0; i < Lanes; i += kLanes<int64_t>) {
    const Wide low = load_wide(lows + i), high = load_wide(highs + i), length = high - low;
    wrong |= low | length | (extent - kFewVectors * Lanes - high) | (kFoldBlock - length);
    over_vector |= Lanes - length;
    over_two |= 2 * Lanes - length;
    under |= length - Lanes;
    under_two |= length - 2 * Lanes;
  }
  if (any_negative(wrong)) return GroupLength::other;
  if (any_negative(over_two)) return GroupLength::up_to_block;
  if (any_negative(over_vector)) return any_negative(under_two) ? GroupLength::up_to_two : GroupLength::two_vectors;
  return any_negative(under) ? GroupLength::up_to_vector : GroupLength::vector;
}

template <class T, class Op, int64_t Vectors, class L>
HIDP_INLINE void fold_even(const T *in, T *out, const L *lows, T neutral) {
  simd_reduce_vectors<T, Op, Vectors>(in, out, [=](int64_t i) { return static_cast<int64_t>(lows[i]); });
  for (int64_t i = 0; kPassesNan<Op, T> && i < kLanes<T>; ++i) out[i] = past_nan<Op>(neutral, out[i]);
}

// Folds of a group's segments, some of which may be empty.
template <class T, class Op, int64_t Vectors, class L, class H>
HIDP_KERNEL void fold_uneven(const T *in, T *out, const L *lows, const H *highs, T neutral) {
  const auto low = [=](int64_t i) { return static_cast<int64_t>(lows[i]); };
  const auto length = [=](int64_t i) { return static_cast<int64_t>(highs[i]) - static_cast<int64_t>(lows[i]); };
  T folds[kLanes<T>];
  simd_reduce_together<T, Op, Vectors>(in, folds, low, length);
  for (int64_t i = 0; i < kLanes<T>; ++i) out[i] = length(i) == 0 ? neutral : past_nan<Op>(neutral, folds[i]);
}

// How many elements ahead others are asked for.
constexpr uintptr_t kAhead = 1536;

// Asks for the element that is that far behind this one. It may lie anywhere, since nothing is accessed; so no pointer is computed with.
template <class T>
HIDP_INLINE void ask_for(const T *in, int64_t index) {
  const uintptr_t ahead = static_cast<uintptr_t>(index) + kAhead;
  __builtin_prefetch(reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(in) + ahead * sizeof(T)));
}

// Folds groups of segments in [first, end) from the first on, as far as they are for that. Gives where it stopped. A function of its own: what
// is alive around a loop over groups ends up in vector registers, and addresses that come from there wait for the folds before.
template <class T, class Op, class L, class H>
HIDP_KERNEL int64_t fold_groups(const T *in, int64_t extent, T *out, const L *lows, const H *highs, int64_t first, int64_t end, T neutral) {
  constexpr int64_t lanes = kLanes<T>;
  for (; end - first >= lanes; first += lanes) {
    const L *const low = lows + first;
    const H *const high = highs + first;
    T *const to = out + first;
    for (int64_t i = 0; i < lanes; ++i) ask_for(in, static_cast<int64_t>(low[i]));
    switch (group_length<lanes>(low, high, extent)) {
      case GroupLength::vector: fold_even<T, Op, 1>(in, to, low, neutral); break;
      case GroupLength::two_vectors: fold_even<T, Op, 2>(in, to, low, neutral); break;
      case GroupLength::up_to_vector: fold_uneven<T, Op, 1>(in, to, low, high, neutral); break;
      case GroupLength::up_to_two: fold_uneven<T, Op, 2>(in, to, low, high, neutral); break;
      case GroupLength::up_to_block: fold_uneven<T, Op, 0>(in, to, low, high, neutral); break;
      case GroupLength::other: return first;
    }
  }
  return first;
}

// The same for segments that are one vector each, one after the other.
template <class T, class Op>
HIDP_KERNEL int64_t fold_vector_groups(const T *in, T *out, int64_t first, int64_t end, T neutral) {
  constexpr int64_t lanes = kLanes<T>;
  for (; end - first >= lanes; first += lanes) {
    simd_reduce_vectors<T, Op, 1>(in + first * lanes, out + first, [](int64_t i) { return i * lanes; });
    for (int64_t i = first; kPassesNan<Op, T> && i < first + lanes; ++i) out[i] = past_nan<Op>(neutral, out[i]);
  }
  return first;
}

// out[i] is the fold of segment i. Without a neutral element an empty segment is a fault at `empty_site`.
template <class T, class Op, class In, class L, class H>
inline bool team_segmented_reduce(Host &host, const SegmentSites &sites, uint32_t empty_site, const In *in, int64_t extent, T *out,
                                  const Segments<L, H> &segments, T neutral, bool has_neutral) {
  SegmentFacts facts;
  if (!check_segments(host, sites.range, sites.memory, segments, extent, &facts)) return false;
  constexpr int64_t group = folds_together<T, In, Op>() ? kLanes<T> : 1;
  return for_segment_groups<group>(
      host, segments, facts,
      [=](Worker &worker, int64_t i, int64_t low, int64_t length) {
        if (length > 0) out[i] = past_nan<Op>(neutral, simd_reduce<T>(Op(worker.trap), in + low, length));
        else if (has_neutral) out[i] = neutral;
        else worker.trap.raise(empty_site);
      },
      [=, &host](int64_t i, int64_t low, int64_t length) {
        const bool done = team_reduce<T, Op>(host, sites.memory, in + low, length, &out[i]);
        if (done) out[i] = past_nan<Op>(neutral, out[i]);
        return done;
      },
      [=](int64_t first, int64_t end, int64_t most) {
        if constexpr (group == 1) return first;
        else if (segments.regular()) return segments.size == group ? fold_vector_groups<T, Op>(in, out, first, end, neutral) : first;
        else if (!has_neutral || most < kFoldBlock) return first;
        else return fold_groups<T, Op>(in, extent, out, segments.lows, segments.highs, first, end, neutral);
      });
}

// Prefixes of each segment, at its place in out. Exclusive without a neutral element, a segment that is not empty is a fault at
// `empty_site`.
template <class T, class Op, class In, class L, class H>
inline bool team_segmented_scan(Host &host, const SegmentSites &sites, uint32_t empty_site, const In *in, T *out, int64_t extent, const Segments<L, H> &segments,
                                T neutral, bool has_neutral, bool exclusive) {
  SegmentFacts facts;
  if (!check_outputs(host, sites, segments, extent, &facts)) return false;
  return for_segments(
      host, segments, facts,
      [=](Worker &worker, int64_t, int64_t low, int64_t length) {
        const Op op(worker.trap);
        if (length == 0) return;
        if (has_neutral) simd_scan<T>(op, in + low, out + low, length, neutral, exclusive);
        else if (exclusive) worker.trap.raise(empty_site);
        else simd_scan_first<T>(op, in + low, out + low, length);
      },
      [=, &host](int64_t, int64_t low, int64_t length) {
        if (exclusive && !has_neutral) host.trap.raise(empty_site);
        return !host.trap.raised && team_scan<T, Op>(host, sites.memory, in + low, out + low, length, neutral, has_neutral, exclusive);
      });
}

// Each segment sorted, at its place in out.
template <class K, class L, class H>
inline bool team_segmented_sort(Host &host, const SegmentSites &sites, const K *in_key, K *out_key, int64_t extent,
                                const Segments<L, H> &segments, bool descending) {
  SegmentFacts facts;
  if (!check_outputs(host, sites, segments, extent, &facts)) return false;
  return for_segments(
      host, segments, facts,
      [=](Worker &worker, int64_t, int64_t low, int64_t length) {
        if (length == 0) return;
        ScratchBlock block(worker);
        K *keys = length > kAtOnce<K, NoValue> ? scratch<K>(worker, length, false, sites.memory) : out_key;
        if (keys != nullptr) thread_sort(in_key + low, out_key + low, length, descending, keys);
      },
      [=, &host](int64_t, int64_t low, int64_t length) {
        return team_sort(host, sites.memory, in_key + low, out_key + low, length, descending);
      });
}

template <class K, class V, class L, class H>
inline bool team_segmented_sort(Host &host, const SegmentSites &sites, const K *in_key, K *out_key, const V *in_val, V *out_val,
                                int64_t extent, const Segments<L, H> &segments, bool descending) {
  SegmentFacts facts;
  if (!check_outputs(host, sites, segments, extent, &facts)) return false;
  return for_segments(
      host, segments, facts,
      [=](Worker &worker, int64_t, int64_t low, int64_t length) {
        if (length == 0) return;
        ScratchBlock block(worker);
        const bool needed = length > kAtOnce<K, V>;
        K *keys = needed ? scratch<K>(worker, length, false, sites.memory) : out_key;
        V *values = needed ? scratch<V>(worker, length, false, sites.memory) : out_val;
        if (keys != nullptr && values != nullptr)
          thread_sort(in_key + low, out_key + low, in_val + low, out_val + low, length, descending, keys, values);
      },
      [=, &host](int64_t, int64_t low, int64_t length) {
        return team_sort(host, sites.memory, in_key + low, out_key + low, in_val + low, out_val + low, length, descending);
      });
}

// Each segment reversed, at its place in out.
template <class T, class L, class H>
inline bool team_segmented_reverse(Host &host, const SegmentSites &sites, const T *in, T *out, int64_t extent,
                                   const Segments<L, H> &segments) {
  SegmentFacts facts;
  if (!check_outputs(host, sites, segments, extent, &facts)) return false;
  return for_segments(
      host, segments, facts,
      [=](Worker &, int64_t, int64_t low, int64_t length) { thread_reverse(in + low, out + low, length); },
      [=, &host](int64_t, int64_t low, int64_t length) { return team_reverse(host, in + low, out + low, length); });
}

template <class T, class L, class H>
inline bool team_segmented_reverse_inplace(Host &host, const SegmentSites &sites, T *data, int64_t extent, const Segments<L, H> &segments) {
  SegmentFacts facts;
  if (!check_outputs(host, sites, segments, extent, &facts)) return false;
  return for_segments(
      host, segments, facts,
      [=](Worker &, int64_t, int64_t low, int64_t length) { thread_reverse_inplace(data + low, length); },
      [=, &host](int64_t, int64_t low, int64_t length) { return team_reverse_inplace(host, data + low, length); });
}

template <class B>
inline bool holds_bound(int64_t bound) {
  return static_cast<int64_t>(static_cast<B>(bound)) == bound && (std::is_signed_v<B> || bound >= 0);
}

// The bounds of both parts of segment i, in new_low/new_high[2i] and [2i + 1]. One that does not fit is a fault at `site`.
template <class B>
struct PartBounds {
  B *new_low, *new_high;
  uint32_t site;

  bool note(Trap &trap, int64_t i, int64_t low, int64_t middle, int64_t past) const {
    return put(trap, new_low, 2 * i, low) && put(trap, new_high, 2 * i, middle) && put(trap, new_low, 2 * i + 1, middle) &&
           put(trap, new_high, 2 * i + 1, past);
  }

 private:
  bool put(Trap &trap, B *bounds, int64_t at, int64_t bound) const {
    if (HIDP_UNLIKELY(!holds_bound<B>(bound))) {
      trap.raise(site, 1, bound);
      return false;
    }
    bounds[at] = static_cast<B>(bound);
    return true;
  }
};

// Each segment partitioned by its own pivot, at its place in out; the bounds of the two parts of segment i in
// new_low/new_high[2i] and [2i + 1].
template <class F, class T, class P, class B, class L, class H>
inline bool team_segmented_partition(Host &host, const SegmentSites &sites, uint32_t narrow_site, const T *in, T *out, const P *pivots, int64_t extent,
                                     const Segments<L, H> &segments, B *new_low, B *new_high) {
  SegmentFacts facts;
  if (!check_outputs(host, sites, segments, extent, &facts)) return false;
  const PartBounds<B> bounds{new_low, new_high, narrow_site};
  return for_segments(
      host, segments, facts,
      [=](Worker &worker, int64_t i, int64_t low, int64_t length) {
        const F holds(worker.trap);
        const int64_t front = length == 0 ? 0 : thread_partition(holds, in + low, out + low, pivots[i], length);
        if (!worker.trap.raised) bounds.note(worker.trap, i, low, low + front, segments.past(i));
      },
      [=, &host](int64_t i, int64_t low, int64_t length) {
        int64_t front = 0;
        const bool done = team_partition<F>(host, sites.memory, in + low, out + low, pivots[i], length, &front);
        return done && bounds.note(host.trap, i, low, low + front, segments.past(i));
      });
}

template <class F, class T, class V, class P, class B, class L, class H>
inline bool team_segmented_partition(Host &host, const SegmentSites &sites, uint32_t narrow_site, const T *in, T *out, const V *in_val, V *out_val,
                                     const P *pivots, int64_t extent, const Segments<L, H> &segments, B *new_low, B *new_high) {
  SegmentFacts facts;
  if (!check_outputs(host, sites, segments, extent, &facts)) return false;
  const PartBounds<B> bounds{new_low, new_high, narrow_site};
  return for_segments(
      host, segments, facts,
      [=](Worker &worker, int64_t i, int64_t low, int64_t length) {
        const F holds(worker.trap);
        const int64_t front =
            length == 0 ? 0 : thread_partition(holds, in + low, out + low, in_val + low, out_val + low, pivots[i], length);
        if (!worker.trap.raised) bounds.note(worker.trap, i, low, low + front, segments.past(i));
      },
      [=, &host](int64_t i, int64_t low, int64_t length) {
        int64_t front = 0;
        const bool done =
            team_partition<F>(host, sites.memory, in + low, out + low, in_val + low, out_val + low, pivots[i], length, &front);
        return done && bounds.note(host.trap, i, low, low + front, segments.past(i));
      });
}

HIDP_NAMESPACE_END
