// worker_sort_shared: one worker sorts the keys of a segment that other iterations may touch, by way of a private copy.
//
// Called by: generated kernels. Run by: that worker alone. Result: valid when true is returned; false after a fault, no memory (`memory`).
// Scratch: few keys on the stack, more from the worker. in and out may overlap.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/prim/shared_copy.hpp>
#include <hidp/prim/thread_sort.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

// So many are copied to the stack, and sorted there without scratch: taking storage costs half as much as sorting 16 keys.
template <class K>
constexpr int64_t kOnStack = kAtOnce<K, NoValue> * sizeof(K) < 1024 ? kAtOnce<K, NoValue> : 1024 / sizeof(K);

template <class K>
inline bool worker_sort_shared(Worker &worker, uint32_t memory, const K *in, K *out, int64_t n, bool descending) {
  if (n <= kOnStack<K>) {
    alignas(64) K keys[kOnStack<K>];
    worker_from_shared(worker, in, keys, n);
    thread_sort(static_cast<const K *>(keys), keys, n, descending, keys);
    worker_to_shared(worker, keys, out, n);
    return true;
  }
  const ScratchBlock block(worker);
  K *const keys = scratch<K>(worker, n, false, memory);
  K *const others = n > kAtOnce<K, NoValue> ? scratch<K>(worker, n, false, memory) : keys;
  if (HIDP_UNLIKELY(keys == nullptr || others == nullptr)) return false;
  worker_from_shared(worker, in, keys, n);
  thread_sort(static_cast<const K *>(keys), keys, n, descending, others);
  worker_to_shared(worker, keys, out, n);
  return true;
}

HIDP_NAMESPACE_END
