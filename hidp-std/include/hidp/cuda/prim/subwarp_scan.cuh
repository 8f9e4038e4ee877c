// subwarp_scan: 8 lanes of a warp scans one segment, inclusive or exclusive.
//
// Called by: all lanes of a sub-warp, with the same arguments. Run by: these. Result: in out, visible to all of them on
// return. in and out are equal or do not overlap. Shared memory: none. Exclusive needs a neutral element. Grouping depends on
// the length alone.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/group_scan.cuh>

HIDP_NAMESPACE_BEGIN

template <class T, class Op, class W, class Src, class Dst>
HIDP_DEVICE void subwarp_scan(W &worker, Src in, Dst out, int64_t n, T neutral, bool, bool exclusive) {
  group_scan<Subwarp, SharedInOut, T, Op>(worker, in, out, n, neutral, false, exclusive);
}

HIDP_NAMESPACE_END
