// A scan by the whole device in two looks: parts are folded, their folds scanned, then the parts. See kernel_scan.cuh.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/block_scan.cuh>
#include <hidp/cuda/prim/kernel_reduce.cuh>

HIDP_NAMESPACE_BEGIN

// Inclusive prefixes of the parts' folds, in place, by one block.
template <class T, class Op>
struct ScanFolds {
  Any<T> folds;
  int64_t n;
  template <class W>
  HIDP_DEVICE void operator()(W &worker) const {
    group_scan<Block, Own, T, Op>(worker, folds, folds, n, T{}, false, false);
  }
};

template <class T, class Op, class Src, class Dst>
struct ScanPart {
  Src in;
  Dst out;
  Any<T> prefixes;
  Parts parts;
  T neutral;
  bool exclusive;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    const int64_t begin = parts.begin(part);
    const T before = part == 0 ? neutral : load(prefixes + (part - 1));
    group_scan<Block, Own, T, Op>(worker, in + begin, out + begin, parts.length(part), before, part > 0, exclusive);
  }
};

template <class T, class Op, class Src, class Dst>
inline bool scan_by_parts(Host &host, uint32_t memory, Src in, Dst out, int64_t n, const T &neutral, bool exclusive) {
  constexpr bool can_fault = !IsBuiltin<Op>::value;
  const Parts parts = Parts::of(n, kFoldGrain, kFoldParts);
  ScanPart<T, Op, Src, Dst> scan{in, out, Any<T>{}, parts, neutral, exclusive};
  if (parts.count == 1) return for_items<Block>(host, 1, can_fault, scan);
  const Any<T> folds = host.alloc<T>(parts.count, false, memory);
  if (host.failed() || !for_items<Block>(host, parts.count, can_fault, FoldPart<T, Op, Src>{in, folds, parts})) return false;
  if (!run_once<Block>(host, can_fault, ScanFolds<T, Op>{folds, parts.count})) return false;
  scan.prefixes = folds;
  const bool done = for_items<Block>(host, parts.count, can_fault, scan);
  host.free(folds);
  return done;
}

HIDP_NAMESPACE_END
