// thread_histogram: one worker folds values into bins, in order, or counts keys.
//
// Called by: a worker. Run by: that worker alone. Result: in bins; returns the position of the first key outside
// [0, bin_count), or n if there is none; what stands behind it has not been folded. Scratch: the stack.
//
// One after the other, additions to one bin wait for each other. So keys of few bins are counted in several tables in turn. A table of bytes
// has a place for each key, so they are looked at only after they were counted.
#pragma once

#include <stdint.h>
#include <string.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/cast.hpp>

HIDP_NAMESPACE_BEGIN

// Values of a histogram that counts.
struct Ones {
  Ones operator+(int64_t) const { return *this; }
};

// Places of a table, and tables that are used in turn: together up to half of a first-level cache.
template <class K>
inline constexpr int64_t kPlaces = sizeof(K) == 1 ? 256 : 1024;
template <class K>
inline constexpr int64_t kTables = sizeof(K) == 1 ? 8 : 4;
// More keys might not fit into a place.
constexpr int64_t kMostCounted = INT64_C(1) << 31;
// With fewer keys the tables cost more than they save.
constexpr int64_t kCountsPerBin = 8;
// Keys that are compared with the number of bins before they are counted, while the cache holds them.
constexpr int64_t kLookedAt = 4096;

template <class T>
inline void add_count(T &bin, uint32_t count) {
  using Count = std::make_unsigned_t<T>;
  bin = static_cast<T>(static_cast<Count>(static_cast<Count>(bin) + static_cast<Count>(count)));
}

template <class K>
inline bool has_bin(K key, int64_t bin_count) {
  return static_cast<uint64_t>(static_cast<int64_t>(key)) < static_cast<uint64_t>(bin_count);
}

// How many keys come before the first one without a bin.
template <class K>
inline int64_t good_keys(const K *keys, int64_t n, int64_t bin_count) {
  // Without a way out of the loop it runs in lanes.
  bool good = true;
  for (int64_t i = 0; i < n; ++i) good &= has_bin(keys[i], bin_count);
  if (good) return n;
  int64_t i = 0;
  while (i < n && has_bin(keys[i], bin_count)) ++i;
  return i;
}

template <class K>
class CountTables {
  using Place = std::make_unsigned_t<K>;

 public:
  explicit CountTables(int64_t places) : places_(places) {
    for (int64_t t = 0; t < kTables<K>; ++t) memset(table_[t], 0, static_cast<size_t>(places) * sizeof(uint32_t));
  }
  // Each has a place.
  void count(const K *keys, int64_t n) {
    int64_t i = 0;
    for (; i + kTables<K> <= n; i += kTables<K>)
      for (int64_t t = 0; t < kTables<K>; ++t) ++table_[t][static_cast<Place>(keys[i + t])];
    for (; i < n; ++i) ++table_[0][static_cast<Place>(keys[i])];
  }
  uint32_t at(int64_t place) const {
    uint32_t count = 0;
    for (int64_t t = 0; t < kTables<K>; ++t) count += table_[t][place];
    return count;
  }
  template <class T>
  void add_to(T *bins, int64_t end) const {
    for (int64_t bin = 0; bin < end; ++bin) add_count(bins[bin], at(bin));
  }
  bool is_empty_from(int64_t begin) const {
    uint32_t found = 0;
    for (int64_t place = begin; place < places_; ++place) found |= at(place);
    return found == 0;
  }

 private:
  const int64_t places_;
  uint32_t table_[kTables<K>][kPlaces<K>];
};

template <class T, class K>
inline int64_t count_few(const K *keys, T *bins, int64_t n, int64_t bin_count) {
  if constexpr (sizeof(K) == 1) {
    CountTables<K> tables(kPlaces<K>);
    tables.count(keys, n);
    // The places of negative keys come last.
    constexpr int64_t kNotNegative = std::is_signed_v<K> ? 128 : 256;
    const int64_t end = bin_count < kNotNegative ? bin_count : kNotNegative;
    if (HIDP_UNLIKELY(!tables.is_empty_from(end))) return good_keys(keys, n, bin_count);
    tables.add_to(bins, end);
    return n;
  } else {
    CountTables<K> tables(bin_count);
    int64_t counted = 0, good = 0;
    for (int64_t length = 0; counted < n && good == length; counted += good) {
      length = n - counted < kLookedAt ? n - counted : kLookedAt;
      good = good_keys(keys + counted, length, bin_count);
      tables.count(keys + counted, good);
    }
    tables.add_to(bins, bin_count);
    return counted;
  }
}

template <class T, class Op, class K, class V>
inline int64_t thread_histogram(const Op &op, const K *keys, const V *values, T *bins, int64_t n, int64_t bin_count) {
  for (int64_t i = 0; i < n; ++i) {
    if (HIDP_UNLIKELY(!has_bin(keys[i], bin_count))) return i;
    T &bin = bins[static_cast<int64_t>(keys[i])];
    bin = op(bin, cast<T>(values[i]));
  }
  return n;
}

template <class T, class Op, class K>
inline int64_t thread_histogram(const Op &, const K *keys, Ones, T *bins, int64_t n, int64_t bin_count) {
  const int64_t places = sizeof(K) == 1 ? kPlaces<K> : bin_count;
  if (places <= kPlaces<K> && n >= kCountsPerBin * places) {
    for (int64_t begin = 0; begin < n; begin += kMostCounted) {
      const int64_t length = n - begin < kMostCounted ? n - begin : kMostCounted;
      const int64_t stop = count_few(keys + begin, bins, length, bin_count);
      if (stop < length) return begin + stop;
    }
    return n;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (HIDP_UNLIKELY(!has_bin(keys[i], bin_count))) return i;
    add_count(bins[static_cast<int64_t>(keys[i])], 1);
  }
  return n;
}

HIDP_NAMESPACE_END
