// group_reverse: a group reverses one segment. What thread_reverse to block_reverse share.
//
// Called by: all lanes of the group, with the same arguments. Run by: these. Result: in out, or in place; visible to the group
// on return. in and out do not overlap. Shared memory: none. Other groups may touch the same elements, which is a fault, but
// found only after the map: accesses are relaxed.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/rows.cuh>

HIDP_NAMESPACE_BEGIN

template <class Group, class Access, class W, class Src, class Dst>
HIDP_DEVICE void group_reverse(W &worker, Src in, Dst out, int64_t n) {
  for (int64_t i = lane<Group>(worker); i < n; i += kWidth<Group, W>) Access::write(out + i, Access::read(in + (n - 1 - i)));
  sync<Group>(worker);
}

template <class Group, class Access, class W, class Dst>
HIDP_DEVICE void group_reverse_inplace(W &worker, Dst data, int64_t n) {
  for (int64_t a = lane<Group>(worker); a < n / 2; a += kWidth<Group, W>) {
    const auto front = Access::read(data + a);
    Access::write(data + a, Access::read(data + (n - 1 - a)));
    Access::write(data + (n - 1 - a), front);
  }
  sync<Group>(worker);
}

HIDP_NAMESPACE_END
