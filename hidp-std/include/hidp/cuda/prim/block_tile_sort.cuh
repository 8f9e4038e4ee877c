// block_tile_sort: a block sorts tiles of a segment by radix in shared memory, each on its own, stably.
//
// Called by: all threads of the block, with the same arguments. Run by: these. Result: in `to`, visible to the block after its
// next barrier. Shared memory: a key image and a 16-bit number for each element of a tile, and 16 counters a warp: up to 22 KiB,
// the same for keys of all types that one kernel sorts.
//
// Least significant digit first, over the bits that differ in the tile. Lanes of a warp with the same digit find one another by
// votes, so a digit's elements keep their order and counters are touched once a warp (Merrill and Grimshaw, High Performance and
// Scalable Radix Sorting, 2011). Only key images and numbers move; keys and values do once, at the end.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/group_partition.cuh>
#include <hidp/cuda/prim/group_sort.cuh>

HIDP_NAMESPACE_BEGIN

constexpr int kTileDigitBits = 4;
constexpr int kTileDigits = 1 << kTileDigitBits;

template <class W>
struct SortTile {
  static constexpr int threads = kWidth<Block, W>;
  static constexpr int warps = threads / 32;
  static constexpr int rows = threads >= 1024 ? 2 : threads >= 512 ? 4 : 8;
  static constexpr int size = threads * rows;
};

template <class W>
HIDP_DEVICE auto shared_halves() {
  HIDP_SHARED(uint32_t, halves, 2 * SortTile<W>::size);
  return halves + 0;
}
template <class W>
HIDP_DEVICE auto shared_order() {
  HIDP_SHARED(uint16_t, order, SortTile<W>::size);
  return order + 0;
}
template <class W>
HIDP_DEVICE auto shared_counters() {
  HIDP_SHARED(int, counters, kTileDigits * SortTile<W>::warps);
  return counters + 0;
}

// Key images in shared memory, in halves: one of 8 bytes is in two arrays.
template <class Word, class W>
struct TileWords {
  decltype(shared_halves<W>()) halves = shared_halves<W>();

  HIDP_DEVICE Word get(int at) const {
    const uint32_t low = load(halves + at);
    if constexpr (sizeof(Word) == 8) return uint64_t{load(halves + (SortTile<W>::size + at))} << 32 | low;
    else return static_cast<Word>(low);
  }
  HIDP_DEVICE void put(int at, Word word) const {
    store(halves + at, static_cast<uint32_t>(word));
    if constexpr (sizeof(Word) == 8) store(halves + (SortTile<W>::size + at), static_cast<uint32_t>(word >> 32));
  }
};

// The exclusive prefix sum over the block's threads.
template <class W>
HIDP_DEVICE int sum_before(W &worker, int value) {
  const int inclusive = prefix_of_row<Warp>(worker, Add<int>(worker.trap), value, 32);
  int all;
  return counts_before(worker, shuffle_from<Warp>(worker, inclusive, 31), &all) + inclusive - value;
}

// Sorts the words and the numbers beside them by one digit.
template <class Word, class W>
HIDP_DEVICE void sort_by_digit(W &worker, const TileWords<Word, W> &words, int shift) {
  const auto order = shared_order<W>();
  const auto counters = shared_counters<W>();
  using Size = SortTile<W>;
  const int own = static_cast<int>(lane<Warp>(worker)), warp = static_cast<int>(rank<Block, Warp>(worker));
  const int thread = static_cast<int>(lane<Block>(worker));
  for (int at = thread; at < kTileDigits * Size::warps; at += Size::threads) store(counters + at, 0);
  sync<Block>(worker);
  Word word[Size::rows];
  uint16_t number[Size::rows];
  int place[Size::rows];
  HIDP_UNROLL_ALL
  for (int j = 0; j < Size::rows; ++j) {
    const int at = (warp * Size::rows + j) * 32 + own;
    word[j] = words.get(at);
    number[j] = load(order + at);
    const int digit = static_cast<int>(word[j] >> shift) & (kTileDigits - 1);
    uint32_t peers = ~uint32_t{0};
    for (int bit = 0; bit < kTileDigitBits; ++bit) {
      const bool set = (digit >> bit & 1) != 0;
      const uint32_t with = lanes_where<Warp>(worker, set);
      peers &= set ? with : ~with;
    }
    const int before = load(counters + (digit * Size::warps + warp));
    place[j] = before + count_bits(peers & bits_below(own));
    sync<Warp>(worker);
    if ((peers & bits_below(own)) == 0) store(counters + (digit * Size::warps + warp), before + count_bits(peers));
    sync<Warp>(worker);
  }
  sync<Block>(worker);
  const bool counts = thread < kTileDigits * Size::warps;
  const int start = sum_before(worker, counts ? static_cast<int>(load(counters + (counts ? thread : 0))) : 0);
  if (counts) store(counters + thread, start);
  sync<Block>(worker);
  HIDP_UNROLL_ALL
  for (int j = 0; j < Size::rows; ++j) {
    const int digit = static_cast<int>(word[j] >> shift) & (kTileDigits - 1);
    const int to = load(counters + (digit * Size::warps + warp)) + place[j];
    words.put(to, word[j]);
    store(order + to, number[j]);
  }
  sync<Block>(worker);
}

template <class W, class From, class To>
HIDP_DEVICE void block_tile_sort(W &worker, const From &from, const To &to, int64_t n, RadixWord<typename From::Key> flip) {
  using Word = RadixWord<typename From::Key>;
  using Size = SortTile<W>;
  const TileWords<Word, W> words;
  const auto order = shared_order<W>();
  const int thread = static_cast<int>(lane<Block>(worker));
  for (int64_t base = 0; base < n; base += Size::size) {
    const int length = n - base < Size::size ? static_cast<int>(n - base) : Size::size;
    const Word first = radix_word(from.key(base), flip);
    uint64_t differs = 0;
    sync<Block>(worker);
    for (int at = thread; at < Size::size; at += Size::threads) {
      // What is not there goes last, behind equal words.
      Word word = static_cast<Word>(~Word{0});
      if (at < length) {
        word = radix_word(from.key(base + at), flip);
        differs |= static_cast<Word>(word ^ first);
      }
      words.put(at, word);
      store(order + at, static_cast<uint16_t>(at));
    }
    differs = reduce_over<Block, Thread, Or<uint64_t>>(worker, differs);
    for (int shift = 0; shift < 8 * static_cast<int>(sizeof(Word)); shift += kTileDigitBits)
      if ((differs >> shift & (kTileDigits - 1)) != 0) sort_by_digit(worker, words, shift);
    typename From::Element element[Size::rows];
    HIDP_UNROLL_ALL
    for (int j = 0; j < Size::rows; ++j) {
      const int at = j * Size::threads + thread;
      element[j] = from.element(base + (at < length ? static_cast<int>(load(order + at)) : 0));
    }
    sync<Block>(worker);
    HIDP_UNROLL_ALL
    for (int j = 0; j < Size::rows; ++j) {
      const int at = j * Size::threads + thread;
      if (at < length) to.put(base + at, element[j]);
    }
  }
}

template <class W, class Places>
struct SortedTiles {
  W &worker;
  int64_t n;
  RadixWord<typename Places::Key> flip;
  template <class From>
  HIDP_DEVICE void operator()(const From &from, const Places &to) const {
    block_tile_sort(worker, from, to, n, flip);
  }
};

// Sorts `in`, which may be `data`, into `data`.
template <class W, class From, class Places>
HIDP_DEVICE void block_sort_places(W &worker, const From &in, const Places &data, const Places &scratch, int64_t n, bool descending) {
  const auto flip = flip_of<typename Places::Key>(descending);
  merge_sort<Block>(worker, in, data, scratch, n, int64_t{SortTile<W>::size}, flip, SortedTiles<W, Places>{worker, n, flip});
}

HIDP_NAMESPACE_END
