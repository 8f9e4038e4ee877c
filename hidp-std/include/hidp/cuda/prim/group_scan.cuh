// group_scan: a group scans one segment, inclusive or exclusive. What thread_scan to block_scan share.
//
// Called by: all lanes of the group, with the same arguments. Run by: these. Result: in out, visible to the group on return.
// in and out are equal or do not overlap. Shared memory: at block level one element a warp. Grouping depends on the length
// and the group's width alone. Exclusive needs a neutral element.
//
// Under built-in operators a lane keeps several neighbours, which move at once where they are aligned (scanned_runs.cuh): most of what a
// scan does is done once a row. Functions of the program meet the elements one by one, in the order of the lanes.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/cuda/prim/carry.cuh>
#include <hidp/cuda/prim/rows.cuh>
#include <hidp/cuda/prim/scanned_runs.cuh>

HIDP_NAMESPACE_BEGIN

// A tile in registers: rows with prefixes of their own.
template <class T, class Op, class Group, class Place, class W>
struct ScannedRows {
  using Row = typename Place::Row;
  T value[Place::rows];
  // Of the lane's warp.
  Carry<T> own = {T{}, false};

  template <class Access, class Src>
  HIDP_DEVICE void read(W &worker, const Op &op, Src in, int64_t first, int64_t n) {
    const int lane = Place::lane(worker);
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int64_t i = first + j * Place::row + lane;
      value[j] = i < n ? past_nan<Op>(cast<T>(Access::read(in + i))) : T{};
    }
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int valid = Place::valid(first + j * Place::row, n);
      arrive<Group, Op>(worker, first + j * Place::row + lane);
      value[j] = prefix_of_row<Row, T>(worker, op, value[j], valid);
      if (Place::warps == 1) continue;
      const T fold = shuffle_from<Row>(worker, value[j], valid > 0 ? valid - 1 : 0);
      if (valid > 0) own.push(op, fold);
    }
  }

  // What stands before the warp; afterwards the warp's elements are in it as well.
  template <class Access, class Dst>
  HIDP_DEVICE void write(W &worker, const Op &op, Dst out, int64_t first, int64_t n, Carry<T> &before, bool exclusive) {
    const int lane = Place::lane(worker);
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int valid = Place::valid(first + j * Place::row, n);
      if (valid == 0) break;
      arrive<Group, Op>(worker, first + j * Place::row + lane);
      T prefix = before.any && lane < valid ? op(before.value, value[j]) : value[j];
      if (exclusive) {
        prefix = shuffle_from<Row>(worker, prefix, lane > 0 ? lane - 1 : 0);
        if (lane == 0) prefix = before.value;
      }
      if (lane < valid) Access::write(out + (first + j * Place::row + lane), prefix);
      // Again: kept, the folds of all rows would take too many registers.
      before.push(op, shuffle_from<Row>(worker, value[j], valid - 1));
    }
  }
};

// The folds of the warps before the own one, and of all `used` ones, in order. `base` is where the tile starts.
template <class T, class Op, class Place, class W>
HIDP_DEVICE Carry<T> fold_before_warp(W &worker, const Op &op, const T &own, int used, int64_t base, Carry<T> &all) {
  HIDP_SHARED(T, folds, Place::warps);
  sync<Block>(worker);
  if (Place::lane(worker) == 0) store(folds + Place::warp(worker), own);
  sync<Block>(worker);
  Carry<T> before{T{}, false};
  HIDP_UNROLL_ALL
  for (int warp = 0; warp < Place::warps; ++warp) {
    if (warp >= used) break;
    if (warp == Place::warp(worker)) before = all;
    arrive<Block, Op>(worker, base + warp * Place::part);
    all.push(op, load(folds + warp));
  }
  return before;
}

// Where a group's tiles of T lie, and what its lanes have of one. Tiles have so many rows, if lanes keep one element of each.
template <class T, class Op, class Group, class W, int Rows>
using ScanPlace = std::conditional_t<(kRun<T, Op> > 1), RunTile<Group, W, kRun<T, Op>, kRowsOfRuns<Group, W>>, Tile<Group, W, sizeof(T), Rows>>;
template <class T, class Op, class Group, class Place, class W>
using Scanned = std::conditional_t<(kRun<T, Op> > 1), ScannedRuns<T, Op, Place, W>, ScannedRows<T, Op, Group, Place, W>>;

// Continues after `carry`, which then holds the whole segment as well.
template <class Group, class Access, class T, class Op, class W, class Src, class Dst>
HIDP_DEVICE void scan_tiles(W &worker, const Op &op, Src in, Dst out, int64_t n, Carry<T> &carry, bool exclusive) {
  using Place = ScanPlace<T, Op, Group, W, kRows<Group, W, sizeof(T)>>;
  for (int64_t base = 0; base < n; base += Place::size) {
    const int64_t first = base + Place::warp(worker) * Place::part;
    Scanned<T, Op, Group, Place, W> rows;
    rows.template read<Access>(worker, op, in, first, n);
    Carry<T> before = carry;
    if constexpr (Place::warps > 1)
      before = fold_before_warp<T, Op, Place>(worker, op, rows.own.value, Place::used_warps(n - base), base, carry);
    rows.template write<Access>(worker, op, out, first, n, before, exclusive);
    if constexpr (Place::warps == 1) carry = before;
  }
}

// `first` is what an exclusive scan starts with. It is folded with what follows only where `has_first` says that something
// stands before the segment: neutral elements are folded with nothing.
template <class Group, class Access, class T, class Op, class W, class Src, class Dst>
HIDP_DEVICE void group_scan(W &worker, Src in, Dst out, int64_t n, T first, bool has_first, bool exclusive) {
  const Op op(worker.trap);
  Carry<T> carry{first, has_first};
  scan_tiles<Group, Access, T>(worker, op, in, out, n, carry, exclusive);
  settled<Group, Op>(worker);
  sync<Group>(worker);
}

HIDP_NAMESPACE_END
