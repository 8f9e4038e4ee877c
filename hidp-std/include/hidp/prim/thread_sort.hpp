// thread_sort: one worker sorts one segment, stably.
//
// Called by: a worker. Run by: that worker alone. Result: in out_key (and out_val), valid when it returns.
// Scratch: n keys and n values, given by the caller. in is out, or scratch (which is clobbered), or overlaps neither.
//
// Keys alone, and with values words of key and position: networks in vector lanes, where there are; more than those take are dealt
// out by their highest digit first. Otherwise up to kShortMost elements by their ranks, counted in vector lanes without branches; insertion sort of what is too wide
// for that; merges of such runs while they are short, least-significant-digit radix sort with 8-bit digits over the bits that vary
// beyond (Knuth, TAOCP 3, 5.2.5).
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/prim/position_sort.hpp>
#include <hidp/prim/radix_key.hpp>
#include <hidp/prim/sort_network.hpp>
#include <hidp/prim/sort_run.hpp>
#include <hidp/prim/vector.hpp>

HIDP_NAMESPACE_BEGIN

constexpr int64_t kShortMost = 32;
// Fewer are faster by insertion.
constexpr int64_t kRankLeast = 4;
// A radix pass costs as much as merging so many elements for each digit.
constexpr int64_t kMergePerDigit = 16;
// Buckets of so many bits' worth of elements are left when keys are dealt out: networks are at their best there.
constexpr int kBucketBits = 8;
// One worker deals keys out to no more places than that at once; a second time to few ones costs less.
constexpr int kMostDealtBits = 10;
constexpr int64_t kMostDealt = int64_t{1} << kMostDealtBits;
// Fewer keys with values are not dealt out to become words of a network.
constexpr int64_t kDealLeast = network_most<uint64_t>() > 0 ? 128 : 4096;

// in and out may be equal.
template <class K, class V>
inline void insertion_sort(SortRun<K, V> in, SortRun<K, V> out, int64_t n, RadixWord<K> flip) {
  for (int64_t i = 0; i < n; ++i) {
    const K key = in.key[i];
    const RadixWord<K> word = radix_word(key, flip);
    int64_t hole = i;
    if constexpr (sizeof(SortRun<K, V>) == sizeof(K *)) {
      for (; hole > 0 && radix_word(out.key[hole - 1], flip) > word; --hole) out.key[hole] = out.key[hole - 1];
      out.key[hole] = key;
    } else {
      const V val = in.val[i];
      for (; hole > 0 && radix_word(out.key[hole - 1], flip) > word; --hole) out.move(hole, out, hole - 1);
      out.key[hole] = key;
      out.val[hole] = val;
    }
  }
}

// Every element's rank is how many are smaller, or equal and before it. All pairs are compared, a vector at a time; the lanes
// behind the last element rank nothing. in and out may be equal.
template <class K, class V>
inline void rank_sort(SortRun<K, V> in, SortRun<K, V> out, int64_t n, RadixWord<K> flip) {
  using U = RadixWord<K>;
  constexpr int64_t lanes = kLanes<U>;
  constexpr int64_t room = kShortMost > lanes ? kShortMost : lanes;
  alignas(64) U word[room] = {}, rank[room];
  K key[kShortMost];
  for (int64_t i = 0; i < n; ++i) {
    key[i] = in.key[i];
    word[i] = radix_word(key[i], flip);
  }
  Vector<U> numbers;
  for (int64_t lane = 0; lane < lanes; ++lane) numbers[lane] = static_cast<U>(lane);
  for (int64_t first = 0; first < n; first += lanes) {
    const Vector<U> own = load_vector(word + first);
    const Vector<U> position = numbers + broadcast(static_cast<U>(first));
    Vector<U> before = {};
    for (int64_t j = 0; j < n; ++j) {
      const Vector<U> other = broadcast(word[j]);
      before -= (Vector<U>)((other < own) | ((other == own) & (broadcast(static_cast<U>(j)) < position)));
    }
    store_vector(rank + first, before);
  }
  if constexpr (std::is_same_v<V, NoValue>) {
    for (int64_t i = 0; i < n; ++i) out.key[rank[i]] = key[i];
  } else {
    V val[kShortMost];
    for (int64_t i = 0; i < n; ++i) val[i] = in.val[i];
    for (int64_t i = 0; i < n; ++i) {
      out.key[rank[i]] = key[i];
      out.val[rank[i]] = val[i];
    }
  }
}

// n <= kShortMost.
template <class K, class V>
inline void short_sort(SortRun<K, V> in, SortRun<K, V> out, int64_t n, RadixWord<K> flip) {
  constexpr bool narrow = std::is_same_v<V, NoValue> || sizeof(V) <= 16;
  if (!narrow || n < kRankLeast) insertion_sort(in, out, n, flip);
  else rank_sort(in, out, n, flip);
}

// Merges from[0, middle) and from[middle, n); equal keys of the first part go first.
template <class K, class V>
inline void merge_runs(SortRun<K, V> from, SortRun<K, V> to, int64_t middle, int64_t n, RadixWord<K> flip) {
  int64_t a = 0, b = middle, at = 0;
  while (a < middle && b < n) {
    const bool second = radix_word(from.key[b], flip) < radix_word(from.key[a], flip);
    to.move(at++, from, second ? b : a);
    a += !second;
    b += second;
  }
  while (a < middle) to.move(at++, from, a++);
  while (b < n) to.move(at++, from, b++);
}

template <class K, class V>
inline void merge_sort(SortRun<K, V> in, SortRun<K, V> out, SortRun<K, V> scratch, int64_t n, RadixWord<K> flip) {
  int levels = 0;
  for (int64_t width = kShortMost; width < n; width *= 2) ++levels;
  // The last merge must end in out.
  SortRun<K, V> from = levels % 2 == 0 ? out : scratch, to = levels % 2 == 0 ? scratch : out;
  for (int64_t low = 0; low < n; low += kShortMost) {
    const int64_t length = n - low < kShortMost ? n - low : kShortMost;
    short_sort(in.at(low), from.at(low), length, flip);
  }
  for (int64_t width = kShortMost; width < n; width *= 2) {
    for (int64_t low = 0; low < n; low += 2 * width) {
      const int64_t length = n - low < 2 * width ? n - low : 2 * width;
      merge_runs(from.at(low), to.at(low), length < width ? length : width, length, flip);
    }
    const SortRun<K, V> other = from;
    from = to;
    to = other;
  }
}

// One stable pass by the digit at `shift`. `next` holds where each digit's next element goes.
template <class K, class V>
inline void radix_pass(SortRun<K, V> from, SortRun<K, V> to, int64_t n, int shift, RadixWord<K> flip, uint32_t *next) {
  for (int64_t i = 0; i < n; ++i) to.move(next[radix_digit(radix_word(from.key[i], flip), shift)]++, from, i);
}

// Sorts by the low `bits` bits of the words. n < 2^32.
template <class K, class V>
inline void radix_sort(SortRun<K, V> in, SortRun<K, V> out, SortRun<K, V> scratch, int64_t n, int bits, RadixWord<K> flip) {
  constexpr int kMostPasses = static_cast<int>(sizeof(K));
  uint32_t counts[kMostPasses][kDigits];
  const int passes = (bits + kDigitBits - 1) / kDigitBits;
  for (int pass = 0; pass < passes; ++pass) __builtin_memset(counts[pass], 0, sizeof counts[pass]);
  for (int64_t i = 0; i < n; ++i) {
    const RadixWord<K> word = radix_word(in.key[i], flip);
    for (int pass = 0; pass < passes; ++pass) ++counts[pass][radix_digit(word, pass * kDigitBits)];
  }
  int order[kMostPasses], used = 0;
  for (int pass = 0; pass < passes; ++pass) {
    uint32_t sum = 0;
    bool trivial = false;
    for (int digit = 0; digit < kDigits; ++digit) {
      const uint32_t count = counts[pass][digit];
      trivial |= count == static_cast<uint32_t>(n);
      counts[pass][digit] = sum;
      sum += count;
    }
    if (!trivial) order[used++] = pass;
  }
  SortRun<K, V> from = in;
  for (int step = 0; step < used; ++step) {
    const bool into_out = (used - step) % 2 == 1;
    const SortRun<K, V> to = into_out ? out : scratch;
    if (from.key == to.key) {
      // Only the first pass, where in is out or scratch: it reads from a copy.
      const SortRun<K, V> other = into_out ? scratch : out;
      copy_run(other, from, n);
      from = other;
    }
    radix_pass(from, to, n, order[step] * kDigitBits, flip, counts[order[step]]);
    from = to;
  }
  copy_run(out, from, n);
}

template <class K, class V>
inline void sort_low_bits(SortRun<K, V> in, SortRun<K, V> out, SortRun<K, V> scratch, int64_t n, int bits, RadixWord<K> flip);

// Occurrences of each of `digits` digits in n < 2^32 keys. Two tables: neighbouring equal digits do not wait for one another.
template <class K>
inline void count_digits(const K *keys, int64_t n, int shift, int64_t digits, RadixWord<K> flip, uint32_t *counts) {
  using U = RadixWord<K>;
  uint32_t odd[kMostDealt];
  const unsigned mask = static_cast<unsigned>(digits - 1);
  for (int64_t digit = 0; digit < digits; ++digit) counts[digit] = odd[digit] = 0;
  const auto digit_of = [=](K key) { return static_cast<unsigned>(static_cast<U>(radix_word(key, flip) >> shift)) & mask; };
  int64_t i = 0;
  for (; i + 1 < n; i += 2) {
    ++counts[digit_of(keys[i])];
    ++odd[digit_of(keys[i + 1])];
  }
  if (i < n) ++counts[digit_of(keys[i])];
  for (int64_t digit = 0; digit < digits; ++digit) counts[digit] += odd[digit];
}

// Bits by which `n` keys are dealt out at least, so that what is left of them fits into a network's words with positions.
template <class V>
inline int bits_to_fit(int64_t n, int bits) {
  constexpr int widest = network_most<uint64_t>() > 0 ? 64 : 32;
  const int over = bits + bit_length(static_cast<uint64_t>(n)) + 1 - widest;
  return std::is_same_v<V, NoValue> || over <= 0 ? 0 : (over + 1) / 2;
}

// Deals keys out by the highest digit that varies and sorts what each gets. n < 2^32.
template <class K, class V>
HIDP_KERNEL void deal_sort(SortRun<K, V> in, SortRun<K, V> out, SortRun<K, V> scratch, int64_t n, int bits, RadixWord<K> flip) {
  const int varying = bit_length(varying_bits(in.key, n));
  if (varying < bits) bits = varying;
  if (bits == 0) return copy_run(out, in, n);
  const int for_buckets = bit_length(static_cast<uint64_t>(n)) - 1 - kBucketBits, to_fit = bits_to_fit<V>(n, bits);
  const int wanted = for_buckets > to_fit ? for_buckets : to_fit;
  const int most = wanted < kMostDealtBits ? wanted : kMostDealtBits, least = most < 1 ? 1 : most;
  const int digit_bits = least < bits ? least : bits;
  const int shift = bits - digit_bits;
  const int64_t digits = int64_t{1} << digit_bits;
  const SortRun<K, V> to = in.key == scratch.key ? out : scratch;
  uint32_t next[kMostDealt];
  count_digits(in.key, n, shift, digits, flip, next);
  uint32_t sum = 0;
  for (int64_t digit = 0; digit < digits; ++digit) {
    const uint32_t count = next[digit];
    next[digit] = sum;
    sum += count;
  }
  const unsigned mask = static_cast<unsigned>(digits - 1);
  for (int64_t i = 0; i < n; ++i) {
    const RadixWord<K> word = radix_word(in.key[i], flip);
    to.move(next[static_cast<unsigned>(static_cast<RadixWord<K>>(word >> shift)) & mask]++, in, i);
  }
  // Every slot has become the end of its digit's keys.
  int64_t low = 0;
  for (int64_t digit = 0; digit < digits; ++digit) {
    const int64_t past = next[digit];
    if (past > low) sort_low_bits(to.at(low), out.at(low), scratch.at(low), past - low, shift, flip);
    low = past;
  }
}

// Where there are networks of 64 bits; nothing fits otherwise.
template <class K, class V>
inline void sort_wide_positions(SortRun<K, V> in, SortRun<K, V> out, SortRun<K, V> scratch, int64_t n, int bits, RadixWord<K> flip) {
  if constexpr (network_most<uint64_t>() > 0) position_sort<uint64_t>(in, out, scratch, n, bits, flip);
}

// Sorts words that may differ in their low `bits` bits only.
template <class K, class V>
inline void sort_low_bits(SortRun<K, V> in, SortRun<K, V> out, SortRun<K, V> scratch, int64_t n, int bits, RadixWord<K> flip) {
  if constexpr (std::is_same_v<V, NoValue> && network_most<RadixWord<K>>() > 0) {
    if (bits == 0) copy_run(out, in, n);
    else if (n < kLanes<RadixWord<K>>) short_sort(in, out, n, flip);
    else if (n <= network_most<RadixWord<K>>()) network_sort(in.key, out.key, n, flip);
    else deal_sort(in, out, scratch, n, bits, flip);
  } else {
    if (n <= kShortMost) return short_sort(in, out, n, flip);
    if (bits == 0) return copy_run(out, in, n);
    if constexpr (!std::is_same_v<V, NoValue> && network_most<uint32_t>() > 0) {
      if (positions_fit<uint32_t>(n, bits)) return position_sort<uint32_t>(in, out, scratch, n, bits, flip);
      if (positions_fit<uint64_t>(n, bits)) return sort_wide_positions(in, out, scratch, n, bits, flip);
      if (n >= kDealLeast && bits_to_fit<V>(n, bits) <= kDigitBits) return deal_sort(in, out, scratch, n, bits, flip);
    }
    if (n <= kMergePerDigit * ((bits + kDigitBits - 1) / kDigitBits)) merge_sort(in, out, scratch, n, flip);
    else radix_sort(in, out, scratch, n, bits, flip);
  }
}

// Whether scratch is needed, and a look at the bits pays.
template <class K, class V>
constexpr int64_t kAtOnce = std::is_same_v<V, NoValue> && (network_most<RadixWord<K>>() > kShortMost) ? network_most<RadixWord<K>>()
                                                                                                       : kShortMost;

// Keys only. n < 2^32.
template <class K>
inline void thread_sort(const K *in_key, K *out_key, int64_t n, bool descending, K *scratch_key) {
  using Run = SortRun<K, NoValue>;
  const RadixWord<K> flip = descending ? static_cast<RadixWord<K>>(~RadixWord<K>{0}) : RadixWord<K>{0};
  const int bits = n <= kAtOnce<K, NoValue> ? 1 : bit_length(varying_bits(in_key, n));
  sort_low_bits(Run{const_cast<K *>(in_key)}, Run{out_key}, Run{scratch_key}, n, bits, flip);
}

// Keys with values. n < 2^32.
template <class K, class V>
inline void thread_sort(const K *in_key, K *out_key, const V *in_val, V *out_val, int64_t n, bool descending, K *scratch_key,
                        V *scratch_val) {
  using Run = SortRun<K, V>;
  const RadixWord<K> flip = descending ? static_cast<RadixWord<K>>(~RadixWord<K>{0}) : RadixWord<K>{0};
  const int bits = n <= kShortMost ? 1 : bit_length(varying_bits(in_key, n));
  sort_low_bits(Run{const_cast<K *>(in_key), const_cast<V *>(in_val)}, Run{out_key, out_val}, Run{scratch_key, scratch_val}, n,
                bits, flip);
}

HIDP_NAMESPACE_END
