// thread_reduce: one thread folds one segment.
//
// Called by: a thread. Run by: that thread alone. Result: in *result of every lane, its own. Without elements nothing is
// stored. Shared memory: none. The tree depends on the length alone; functions of the program fold in order.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/group_reduce.cuh>

HIDP_NAMESPACE_BEGIN

template <class T, class Op, class W, class Src>
HIDP_DEVICE void thread_reduce(W &worker, Src in, int64_t n, T *result) {
  if (n > 0) *result = group_reduce<Thread, Own, T, Op>(worker, in, n);
}

HIDP_NAMESPACE_END
