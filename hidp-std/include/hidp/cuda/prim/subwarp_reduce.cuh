// subwarp_reduce: 8 lanes of a warp folds one segment.
//
// Called by: all lanes of a sub-warp, with the same arguments. Run by: these. Result: in *result of every lane, its own.
// Without elements nothing is stored. Shared memory: none. The tree depends on the length alone; functions of the program fold
// in order.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/group_reduce.cuh>

HIDP_NAMESPACE_BEGIN

template <class T, class Op, class W, class Src>
HIDP_DEVICE void subwarp_reduce(W &worker, Src in, int64_t n, T *result) {
  if (n > 0) *result = group_reduce<Subwarp, Own, T, Op>(worker, in, n);
}

HIDP_NAMESPACE_END
