// The whole device sorts one segment by merging: blocks sort tiles by radix, then every thread of the grid writes parts of the
// merges of neighbouring runs (see group_sort.cuh), pass after pass. For the executor, which cannot run CUB, and where a program
// should not have to wait for CUB to compile.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/block_tile_sort.cuh>
#include <hidp/cuda/prim/items.cuh>

HIDP_NAMESPACE_BEGIN

template <class From, class To>
struct SortOneTile {
  using Key = typename From::Key;
  From from;
  To to;
  int64_t n, each;
  bool descending;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t tile) const {
    const int64_t begin = tile * each;
    block_tile_sort(worker, from.at(begin), to.at(begin), n - begin < each ? n - begin : each, flip_of<Key>(descending));
    sync<Block>(worker);
  }
};

template <class Places>
struct MergeOnePart {
  Places from, to;
  int64_t n, width;
  bool descending;
  static constexpr int64_t kPart = 8;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t part) const {
    const int64_t both = width <= n - width ? 2 * width : n;
    const int64_t at = part * kPart, low = start_of_pair(at, both);
    const int64_t length = n - low < both ? n - low : both;
    const int64_t length_a = length < width ? length : width;
    const int64_t begin = at - low, end = length - begin < kPart ? length : begin + kPart;
    merge_part(from, to, low, length_a, length - length_a, begin, end, flip_of<typename Places::Key>(descending));
  }
};

// `out` and `scratch` change roles with every pass.
template <class From, class Places>
inline bool merge_on_device(Host &host, const From &in, Places out, Places scratch, int64_t n, bool descending) {
  constexpr int64_t tile = SortTile<Worker<kBlockThreads>>::size;
  bool into_scratch = false;
  for (int64_t width = tile; width < n; width = width <= n - width ? 2 * width : n) into_scratch = !into_scratch;
  const SortOneTile<From, Places> sort{in, into_scratch ? scratch : out, n, tile, descending};
  bool done = for_items<Block>(host, ceil_div(n, tile), false, sort);
  for (int64_t width = tile; done && width < n; width = width <= n - width ? 2 * width : n) {
    const MergeOnePart<Places> merge{into_scratch ? scratch : out, into_scratch ? out : scratch, n, width, descending};
    done = for_items<Thread>(host, ceil_div(n, MergeOnePart<Places>::kPart), false, merge);
    into_scratch = !into_scratch;
  }
  return done;
}

template <class Src, class Dst>
inline bool merge_sort_on_device(Host &host, uint32_t memory, Src in, Dst out, int64_t n, bool descending) {
  using K = ElementOf<Dst>;
  const Any<K> scratch = host.alloc<K>(n, false, memory);
  if (host.failed()) return false;
  const SortPlaces<Src, NoValue> from{in};
  const SortPlaces<Any<K>, NoValue> to{out}, other{scratch};
  const bool done = merge_on_device(host, from, to, other, n, descending);
  host.free(scratch);
  return done;
}

template <class Src, class Dst, class ValSrc, class ValDst>
inline bool merge_sort_on_device(Host &host, uint32_t memory, Src in_key, Dst out_key, ValSrc in_val, ValDst out_val, int64_t n, bool descending) {
  using K = ElementOf<Dst>;
  using V = ElementOf<ValDst>;
  const Any<K> scratch = host.alloc<K>(n, false, memory);
  const Any<V> scratch_val = host.alloc<V>(n, false, memory);
  if (host.failed()) return false;
  const SortPlaces<Src, ValSrc> from{in_key, in_val};
  const SortPlaces<Any<K>, Any<V>> to{out_key, out_val}, other{scratch, scratch_val};
  const bool done = merge_on_device(host, from, to, other, n, descending);
  host.free(scratch_val);
  host.free(scratch);
  return done;
}

HIDP_NAMESPACE_END
