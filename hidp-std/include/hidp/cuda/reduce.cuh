// Reductions over the parts of a group, in order, by a tree whose shape depends on the number of parts alone.
//
// Each `Over` of the group has a value that is the same in all its lanes. All lanes of the group call, and get the result.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/cuda/group.cuh>
#include <hidp/cuda/target.cuh>

HIDP_NAMESPACE_BEGIN

// A value that may be missing; the neutral element of any operator is one that is.
template <class T>
struct Maybe {
  T value;
  bool seen;
};

template <class Op, class T>
HIDP_DEVICE T combined(const Op &op, const T &a, const T &b) {
  return op(a, b);
}
template <class Op, class T>
HIDP_DEVICE Maybe<T> combined(const Op &op, const Maybe<T> &a, const Maybe<T> &b) {
  if (!a.seen) return b;
  if (!b.seen) return a;
  return Maybe<T>{op(a.value, b.value), true};
}

// The values of lanes 0, stride, 2 stride … below `limit` of a group up to a warp, combined; in lane 0.
template <class Group, class Op, class T, int Threads>
HIDP_DEVICE T tree(Worker<Threads> &worker, const Op &op, T value, uint32_t stride, uint32_t limit HIDP_WHERE) {
  const uint32_t own = lane<Group>(worker);
  for (uint32_t distance = stride; distance < limit; distance *= 2) {
    const T other = shuffle_down<Group>(worker, value, distance HIDP_HERE);
    if (own % (2 * distance) == 0 && own + distance < limit) value = combined(op, value, other);
  }
  return value;
}

template <class Group, class Over, class Op, class T, int Threads>
HIDP_DEVICE T reduce_parts(Worker<Threads> &worker, const Op &op, T value HIDP_WHERE) {
  if constexpr (!kIsBlock<Group>) {
    return broadcast<Group>(worker, tree<Group>(worker, op, value, kLanes<Over, Threads>, kLanes<Group, Threads> HIDP_HERE) HIDP_HERE);
  } else {
    constexpr uint32_t warps = Threads / 32;
    value = tree<Warp>(worker, op, value, kLanes<Over, Threads>, 32 HIDP_HERE);
    HIDP_SHARED(T, parts, warps);
    if (is_first<Warp>(worker)) store(parts + rank<Block, Warp>(worker), value HIDP_HERE);
    block_barrier(Threads HIDP_HERE);
    const uint32_t own = lane<Warp>(worker);
    value = load(parts + (own < warps ? own : 0) HIDP_HERE);
    value = broadcast<Warp>(worker, tree<Warp>(worker, op, value, 1, warps HIDP_HERE) HIDP_HERE);
    block_barrier(Threads HIDP_HERE);
    return value;
  }
}

// The combination of the parts' values. `Op` is made from the lane's trap; whether one raised is settled by who calls.
template <class Group, class Over, class Op, class T, int Threads>
HIDP_DEVICE T reduce_over(Worker<Threads> &worker, T value HIDP_WHERE) {
  return reduce_parts<Group, Over>(worker, Op(worker.trap), value HIDP_HERE);
}

// The same of values that only some parts have; `seen`, the same in all lanes of a part, says which, and then whether any has.
template <class Group, class Over, class Op, class T, int Threads>
HIDP_DEVICE T reduce_seen(Worker<Threads> &worker, T value, bool &seen HIDP_WHERE) {
  const Maybe<T> all = reduce_parts<Group, Over>(worker, Op(worker.trap), Maybe<T>{value, seen} HIDP_HERE);
  seen = all.seen;
  return all.value;
}

HIDP_NAMESPACE_END
