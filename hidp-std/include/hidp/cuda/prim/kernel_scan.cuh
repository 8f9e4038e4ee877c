// kernel_scan: the whole device scans one segment, inclusive or exclusive.
//
// Called by: the host function. Run by: all blocks. Result: in out, for what follows on the stream, if it returns true; false
// after an allocation fault at `memory` or an error of the device; faults of the operator show at the next look. Scratch: one
// element a part, or what CUB wants, from the device's pool. in and out are equal or do not overlap. Exclusive needs a neutral
// element.
//
// Where any grouping gives the same bits (integers under built-in operators) CUB scans, with one look at the input. Its
// grouping depends on timing, so everything else is folded by parts whose folds are scanned before the parts are: two looks.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/cuda/prim/block_scan.cuh>
#include <hidp/cuda/prim/kernel_reduce.cuh>
#if defined(__CUDACC__)
#include <cub/device/device_scan.cuh>
#endif

HIDP_NAMESPACE_BEGIN

// Inclusive prefixes of the parts' folds, in place, by one block.
template <class T, class Op>
struct ScanFolds {
  Any<T> folds;
  int64_t n;
  T init;
  bool has_init;
  template <class W>
  HIDP_DEVICE void operator()(W &worker) const {
    group_scan<Block, Own, T, Op>(worker, folds, folds, n, init, has_init, false);
  }
};

template <class T, class Op, class Src, class Dst>
struct ScanPart {
  Src in;
  Dst out;
  Any<T> prefixes;
  Parts parts;
  T init;
  bool has_init, exclusive;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    const int64_t begin = parts.begin(part);
    const T before = part == 0 ? init : load(prefixes + (part - 1));
    group_scan<Block, Own, T, Op>(worker, in + begin, out + begin, parts.length(part), before, part > 0 || has_init, exclusive);
  }
};

template <class T, class Op, class Src, class Dst>
inline bool scan_by_parts(Host &host, uint32_t memory, Src in, Dst out, int64_t n, const T &init, bool has_init, bool exclusive) {
  constexpr bool can_fault = !IsBuiltin<Op>::value;
  const Parts parts = Parts::of(n, kFoldGrain, kFoldParts);
  ScanPart<T, Op, Src, Dst> scan{in, out, Any<T>{}, parts, init, has_init, exclusive};
  if (parts.count == 1) return for_items<Block>(host, 1, can_fault, scan);
  const Any<T> folds = host.alloc<T>(parts.count, false, memory);
  if (host.failed() || !for_items<Block>(host, parts.count, can_fault, FoldPart<T, Op, Src>{in, folds, parts})) return false;
  if (!run_once<Block>(host, can_fault, ScanFolds<T, Op>{folds, parts.count, init, has_init})) return false;
  scan.prefixes = folds;
  const bool done = for_items<Block>(host, parts.count, can_fault, scan);
  host.free(folds);
  return done;
}

#if defined(__CUDACC__)
// A built-in operator without a worker.
template <class T, class Op>
struct PlainOp {
  HIDP_INLINE T operator()(T a, T b) const {
    Trap trap;
    return Op(trap)(a, b);
  }
};

template <class T, class Op, class Src, class Dst>
inline bool scan_by_cub(Host &host, uint32_t memory, Src in, Dst out, int64_t n, T init, bool has_init, bool exclusive) {
  const cudaStream_t stream = static_cast<cudaStream_t>(host.device.stream);
  const PlainOp<T, Op> op;
  const auto scan = [&](void *scratch, size_t &bytes) {
    if (exclusive) return cub::DeviceScan::ExclusiveScan(scratch, bytes, in, out, op, init, n, stream);
    if (has_init) return cub::DeviceScan::InclusiveScanInit(scratch, bytes, in, out, op, init, n, stream);
    return cub::DeviceScan::InclusiveScan(scratch, bytes, in, out, op, n, stream);
  };
  size_t bytes = 0;
  if (!host.went_well(taken(scan(nullptr, bytes)))) return false;
  const Any<char> scratch = host.alloc<char>(static_cast<int64_t>(bytes), false, memory);
  if (host.failed()) return false;
  const bool done = host.went_well(taken(scan(address_of(scratch), bytes)));
  host.free(scratch);
  return done;
}
#endif

template <class T, class Op, class Src>
inline constexpr bool kAnyGrouping = IsBuiltin<Op>::value && std::is_integral_v<T> && std::is_same_v<ElementOf<Src>, T>;

template <class T, class Op, class Src, class Dst>
inline bool kernel_scan(Host &host, uint32_t memory, Src in, Dst out, int64_t n, T neutral, bool has_neutral, bool exclusive) {
  if (n <= 0) return !host.failed();
  if (host.failed()) return false;
#if defined(__CUDACC__)
  if constexpr (kAnyGrouping<T, Op, Src>) {
    if (n > kFoldGrain) return scan_by_cub<T, Op>(host, memory, in, out, n, neutral, has_neutral, exclusive);
  }
#endif
  return scan_by_parts<T, Op>(host, memory, in, out, n, neutral, has_neutral, exclusive);
}

HIDP_NAMESPACE_END
