// subwarp_sort: 8 lanes of a warp sorts one segment, stably.
//
// Called by: all lanes of a sub-warp, with the same arguments. Run by: these. Result: in data (and values), visible to all of
// them on return. Scratch: n keys and n values, given by the caller; nobody else touches data and scratch meanwhile. Shared
// memory: none.
//
// Runs of 32 by rank, then merges: good up to some hundreds of elements.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/group_sort.cuh>

HIDP_NAMESPACE_BEGIN

template <class K, class W>
HIDP_DEVICE void subwarp_sort(W &worker, K data, K scratch, int64_t n, bool descending) {
  using Places = SortPlaces<K, NoValue>;
  const Places own{data}, other{scratch};
  group_sort<Subwarp>(worker, own, own, other, n, descending);
}

template <class K, class V, class W>
HIDP_DEVICE void subwarp_sort(W &worker, K data, K scratch, V values, V scratch_values, int64_t n, bool descending) {
  using Places = SortPlaces<K, V>;
  const Places own{data, values}, other{scratch, scratch_values};
  group_sort<Subwarp>(worker, own, own, other, n, descending);
}

HIDP_NAMESPACE_END
