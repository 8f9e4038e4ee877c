// thread_partition: one thread moves the elements of one segment for which a predicate holds to the front, both parts in
// order.
//
// Called by: a thread. Run by: that thread alone. Result: in out (and out_val), valid on return; in *count of every lane, its
// own, how many are in front. in and out do not overlap. Shared memory: none.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/group_partition.cuh>

HIDP_NAMESPACE_BEGIN

template <class F, class W, class Src, class Dst, class P>
HIDP_DEVICE void thread_partition(W &worker, Src in, Dst out, P pivot, int64_t n, int64_t *count) {
  *count = group_partition<Thread, SharedOut, F>(worker, MoveKeys<SharedOut, Src, Dst>{in, out}, pivot, n);
}

template <class F, class W, class Src, class Dst, class ValSrc, class ValDst, class P>
HIDP_DEVICE void thread_partition(W &worker, Src in, Dst out, ValSrc in_val, ValDst out_val, P pivot, int64_t n, int64_t *count) {
  const MovePairs<SharedOut, Src, Dst, ValSrc, ValDst> move{in, out, in_val, out_val};
  *count = group_partition<Thread, SharedOut, F>(worker, move, pivot, n);
}

HIDP_NAMESPACE_END
