// worker_*: what generated kernels call for primitives over one segment of one worker.
//
// Called by: a worker. Run by: that worker alone. Scratch: given by the caller, except for worker_sort_apart.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/access.hpp>
#include <hidp/prim/thread_partition.hpp>
#include <hidp/prim/thread_reverse.hpp>
#include <hidp/prim/thread_sort.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

// In place: `data` is a private copy, so that iterations which write one segment, a fault found later, cannot disturb each other.
template <class K>
inline void worker_sort(Worker &, K *data, K *scratch, int64_t n, bool descending) {
  thread_sort(static_cast<const K *>(data), data, n, descending, scratch);
}

template <class K, class V>
inline void worker_sort(Worker &, K *data, K *scratch, V *values, V *scratch_values, int64_t n, bool descending) {
  thread_sort(static_cast<const K *>(data), data, static_cast<const V *>(values), values, n, descending, scratch, scratch_values);
}

// Between arrays that have no element in common. Few keys need no scratch; more take it from the worker. False after a fault, no memory (`memory`).
template <class K>
inline bool worker_sort_apart(Worker &worker, uint32_t memory, const K *in, K *out, int64_t n, bool descending) {
  if (n <= kAtOnce<K, NoValue>) {
    thread_sort(in, out, n, descending, out);
    return true;
  }
  const ScratchBlock block(worker);
  K *const keys = scratch<K>(worker, n, false, memory);
  if (HIDP_UNLIKELY(keys == nullptr)) return false;
  thread_sort(in, out, n, descending, keys);
  return true;
}

template <class T>
inline void worker_reverse_inplace(Worker &, T *data, int64_t n) {
  thread_reverse_inplace(data, n);
}

template <class T>
inline void worker_reverse(Worker &, const T *in, T *out, int64_t n) {
  thread_reverse(in, out, n);
}

template <class F, class T, class P>
inline void worker_partition(Worker &worker, const T *in, T *out, P pivot, int64_t n, int64_t *count) {
  *count = thread_partition(F(worker.trap), in, out, pivot, n);
}

template <class F, class T, class V, class P>
inline void worker_partition(Worker &worker, const T *in, T *out, const V *in_val, V *out_val, P pivot, int64_t n, int64_t *count) {
  *count = thread_partition(F(worker.trap), in, out, in_val, out_val, pivot, n);
}

// worker_shared_*: other iterations may touch the same elements: that is a fault, but found only after the map.
template <class T>
inline void worker_shared_reverse_inplace(Worker &, T *data, int64_t n) {
  for (int64_t a = 0, b = n - 1; a < b; ++a, --b) {
    const T first = load_shared(data + a);
    store_shared(data + a, load_shared(data + b));
    store_shared(data + b, first);
  }
}

template <class T>
inline void worker_shared_reverse(Worker &, const T *in, T *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store_shared(out + i, load_shared(in + n - 1 - i));
}

template <class F, class T, class P>
inline void worker_shared_partition(Worker &worker, const T *in, T *out, P pivot, int64_t n, int64_t *count) {
  const F holds(worker.trap);
  int64_t front = 0, back = n;
  for (int64_t i = 0; i < n; ++i) {
    const T value = load_shared(in + i);
    const bool first = holds(value, pivot);
    store_shared(out + (first ? front : back - 1), value);
    front += first;
    back -= !first;
  }
  worker_shared_reverse_inplace(worker, out + front, n - front);
  *count = front;
}

template <class F, class T, class V, class P>
inline void worker_shared_partition(Worker &worker, const T *in, T *out, const V *in_val, V *out_val, P pivot, int64_t n, int64_t *count) {
  const F holds(worker.trap);
  int64_t front = 0, back = n;
  for (int64_t i = 0; i < n; ++i) {
    const T value = load_shared(in + i);
    const bool first = holds(value, pivot);
    const int64_t at = first ? front : back - 1;
    store_shared(out + at, value);
    store_shared(out_val + at, load_shared(in_val + i));
    front += first;
    back -= !first;
  }
  worker_shared_reverse_inplace(worker, out + front, n - front);
  worker_shared_reverse_inplace(worker, out_val + front, n - front);
  *count = front;
}

HIDP_NAMESPACE_END
