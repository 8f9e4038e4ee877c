// kernel_scan: the whole device scans one segment, inclusive or exclusive.
//
// Called by: the host function. Run by: all blocks. Result: in out, for what follows on the stream, if it returns true; false
// after an allocation fault at `memory` or an error of the device; faults of the operator show at the next look. Scratch: an
// element and a flag a tile, or what CUB wants, from the device's pool. in and out are equal or do not overlap. Exclusive needs a
// neutral element.
//
// Where any grouping gives the same bits (integers under built-in operators) CUB scans. Its grouping depends on timing, so
// everything else goes through scan_in_one_pass.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/cuda/prim/scan_in_one_pass.cuh>
#if defined(__CUDACC__)
#include <cub/device/device_scan.cuh>
#endif

HIDP_NAMESPACE_BEGIN

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
inline bool scan_by_cub(Host &host, uint32_t memory, Src in, Dst out, int64_t n, T neutral, bool exclusive) {
  const cudaStream_t stream = static_cast<cudaStream_t>(host.stream());
  const PlainOp<T, Op> op;
  const auto scan = [&](void *scratch, size_t &bytes) {
    if (exclusive) return cub::DeviceScan::ExclusiveScan(scratch, bytes, in, out, op, neutral, n, stream);
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
inline bool kernel_scan(Host &host, uint32_t memory, Src in, Dst out, int64_t n, T neutral, bool, bool exclusive) {
  if (n <= 0) return !host.failed();
  if (host.failed()) return false;
#if defined(__CUDACC__)
  if constexpr (kAnyGrouping<T, Op, Src>) return scan_by_cub<T, Op>(host, memory, in, out, n, neutral, exclusive);
  else
#endif
    return scan_in_one_pass<T, Op>(host, memory, in, out, n, neutral, exclusive);
}

HIDP_NAMESPACE_END
