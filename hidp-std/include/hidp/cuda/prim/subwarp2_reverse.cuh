// subwarp2_reverse: 4 lanes of a warp reverses one segment.
//
// Called by: all lanes of a sub-warp2, with the same arguments. Run by: these. Result: in out, or in place; visible to all of
// them on return. in and out do not overlap. Shared memory: none.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/group_reverse.cuh>

HIDP_NAMESPACE_BEGIN

template <class W, class Src, class Dst>
HIDP_DEVICE void subwarp2_reverse(W &worker, Src in, Dst out, int64_t n) {
  group_reverse<Subwarp2, SharedOut>(worker, in, out, n);
}

template <class W, class Dst>
HIDP_DEVICE void subwarp2_reverse_inplace(W &worker, Dst data, int64_t n) {
  group_reverse_inplace<Subwarp2, SharedInOut>(worker, data, n);
}

HIDP_NAMESPACE_END
