// group_sort: a group sorts one segment, stably. What thread_sort to warp_sort share, and the merges of block_sort.
//
// Called by: all lanes of the group, with the same arguments. Run by: these. Result: in data (and values), visible to the group
// on return. Scratch: n keys and n values, given by the caller, that nobody else touches meanwhile; likewise data. Shared
// memory: none up to a warp.
//
// Runs of up to 32 rows are sorted in registers (sort_network.cuh), in as few rows as they need. Then runs merge, pairs of them at a time, through the scratch memory: every lane finds by bisection where the part
// of the output that it writes starts in both runs (Green, McColl and Bader, GPU Merge Path, ICS 2012).
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/cuda/prim/rows.cuh>
#include <hidp/cuda/prim/sort_network.cuh>
#include <hidp/prim/radix_key.hpp>

HIDP_NAMESPACE_BEGIN

// Keys with or without values, moved together. K and V are places.
template <class Key, class Val>
struct SortPair {
  Key key;
  Val val;
};
template <class Key>
struct SortPair<Key, NoValue> {
  Key key;
};

template <class K, class V>
struct SortPlaces {
  using Key = ElementOf<K>;
  using Element = SortPair<Key, ElementOf<V>>;
  K keys;
  V vals;

  HIDP_DEVICE Key key(int64_t i) const { return load(keys + i); }
  HIDP_DEVICE Element element(int64_t i) const { return Element{load(keys + i), load(vals + i)}; }
  // The element of number `i`, whose key is known.
  HIDP_DEVICE Element element_of(const Key &key, int64_t i) const { return Element{key, load(vals + i)}; }
  HIDP_DEVICE void put(int64_t i, const Element &element) const {
    store(keys + i, element.key);
    store(vals + i, element.val);
  }
  HIDP_DEVICE SortPlaces at(int64_t offset) const { return SortPlaces{keys + offset, vals + offset}; }
};
template <class K>
struct SortPlaces<K, NoValue> {
  using Key = ElementOf<K>;
  using Element = SortPair<Key, NoValue>;
  K keys;

  HIDP_DEVICE Key key(int64_t i) const { return load(keys + i); }
  HIDP_DEVICE Element element(int64_t i) const { return Element{load(keys + i)}; }
  HIDP_DEVICE Element element_of(const Key &key, int64_t) const { return Element{key}; }
  HIDP_DEVICE void put(int64_t i, const Element &element) const { store(keys + i, element.key); }
  HIDP_DEVICE SortPlaces at(int64_t offset) const { return SortPlaces{keys + offset}; }
};

template <class Key>
HIDP_DEVICE RadixWord<Key> flip_of(bool descending) {
  return descending ? static_cast<RadixWord<Key>>(~RadixWord<Key>{0}) : RadixWord<Key>{0};
}

// What stands for an element in registers: the image of its key and, where it has a value, its number.
template <class Places>
struct ImageOf;
template <class K>
struct ImageOf<SortPlaces<K, NoValue>> {
  using Key = ElementOf<K>;
  using Word = RadixWord<Key>;
  using Type = std::conditional_t<sizeof(Word) == 8, uint64_t, uint32_t>;
  static HIDP_DEVICE Type of(Word word, uint32_t) { return word; }
  // Goes behind all others.
  static HIDP_DEVICE Type none(uint32_t) { return static_cast<Type>(~Type{0}); }
  static HIDP_DEVICE Word word(Type image) { return static_cast<Word>(image); }
  static HIDP_DEVICE uint32_t number(Type) { return 0; }
};
template <class K, class V>
struct ImageOf<SortPlaces<K, V>> {
  using Key = ElementOf<K>;
  using Word = RadixWord<Key>;
  using Type = std::conditional_t<sizeof(Word) == 8, NumberedWord, uint64_t>;
  static HIDP_DEVICE Type of(Word word, uint32_t number) {
    if constexpr (sizeof(Word) == 8) return NumberedWord{word, number};
    else return uint64_t{word} << 32 | number;
  }
  static HIDP_DEVICE Type none(uint32_t number) { return of(static_cast<Word>(~Word{0}), number); }
  static HIDP_DEVICE Word word(const Type &image) {
    if constexpr (sizeof(Word) == 8) return image.word;
    else return static_cast<Word>(image >> 32);
  }
  static HIDP_DEVICE uint32_t number(const Type &image) {
    if constexpr (sizeof(Word) == 8) return image.number;
    else return static_cast<uint32_t>(image);
  }
};

// Sorts `length` elements, no more than the group's rows hold, from `from` to `to`, which may be equal.
template <class Group, int Rows, class W, class From, class To>
HIDP_DEVICE void sort_run(W &worker, const From &from, const To &to, int length, RadixWord<typename From::Key> flip) {
  using Image = ImageOf<From>;
  constexpr int width = kWidth<Group, W>;
  const int own = static_cast<int>(lane<Group>(worker));
  typename Image::Type image[Rows];
  HIDP_UNROLL_ALL
  for (int row = 0; row < Rows; ++row) {
    const int at = row * width + own;
    const uint32_t number = static_cast<uint32_t>(at);
    image[row] = at < length ? Image::of(radix_word(from.key(at), flip), number) : Image::none(number);
  }
  sort_network<Group>(worker, image);
  turn_rows<Group>(worker, image);
  typename From::Element element[Rows];
  HIDP_UNROLL_ALL
  for (int row = 0; row < Rows; ++row) {
    const bool is_there = turned_place<Group, Rows>(worker, row) < length;
    const auto key = radix_key<typename From::Key>(Image::word(image[row]), flip);
    element[row] = from.element_of(key, is_there ? Image::number(image[row]) : 0);
  }
  // Everything has been read before anything is written.
  sync<Group>(worker);
  HIDP_UNROLL_ALL
  for (int row = 0; row < Rows; ++row) {
    const int place = turned_place<Group, Rows>(worker, row);
    if (place < length) to.put(place, element[row]);
  }
}

// The same in as few rows as that takes.
template <class Group, int Rows, class W, class From, class To>
HIDP_DEVICE void sort_short_run(W &worker, const From &from, const To &to, int length, RadixWord<typename From::Key> flip) {
  if constexpr (Rows > 2) {
    if (length <= kWidth<Group, W> * (Rows / 2)) return sort_short_run<Group, Rows / 2>(worker, from, to, length, flip);
  }
  sort_run<Group, Rows>(worker, from, to, length, flip);
}

// Sorts runs of the group's rows, each on its own, from `from` to `to`, which may be equal.
template <class Group, int Rows, class W, class From, class To>
HIDP_DEVICE void sort_runs(W &worker, const From &from, const To &to, int64_t n, RadixWord<typename From::Key> flip) {
  constexpr int size = kWidth<Group, W> * Rows;
#pragma unroll 1
  for (int64_t base = 0; base < n; base += size) {
    const int length = n - base < size ? static_cast<int>(n - base) : size;
    sort_short_run<Group, Rows>(worker, from.at(base), to.at(base), length, flip);
  }
}

// How many of the first `count` outputs of a merge come from the first of two runs, which start at a and b.
template <class Places>
HIDP_DEVICE int64_t merge_path(const Places &from, int64_t a, int64_t length_a, int64_t b, int64_t length_b, int64_t count,
                               RadixWord<typename Places::Key> flip) {
  int64_t least = count > length_b ? count - length_b : 0, most = count < length_a ? count : length_a;
  while (least < most) {
    const int64_t middle = least + (most - least) / 2;
    const bool first = radix_word(from.key(a + middle), flip) <= radix_word(from.key(b + (count - 1 - middle)), flip);
    if (first) least = middle + 1;
    else most = middle;
  }
  return least;
}

// Writes outputs [begin, end) of the merge of [low, low + length_a) and the length_b elements behind them.
template <class Places>
HIDP_DEVICE void merge_part(const Places &from, const Places &to, int64_t low, int64_t length_a, int64_t length_b, int64_t begin,
                            int64_t end, RadixWord<typename Places::Key> flip) {
  int64_t a = merge_path(from, low, length_a, low + length_a, length_b, begin, flip);
  int64_t b = low + length_a + (begin - a);
  a += low;
  for (int64_t i = begin; i < end; ++i) {
    bool second = a >= low + length_a;
    if (!second && b < low + length_a + length_b) second = radix_word(from.key(b), flip) < radix_word(from.key(a), flip);
    to.put(low + i, from.element(second ? b : a));
    a += !second;
    b += second;
  }
}

// Outputs that a lane writes in one go; one lane alone writes all.
template <class Group, class W>
inline constexpr int64_t kMergePart = kWidth<Group, W> == 1 ? INT64_MAX : 8;

// The multiple of `size` at or before `at`. Runs are powers of two, unless a block's threads are not: then it takes a division, which
// costs as much as merging several elements.
HIDP_DEVICE int64_t start_of_pair(int64_t at, int64_t size) {
  if (at < size) return 0;
  return (size & (size - 1)) == 0 ? at & -size : at / size * size;
}

// Merges all pairs of neighbouring runs of `width` elements.
template <class Group, class W, class Places>
HIDP_DEVICE void merge_pass(W &worker, const Places &from, const Places &to, int64_t n, int64_t width, RadixWord<typename Places::Key> flip) {
  const int64_t both = width <= n - width ? 2 * width : n;
  const int64_t part = kMergePart<Group, W> < both ? kMergePart<Group, W> : both;
  const int64_t own = lane<Group>(worker), lanes = kWidth<Group, W>;
  // `both` is a multiple of `part`, unless it is all there is.
  for (int64_t at = own * part; at < n; at += lanes * part) {
    const int64_t low = start_of_pair(at, both);
    const int64_t length = n - low < both ? n - low : both;
    const int64_t length_a = length < width ? length : width;
    const int64_t begin = at - low, end = length - begin < part ? length : begin + part;
    merge_part(from, to, low, length_a, length - length_a, begin, end, flip);
  }
  sync<Group>(worker);
}

// Sorts `in`, which may be `data`, into `data`. Runs that are sorted at once grow until one is left; runs(from, to) sorts each.
template <class Group, class W, class From, class Places, class Runs>
HIDP_DEVICE void merge_sort(W &worker, const From &in, const Places &data, const Places &scratch, int64_t n, int64_t run,
                            RadixWord<typename Places::Key> flip, const Runs &runs) {
  bool into_scratch = false;
  for (int64_t width = run; width < n; width = width <= n - width ? 2 * width : n) into_scratch = !into_scratch;
  runs(in, into_scratch ? scratch : data);
  sync<Group>(worker);
  for (int64_t width = run; width < n; width = width <= n - width ? 2 * width : n) {
    if (into_scratch) merge_pass<Group>(worker, scratch, data, n, width, flip);
    else merge_pass<Group>(worker, data, scratch, n, width, flip);
    into_scratch = !into_scratch;
  }
}

// Rows of a run of that many lanes. Images and elements stay in registers.
template <int Lanes, class Places>
constexpr int rows_of_run() {
  constexpr int image = static_cast<int>(sizeof(typename ImageOf<Places>::Type)), element = static_cast<int>(sizeof(typename Places::Element));
  constexpr int bytes = image > element ? image : element;
  int rows = Lanes == 32 ? 32 : 8;
  while (rows > 2 && rows * bytes > 256) rows /= 2;
  return rows;
}
template <int Lanes, class Places>
inline constexpr int kRunRowsOf = rows_of_run<Lanes, Places>();
template <class Group, class W, class Places>
inline constexpr int kRunRows = kRunRowsOf<kWidth<Group, W>, Places>;
// The most elements that a thread, a sub-warp and a warp sort without touching scratch memory.
template <class Places>
inline constexpr int64_t kThreadRun = kRunRowsOf<1, Places>;
template <class Places>
inline constexpr int64_t kSubwarpRun = 8 * kRunRowsOf<8, Places>;
template <class Places>
inline constexpr int64_t kWarpRun = 32 * kRunRowsOf<32, Places>;

template <class Group, class W, class Places>
struct RunsInRegisters {
  W &worker;
  int64_t n;
  RadixWord<typename Places::Key> flip;
  template <class From>
  HIDP_DEVICE void operator()(const From &from, const Places &to) const {
    sort_runs<Group, kRunRows<Group, W, Places>>(worker, from, to, n, flip);
  }
};

// Groups up to a warp.
template <class Group, class W, class From, class Places>
HIDP_DEVICE void group_sort(W &worker, const From &in, const Places &data, const Places &scratch, int64_t n, bool descending) {
  constexpr int64_t run = kWidth<Group, W> * kRunRows<Group, W, Places>;
  const auto flip = flip_of<typename Places::Key>(descending);
  merge_sort<Group>(worker, in, data, scratch, n, run, flip, RunsInRegisters<Group, W, Places>{worker, n, flip});
}

HIDP_NAMESPACE_END
