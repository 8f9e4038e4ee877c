// network_sort: one worker sorts the keys of one short segment, in vector lanes.
//
// Called by: a worker. Run by: that worker alone. Result: in out, valid when it returns. Scratch: two buffers on the stack.
// in and out are equal or do not overlap. Keys of equal images have equal bits, so nothing could tell a stable sort from this.
//
// The keys stand in rows of a vector each; element (row, lane) has rank lane * rows + row in the end. First every lane's column is
// sorted by Batcher's odd-even merges, then neighbouring lanes are merged bitonically, twice as many at a time: two lanes' worth
// of keys meet with the second half turned round, so every comparison puts the smaller one first (Batcher, Sorting networks and
// their applications, AFIPS 1968; columns first: Blacher, Giesen, Kuehne, Fast and robust vectorized in-place sorting of primitive
// types, SEA 2021).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>
#include <utility>

#include <hidp/abi.hpp>
#include <hidp/prim/radix_key.hpp>
#include <hidp/prim/vector.hpp>

HIDP_NAMESPACE_BEGIN

// Networks pay for 4 and 8 bytes if there are vectors with minimum and maximum of such integers.
template <class U>
constexpr int64_t network_most() {
#if defined(__AVX512F__)
  return sizeof(U) == 4 ? 4096 : sizeof(U) == 8 ? 2048 : 0;
#elif defined(__AVX2__)
  return sizeof(U) == 4 ? 2048 : 0;
#else
  return 0;
#endif
}

template <class U>
class SortNetwork {
 public:
  using V = Vector<U>;
  static constexpr int kL = kLanes<U>;
  // Rows that fit into registers.
  static constexpr int64_t kRows = 16;

  // Sorts rows of words, as many as a power of two, into `sorted`.
  static HIDP_KERNEL void sort(U *words, U *sorted, int64_t rows) {
    switch (rows) {
      case 1: return sort_few<1>(words, sorted);
      case 2: return sort_few<2>(words, sorted);
      case 4: return sort_few<4>(words, sorted);
      case 8: return sort_few<8>(words, sorted);
      case 16: return sort_few<16>(words, sorted);
      default: return sort_many(words, sorted, rows);
    }
  }

  // Merges what is sorted in the first `middle` rows, a power of two, and in the others, which are not more.
  static HIDP_KERNEL void merge(U *sorted, int64_t middle, int64_t rows) {
    for (int64_t row = middle; row < rows; ++row) {
      V low = load_vector(sorted + (2 * middle - 1 - row) * kL), high = crossed<kL - 1>(load_vector(sorted + row * kL));
      exchange(low, high);
      store_vector(sorted + (2 * middle - 1 - row) * kL, low);
      store_vector(sorted + row * kL, crossed<kL - 1>(high));
    }
    clean(sorted, middle, middle);
    clean(sorted + middle * kL, rows - middle, middle);
  }

 private:
  using Lanes = std::make_index_sequence<static_cast<size_t>(kL)>;

  static HIDP_INLINE void exchange(V &a, V &b) {
    const V low = a < b ? a : b, high = a < b ? b : a;
    a = low;
    b = high;
  }

  template <size_t... Source>
  static HIDP_INLINE V shuffled(V a, V b, std::index_sequence<Source...>) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, static_cast<int>(Source)...);
#else
    return __builtin_shuffle(a, b, V{static_cast<U>(Source)...});
#endif
  }
  // Every lane's partner: the lane whose number differs in the bits of X.
  template <int X, size_t... Lane>
  static HIDP_INLINE V crossed(V v, std::index_sequence<Lane...>) {
    return shuffled(v, v, std::index_sequence<(Lane ^ X)...>());
  }
  template <int X>
  static HIDP_INLINE V crossed(V v) {
    return crossed<X>(v, Lanes());
  }
  // The lower of both in lanes without the bit H, the higher one in the others.
  template <int H, size_t... Lane>
  static HIDP_INLINE V ordered(V a, V b, std::index_sequence<Lane...>) {
    exchange(a, b);
    return shuffled(a, b, std::index_sequence<((Lane & H) ? Lane + kL : Lane)...>());
  }
  template <int H>
  static HIDP_INLINE V ordered(V a, V b) {
    return ordered<H>(a, b, Lanes());
  }
  // Compares lanes H apart, then half of that, down to neighbours.
  template <int H>
  static HIDP_INLINE void clean_lanes(V &v) {
    if constexpr (H > 0) {
      v = ordered<H>(v, crossed<H>(v));
      clean_lanes<H / 2>(v);
    }
  }

  template <int From, int Count, int Step>
  static HIDP_INLINE void odd_even_exchanges(V *v) {
    if constexpr (From + Step < Count) {
      exchange(v[From], v[From + Step]);
      odd_even_exchanges<From + 2 * Step, Count, Step>(v);
    }
  }
  // Merges the sorted halves of every Step-th of `Count` vectors.
  template <int Count, int Step>
  static HIDP_INLINE void odd_even_merge(V *v) {
    if constexpr (2 * Step < Count) {
      odd_even_merge<Count, 2 * Step>(v);
      odd_even_merge<Count - Step, 2 * Step, Count>(v + Step);
      odd_even_exchanges<Step, Count, Step>(v);
    } else {
      exchange(v[0], v[Step]);
    }
  }
  template <int, int Step, int Count>
  static HIDP_INLINE void odd_even_merge(V *v) {
    odd_even_merge<Count, Step>(v);
  }
  template <int R>
  static HIDP_INLINE void sort_columns(V *v) {
    if constexpr (R > 1) {
      sort_columns<R / 2>(v);
      sort_columns<R / 2>(v + R / 2);
      odd_even_merge<R, 1>(v);
    }
  }

  // Compares rows Distance apart, then half of that, down to neighbours.
  template <int Distance, size_t... Row>
  static HIDP_INLINE void clean_rows(V *v, std::index_sequence<Row...> rows) {
    if constexpr (Distance > 0) {
      ((Row & Distance ? void() : exchange(v[Row], v[Row ^ Distance])), ...);
      clean_rows<Distance / 2>(v, rows);
    }
  }

  // The first comparisons of merging two groups of G / 2 lanes, for two rows as far from the first and from the last.
  template <int G>
  static HIDP_INLINE void meet(V &a, V &b) {
    const V other = crossed<G - 1>(a);
    a = ordered<G / 2>(a, crossed<G - 1>(b));
    b = ordered<G / 2>(b, other);
    clean_lanes<G / 4>(a);
    clean_lanes<G / 4>(b);
  }
  template <int G, int R, size_t... Row>
  static HIDP_INLINE void merge_lanes(V *v, std::index_sequence<Row...>) {
    if constexpr (R == 1) {
      v[0] = ordered<G / 2>(v[0], crossed<G - 1>(v[0]));
      clean_lanes<G / 4>(v[0]);
    } else {
      (meet<G>(v[Row], v[R - 1 - Row]), ...);
      clean_rows<R / 2>(v, std::make_index_sequence<R>());
    }
    if constexpr (G < kL) merge_lanes<2 * G, R>(v, std::index_sequence<Row...>());
  }

  template <size_t... Lane>
  static HIDP_INLINE V zip_low(V a, V b, std::index_sequence<Lane...>) {
    return shuffled(a, b, std::index_sequence<(Lane / 2 + Lane % 2 * kL)...>());
  }
  template <size_t... Lane>
  static HIDP_INLINE V zip_high(V a, V b, std::index_sequence<Lane...>) {
    return shuffled(a, b, std::index_sequence<(Lane / 2 + kL / 2 + Lane % 2 * kL)...>());
  }
  // Brings lanes into order: the vectors then hold lane 0 of all rows, lane 1 of all rows, …
  template <int R, int Left, size_t... Pair>
  static HIDP_INLINE void transpose(V *v, std::index_sequence<Pair...> pairs) {
    if constexpr (Left > 1) {
      V zipped[R];
      ((zipped[2 * Pair] = zip_low(v[Pair], v[Pair + R / 2], Lanes()),
        zipped[2 * Pair + 1] = zip_high(v[Pair], v[Pair + R / 2], Lanes())),
       ...);
      ((v[2 * Pair] = zipped[2 * Pair], v[2 * Pair + 1] = zipped[2 * Pair + 1]), ...);
      transpose<R, Left / 2>(v, pairs);
    }
  }

  template <size_t... Row>
  static HIDP_INLINE void load(V *v, const U *from, std::index_sequence<Row...>) {
    ((v[Row] = load_vector(from + Row * kL)), ...);
  }
  template <size_t... Row>
  static HIDP_INLINE void store(U *to, const V *v, std::index_sequence<Row...>) {
    (store_vector(to + Row * kL, v[Row]), ...);
  }

  template <int R>
  static HIDP_KERNEL void sort_few(const U *words, U *sorted) {
    using Rows = std::make_index_sequence<R>;
    using Pairs = std::make_index_sequence<R / 2>;
    V v[R];
    load(v, words, Rows());
    sort_columns<R>(v);
    merge_lanes<2, R>(v, Pairs());
    transpose<R, R>(v, Pairs());
    store(sorted, v, Rows());
  }

  static void sort_many(U *words, U *sorted, int64_t rows) {
    using Rows = std::make_index_sequence<kRows>;
    for (int64_t row = 0; row < rows; row += kRows) {
      V v[kRows];
      load(v, words + row * kL, Rows());
      sort_columns<kRows>(v);
      store(words + row * kL, v, Rows());
    }
    for (int64_t width = kRows; width < rows; width *= 2) {
      for (int64_t row = 0; row < rows; row += 2 * width) {
        turn_rows(words + row * kL, width);
        clean_many(words + row * kL, width);
        clean_many(words + (row + width) * kL, width);
      }
    }
    merge_many<2>(words, rows);
    for (int64_t row = 0; row < rows; row += kRows) {
      V v[kRows];
      load(v, words + row * kL, Rows());
      transpose<kRows, kRows>(v, std::make_index_sequence<kRows / 2>());
      constexpr int64_t each = kRows / kL > 0 ? kRows / kL : 1;
      for (int64_t at = 0; at < kRows; ++at) store_vector(sorted + at / each * rows + row + at % each * kL, v[at]);
    }
  }

  static HIDP_INLINE void turn_rows(U *words, int64_t width) {
    for (int64_t row = 0; row < width; ++row) {
      U *const a = words + row * kL, *const b = words + (2 * width - 1 - row) * kL;
      V low = load_vector(a), high = load_vector(b);
      exchange(low, high);
      store_vector(a, low);
      store_vector(b, high);
    }
  }

  // Compares rows `distance` apart while there are.
  static HIDP_INLINE void exchange_rows(U *words, int64_t rows, int64_t distance) {
    for (int64_t group = 0; group < rows; group += 2 * distance) {
      const int64_t past = rows - distance < group + distance ? rows - distance : group + distance;
      for (int64_t row = group; row < past; ++row) {
        U *const a = words + row * kL, *const b = words + (row + distance) * kL;
        V low = load_vector(a), high = load_vector(b);
        exchange(low, high);
        store_vector(a, low);
        store_vector(b, high);
      }
    }
  }

  static HIDP_KERNEL void clean_many(U *words, int64_t rows) {
    using Rows = std::make_index_sequence<kRows>;
    for (int64_t distance = rows / 2; distance >= kRows; distance /= 2) exchange_rows(words, rows, distance);
    for (int64_t row = 0; row < rows; row += kRows) {
      V v[kRows];
      load(v, words + row * kL, Rows());
      clean_rows<kRows / 2>(v, Rows());
      store(words + row * kL, v, Rows());
    }
  }

  template <int G>
  static HIDP_INLINE void merge_many(U *words, int64_t rows) {
    for (int64_t row = 0; row < rows / 2; ++row) {
      U *const at = words + row * kL, *const opposite = words + (rows - 1 - row) * kL;
      V a = load_vector(at), b = load_vector(opposite);
      meet<G>(a, b);
      store_vector(at, a);
      store_vector(opposite, b);
    }
    clean_many(words, rows);
    if constexpr (G < kL) merge_many<2 * G>(words, rows);
  }

  // Sorts a bitonic run of rows in the order of ranks, of which only the first ones are there: the others would be the greatest.
  static void clean(U *sorted, int64_t rows, int64_t whole) {
    for (int64_t distance = whole / 2; distance > 0; distance /= 2)
      if (distance < rows) exchange_rows(sorted, rows, distance);
    for (int64_t row = 0; row < rows; ++row) {
      V v = load_vector(sorted + row * kL);
      clean_lanes<kL / 2>(v);
      store_vector(sorted + row * kL, v);
    }
  }
};

inline int64_t power_of_two_up(int64_t n) { return n <= 1 ? 1 : int64_t{1} << (64 - __builtin_clzll(static_cast<unsigned long long>(n - 1))); }

// Sorts `rows` rows; both buffers have room for a power of two of them, and what is behind them in `words` is all ones.
template <class U>
inline void sort_rows(U *words, U *sorted, int64_t rows) {
  const int64_t up = power_of_two_up(rows);
  if (4 * rows > 3 * up) {
    SortNetwork<U>::sort(words, sorted, up);
    return;
  }
  const int64_t first = up / 2;
  SortNetwork<U>::sort(words, sorted, first);
  sort_rows(words + first * kLanes<U>, sorted + first * kLanes<U>, rows - first);
  SortNetwork<U>::merge(sorted, first, rows);
}

// Keys of `rows` rows to their images, or back.
template <class K>
HIDP_INLINE void images_of_rows(RadixWord<K> *words, int64_t rows, RadixWord<K> flip) {
  using U = RadixWord<K>;
  for (int64_t i = 0; i < rows * kLanes<U>; ++i) {
    K key;
    __builtin_memcpy(&key, words + i, sizeof key);
    words[i] = radix_word(key, flip);
  }
}
template <class K>
HIDP_INLINE void keys_of_rows(RadixWord<K> *words, int64_t rows, RadixWord<K> flip) {
  using U = RadixWord<K>;
  for (int64_t i = 0; i < rows * kLanes<U>; ++i) {
    const K key = radix_key<K>(words[i], flip);
    __builtin_memcpy(words + i, &key, sizeof key);
  }
}

// 0 < n <= network_most.
template <class K>
inline void network_sort(const K *in, K *out, int64_t n, RadixWord<K> flip) {
  using U = RadixWord<K>;
  constexpr int64_t most = network_most<U>();
  static_assert(most > 0, "network_sort is for keys that have networks");
  alignas(64) U words[most], sorted[most];
  const int64_t rows = (n + kLanes<U> - 1) / kLanes<U>, room = power_of_two_up(rows) * kLanes<U>;
  store_vector(words + (rows - 1) * kLanes<U>, Vector<U>{});
  __builtin_memcpy(words, in, static_cast<size_t>(n) * sizeof(U));
  images_of_rows<K>(words, rows, flip);
  __builtin_memset(words + n, 0xff, static_cast<size_t>(room - n) * sizeof(U));
  sort_rows(words, sorted, rows);
  keys_of_rows<K>(sorted, rows, flip);
  __builtin_memcpy(out, sorted, static_cast<size_t>(n) * sizeof(U));
}

HIDP_NAMESPACE_END
