// block_sort: a block sorts one segment, stably.
//
// Called by: all threads of a block, with the same arguments. Run by: these. Result: in data (and values), visible to all of
// them on return. Scratch: n keys and n values, given by the caller; nobody else touches data and scratch meanwhile. Shared
// memory: a key image and a 16-bit number for each element of a tile and 16 counters a warp, 22 KiB at most.
//
// Tiles of 2048 by radix in shared memory, then merges: good up to some hundred thousands of elements.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/block_tile_sort.cuh>

HIDP_NAMESPACE_BEGIN

template <class K, class W>
HIDP_DEVICE void block_sort(W &worker, K data, K scratch, int64_t n, bool descending) {
  using Places = SortPlaces<K, NoValue>;
  const Places own{data}, other{scratch};
  block_sort_places(worker, own, own, other, n, descending);
}

template <class K, class V, class W>
HIDP_DEVICE void block_sort(W &worker, K data, K scratch, V values, V scratch_values, int64_t n, bool descending) {
  using Places = SortPlaces<K, V>;
  const Places own{data, values}, other{scratch, scratch_values};
  block_sort_places(worker, own, own, other, n, descending);
}

HIDP_NAMESPACE_END
