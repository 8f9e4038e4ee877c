// thread_sort: one thread sorts one segment, stably.
//
// Called by: a thread. Run by: that thread alone. Result: in data (and values), valid on return. Scratch: n keys and n values,
// given by the caller; nobody else touches data and scratch meanwhile. Shared memory: none.
//
// Runs of 8 by rank, then merges: good up to some dozens of elements.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/group_sort.cuh>

HIDP_NAMESPACE_BEGIN

template <class K, class W>
HIDP_DEVICE void thread_sort(W &worker, K data, K scratch, int64_t n, bool descending) {
  using Places = SortPlaces<K, NoValue>;
  const Places own{data}, other{scratch};
  group_sort<Thread>(worker, own, own, other, n, descending);
}

template <class K, class V, class W>
HIDP_DEVICE void thread_sort(W &worker, K data, K scratch, V values, V scratch_values, int64_t n, bool descending) {
  using Places = SortPlaces<K, V>;
  const Places own{data, values}, other{scratch, scratch_values};
  group_sort<Thread>(worker, own, own, other, n, descending);
}

HIDP_NAMESPACE_END
