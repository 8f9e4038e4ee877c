// worker_*: what generated kernels call for primitives over one segment of one worker.
//
// Called by: a worker. Run by: that worker alone. Scratch: given by the caller.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
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

template <class F, class T, class P>
inline void worker_partition(Worker &worker, const T *in, T *out, P pivot, int64_t n, int64_t *count) {
  *count = thread_partition(F(worker.trap), in, out, pivot, n);
}

template <class F, class T, class V, class P>
inline void worker_partition(Worker &worker, const T *in, T *out, const V *in_val, V *out_val, P pivot, int64_t n, int64_t *count) {
  *count = thread_partition(F(worker.trap), in, out, in_val, out_val, pivot, n);
}

template <class T>
inline void worker_reverse(Worker &, const T *in, T *out, int64_t n) {
  thread_reverse(in, out, n);
}

template <class T>
inline void worker_reverse_inplace(Worker &, T *data, int64_t n) {
  thread_reverse_inplace(data, n);
}

HIDP_NAMESPACE_END
