// thread_reverse: one thread reverses one segment.
//
// Called by: a thread. Run by: that thread alone. Result: in out, or in place; valid on return. in and out do not overlap.
// Shared memory: none.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/group_reverse.cuh>

HIDP_NAMESPACE_BEGIN

template <class W, class Src, class Dst>
HIDP_DEVICE void thread_reverse(W &worker, Src in, Dst out, int64_t n) {
  group_reverse<Thread, SharedOut>(worker, in, out, n);
}

template <class W, class Dst>
HIDP_DEVICE void thread_reverse_inplace(W &worker, Dst data, int64_t n) {
  group_reverse_inplace<Thread, SharedInOut>(worker, data, n);
}

HIDP_NAMESPACE_END
