// group_reduce: a group folds one segment. What thread_reduce to block_reduce share.
//
// Called by: all lanes of the group, with the same arguments. Run by: these. Result: returned to all lanes. The segment is not
// empty. Shared memory: at block level one element a warp. The tree depends on the length and the group's width alone.
//
// Built-in operators commute: each lane folds its elements of every tile, then lanes fold. Functions of the program only
// associate: rows fold in order.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/rows.cuh>

HIDP_NAMESPACE_BEGIN

// The fold of what the first `used` warps of a block hold, in order, in all lanes.
template <class T, class Op, class W>
HIDP_DEVICE T fold_of_warps(W &worker, const Op &op, T value, int used) {
  using Place = Tile<Block, W, sizeof(T)>;
  HIDP_SHARED(T, folds, Place::warps);
  sync<Block>(worker);
  if (Place::lane(worker) == 0) at(folds, Place::warp(worker)) = value;
  sync<Block>(worker);
  T all = at(folds, 0);
  for (int warp = 1; warp < used; ++warp) all = op(all, static_cast<T>(at(folds, warp)));
  return all;
}

template <class Group, class Access, class T, class Op, class W, class Src>
HIDP_DEVICE T fold_by_lanes(W &worker, const Op &op, Src in, int64_t n) {
  using Place = Tile<Group, W, sizeof(T)>;
  const int64_t own = lane<Group>(worker);
  T sum = own < n ? cast<T>(Access::read(in + own)) : T{};
  int64_t base = Place::lanes;
  for (; n - base >= Place::size; base += Place::size) {
    T value[Place::rows];
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) value[j] = cast<T>(Access::read(in + (base + j * Place::lanes + own)));
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) sum = op(sum, value[j]);
  }
  for (int64_t i = base + own; i < n; i += Place::lanes) sum = op(sum, cast<T>(Access::read(in + i)));
  sum = fold_of_row<typename Place::Row, T>(worker, op, sum, Place::valid(Place::warp(worker) * Place::row, n));
  if constexpr (Place::warps > 1) {
    const int64_t used = n < Place::lanes ? (n + Place::row - 1) / Place::row : Place::warps;
    sum = fold_of_warps<T>(worker, op, sum, static_cast<int>(used));
  }
  return sum;
}

template <class Group, class Access, class T, class Op, class W, class Src>
HIDP_DEVICE T fold_in_order(W &worker, const Op &op, Src in, int64_t n) {
  using Place = Tile<Group, W, sizeof(T)>;
  T sum{};
  for (int64_t base = 0; base < n; base += Place::size) {
    const int64_t first = base + Place::warp(worker) * Place::part;
    T value[Place::rows];
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int64_t i = first + j * Place::row + Place::lane(worker);
      value[j] = i < n ? cast<T>(Access::read(in + i)) : T{};
    }
    T own{};
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int valid = Place::valid(first + j * Place::row, n);
      if (valid == 0) continue;
      arrive<Group, Op>(worker, first + j * Place::row + Place::lane(worker));
      const T row = fold_of_row<typename Place::Row, T>(worker, op, value[j], valid);
      own = j == 0 ? row : op(own, row);
    }
    if constexpr (Place::warps > 1) own = fold_of_warps<T>(worker, op, own, Place::used_warps(n - base));
    sum = base == 0 ? own : op(sum, own);
  }
  return sum;
}

template <class Group, class Access, class T, class Op, class W, class Src>
HIDP_DEVICE T group_reduce(W &worker, Src in, int64_t n) {
  const Op op(worker.trap);
  T sum;
  if constexpr (IsBuiltin<Op>::value) sum = past_nan<Op>(fold_by_lanes<Group, Access, T>(worker, op, in, n));
  else sum = fold_in_order<Group, Access, T>(worker, op, in, n);
  settled<Group, Op>(worker);
  return sum;
}

HIDP_NAMESPACE_END
