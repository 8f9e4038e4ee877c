// kernel_histogram: the whole device folds values into bins, or counts keys.
//
// Called by: the host function. Run by: all blocks. Result: in bins, combined with what they held, for what follows on the stream,
// if it returns true; false after a key outside [0, bin_count) (`key`: the first in order and the number of bins; bins stay as they
// were), an allocation fault at `memory` or an error of the device; faults of the operator show at the next look. Waits for the
// device. Scratch: where order matters, sorted keys and values and the bounds of bins, from the device's pool.
//
// Same bits every run. Integers of 4 and 8 bytes under built-in operators fold in any order, by atomics: few bins in shared memory
// first, many at once. Everything else is sorted by bin, stably, and each bin's values fold in order, by a tree that their number
// fixes. Counts in bins of 1 and 2 bytes are made in bins of 4 bytes and then added.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/cuda/prim/block_histogram.cuh>
#include <hidp/cuda/prim/for_segments.cuh>
#include <hidp/cuda/prim/group_reduce.cuh>
#include <hidp/cuda/prim/kernel_reduce.cuh>
#include <hidp/cuda/prim/kernel_sort.cuh>

HIDP_NAMESPACE_BEGIN

// Bins that a block keeps in shared memory, in bytes; elements of a part.
constexpr int kSharedBinBytes = 16384;
constexpr int64_t kHistogramGrain = 16384;
constexpr int64_t kHistogramParts = 2048;

// How far from the end the first key is that has no bin.
template <class Keys>
struct FindBadKey {
  Keys keys;
  Any<int64_t> to_end;
  int64_t bin_count;
  Parts parts;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    int64_t worst = 0;
    const int64_t begin = parts.begin(part), end = begin + parts.length(part);
    // Without a way out of the loop several loads are under way at a time.
    for (int64_t i = begin + lane<Block>(worker); i < end; i += kWidth<Block, W>) {
      const bool bad = static_cast<uint64_t>(static_cast<int64_t>(load(keys + i))) >= static_cast<uint64_t>(bin_count);
      worst = worst == 0 && bad ? parts.n - i : worst;
    }
    if (worst != 0) atomic_max(to_end, worst);
  }
};

template <class Keys>
inline bool check_keys(Host &host, uint32_t memory, uint32_t key, Keys keys, int64_t n, int64_t bin_count) {
  const Any<int64_t> to_end = host.alloc<int64_t>(1, true, memory);
  const Parts parts = Parts::of(n, kHistogramGrain, kHistogramParts);
  if (host.failed() || !for_items<Block>(host, parts.count, false, FindBadKey<Keys>{keys, to_end, bin_count, parts})) return false;
  const int64_t found = host.fetch(to_end);
  host.free(to_end);
  if (host.failed()) return false;
  if (found == 0) return true;
  const int64_t value = static_cast<int64_t>(host.fetch(keys + (n - found)));
  if (!host.failed()) host.trap.raise(key, 2, value, bin_count);
  return false;
}

// In any order.

template <class T, class Op, class Keys, class Values, class Out>
struct FoldPartIntoBins {
  static constexpr int bins_at_most = kSharedBinBytes / static_cast<int>(sizeof(T));
  Keys keys;
  Values values;
  Out bins;
  int64_t bin_count;
  Parts parts;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    const int64_t begin = parts.begin(part);
    block_histogram<T, Op, bins_at_most>(worker, keys + begin, values + begin, bins, parts.length(part), bin_count);
  }
};

template <class T, class Op, class Keys, class Values, class Out>
struct FoldOneIntoBins {
  Keys keys;
  Values values;
  Out bins;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t i) const {
    fold_into(Op(worker.trap), bins + static_cast<int64_t>(load(keys + i)), cast<T>(load(values + i)));
  }
};

template <class T, class Op, class Keys, class Values, class Out>
inline bool histogram_by_atomics(Host &host, Keys keys, Values values, Out bins, int64_t n, int64_t bin_count) {
  using InShared = FoldPartIntoBins<T, Op, Keys, Values, Out>;
  if (bin_count <= InShared::bins_at_most && n / kHistogramGrain >= 1) {
    const Parts parts = Parts::of(n, kHistogramGrain, kHistogramParts);
    return for_items<Block>(host, parts.count, false, InShared{keys, values, bins, bin_count, parts});
  }
  return for_items<Thread>(host, n, false, FoldOneIntoBins<T, Op, Keys, Values, Out>{keys, values, bins});
}

// In order.

template <class Keys, class Word>
struct KeyToWord {
  Keys keys;
  Any<Word> words;
  HIDP_DEVICE Word get(int64_t i) const { return static_cast<Word>(load(keys + i)); }
  HIDP_DEVICE void put(int64_t i, Word word) const { store(words + i, word); }
};

// Where runs of equal keys start and end.
template <class Word>
struct BoundsOfRuns {
  Any<Word> words;
  Any<int64_t> lows, highs;
  int64_t n;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t i) const {
    const Word word = load(words + i);
    if (i == 0 || load(words + (i - 1)) != word) store(lows + static_cast<int64_t>(word), i);
    if (i == n - 1 || load(words + (i + 1)) != word) store(highs + static_cast<int64_t>(word), i + 1);
  }
};

// bins[i] = bins[i] op what stands in segment i.
template <class T, class Op, class Src, class Out>
struct FoldSegmentIntoBin {
  static constexpr bool can_fault() { return !IsBuiltin<Op>::value; }
  Src in;
  Out bins;
  template <class Group, class W>
  HIDP_DEVICE void run(W &worker, int64_t i, int64_t low, int64_t, int64_t length) const {
    if (length == 0) return;
    const T fold = group_reduce<Group, Own, T, Op>(worker, in + low, length);
    if (is_first<Group>(worker) && !worker.trap.raised) {
      const T sum = Op(worker.trap)(load(bins + i), fold);
      if (!worker.trap.raised) store(bins + i, sum);
    }
    settled<Group, Op>(worker);
  }
};
template <class T, class Op, class Out>
struct FoldIntoBin {
  Any<T> fold;
  Out bin;
  template <class W>
  HIDP_DEVICE void operator()(W &worker) const {
    const T sum = Op(worker.trap)(load(bin), load(fold));
    if (!worker.trap.raised) store(bin, sum);
  }
};

template <class T, class Op, class Word, class Keys, class Values, class Out>
inline bool histogram_by_sorting(Host &host, uint32_t memory, Keys keys, Values values, Out bins, int64_t n, int64_t bin_count) {
  using V = ElementOf<Values>;
  constexpr bool can_fault = !IsBuiltin<Op>::value;
  const Any<Word> words = host.alloc<Word>(n, false, memory);
  const Any<V> sorted = host.alloc<V>(n, false, memory);
  const Any<int64_t> lows = host.alloc<int64_t>(bin_count, true, memory);
  const Any<int64_t> highs = host.alloc<int64_t>(bin_count, true, memory);
  const Any<T> fold = host.alloc<T>(1, false, memory);
  if (host.failed()) return false;
  if (!move_elements(host, n, KeyToWord<Keys, Word>{keys, words})) return false;
  if (!kernel_sort(host, memory, words, words, values, sorted, n, false)) return false;
  if (!for_items<Thread>(host, n, false, BoundsOfRuns<Word>{words, lows, highs, n})) return false;
  using Segments = VectorSegments<Any<int64_t>, Any<int64_t>>;
  const Segments segments{lows, highs, bin_count};
  SegmentFacts facts;
  if (!look_at_segments(host, SegmentSites{memory, memory, memory}, segments, n, &facts)) return false;
  const bool done = for_segments(host, memory, segments, facts, FoldSegmentIntoBin<T, Op, Any<V>, Out>{sorted, bins}, [&](int64_t i, int64_t low, int64_t past) {
    return fold_on_device<T, Op>(host, memory, sorted + low, past - low, fold) && run_once<Thread>(host, can_fault, FoldIntoBin<T, Op, Out>{fold, bins + i});
  });
  host.free(fold);
  host.free(highs);
  host.free(lows);
  host.free(sorted);
  host.free(words);
  return done;
}

template <class T, class Op>
inline constexpr bool kFoldsInAnyOrder = IsBuiltin<Op>::value && std::is_integral_v<T> && sizeof(T) >= 4;

template <class T, class Op, class Keys, class Values, class Out>
inline bool kernel_histogram(Host &host, uint32_t memory, uint32_t key, Keys keys, Values values, Out bins, int64_t n, int64_t bin_count, T, bool) {
  if (n <= 0) return !host.failed();
  if (!check_keys(host, memory, key, keys, n, bin_count)) return false;
  if constexpr (kFoldsInAnyOrder<T, Op>) return histogram_by_atomics<T, Op>(host, keys, values, bins, n, bin_count);
  else if (bin_count <= INT64_C(0xffffffff)) return histogram_by_sorting<T, Op, uint32_t>(host, memory, keys, values, bins, n, bin_count);
  else return histogram_by_sorting<T, Op, uint64_t>(host, memory, keys, values, bins, n, bin_count);
}

// Values of a histogram that counts.
template <class T>
struct Ones {
  HIDP_DEVICE Ones operator+(int64_t) const { return *this; }
};
template <class T>
HIDP_DEVICE T load(Ones<T>) {
  return 1;
}

// bins[i] += counts[i].
template <class Out>
struct AddCount {
  Any<uint32_t> counts;
  Out bins;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t i) const {
    using T = ElementOf<Out>;
    store(bins + i, static_cast<T>(load(bins + i) + static_cast<T>(load(counts + i))));
  }
};

template <class T, class Op, class Keys, class Out>
inline bool kernel_histogram(Host &host, uint32_t memory, uint32_t key, Keys keys, Out bins, int64_t n, int64_t bin_count, T neutral, bool has_neutral) {
  if constexpr (kFoldsInAnyOrder<T, Op>) {
    return kernel_histogram<T, Op>(host, memory, key, keys, Ones<T>{}, bins, n, bin_count, neutral, has_neutral);
  } else {
    const Any<uint32_t> counts = host.alloc<uint32_t>(bin_count, true, memory);
    if (host.failed()) return false;
    const uint32_t none = 0;
    bool done = kernel_histogram<uint32_t, Add<uint32_t>>(host, memory, key, keys, Ones<uint32_t>{}, counts, n, bin_count, none, true);
    done = done && for_items<Thread>(host, bin_count, false, AddCount<Out>{counts, bins});
    host.free(counts);
    return done;
  }
}

HIDP_NAMESPACE_END
