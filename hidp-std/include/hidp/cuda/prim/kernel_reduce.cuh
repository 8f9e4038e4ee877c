// kernel_reduce: the whole device folds one segment.
//
// Called by: the host function. Run by: all blocks, each folding parts of the segment, then one, folding what these left.
// Result: in *result, on the host, when it returns true; false after an allocation fault at `memory`, a fault of the operator
// or an error of the device. It waits for the device. Scratch: one element a part, from the device's pool.
// The segment must not be empty. The tree depends on the length alone, not on the device.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/block_reduce.cuh>
#include <hidp/cuda/prim/items.cuh>

HIDP_NAMESPACE_BEGIN

constexpr int64_t kFoldGrain = 8192;
constexpr int64_t kFoldParts = 8192;

// Folds each part, by one block.
template <class T, class Op, class Src>
struct FoldPart {
  Src in;
  Any<T> folds;
  Parts parts;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    T fold;
    block_reduce<T, Op>(worker, in + parts.begin(part), parts.length(part), &fold);
    if (!worker.trap.raised && is_first<Block>(worker)) store(folds + part, fold);
  }
};

// The fold of a segment that is not empty, left on the device.
template <class T, class Op, class Src>
inline bool fold_on_device(Host &host, uint32_t memory, Src in, int64_t n, Any<T> result) {
  constexpr bool can_fault = !IsBuiltin<Op>::value;
  const Parts parts = Parts::of(n, kFoldGrain, kFoldParts);
  if (parts.count == 1) return for_items<Block>(host, 1, can_fault, FoldPart<T, Op, Src>{in, result, parts});
  const Any<T> folds = host.alloc<T>(parts.count, false, memory);
  if (host.failed() || !for_items<Block>(host, parts.count, can_fault, FoldPart<T, Op, Src>{in, folds, parts})) return false;
  const Parts all{parts.count, parts.count, 1};
  const bool done = for_items<Block>(host, 1, can_fault, FoldPart<T, Op, Any<T>>{folds, result, all});
  host.free(folds);
  return done;
}

template <class T, class Op, class Src>
inline bool kernel_reduce(Host &host, uint32_t memory, Src in, int64_t n, T *result) {
  if (n <= 0) return !host.failed();
  const Any<T> fold = host.alloc<T>(1, true, memory);
  if (host.failed() || !fold_on_device<T, Op>(host, memory, in, n, fold)) return false;
  *result = host.fetch(fold);
  host.free(fold);
  return !host.failed();
}

HIDP_NAMESPACE_END
