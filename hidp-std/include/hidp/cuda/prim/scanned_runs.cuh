// A tile of a scan in registers, where lanes keep runs of neighbours: 16 bytes of each row.
//
// A row is lanes side by side, each with its run. A lane's own prefixes take an operation an element; what goes from lane to lane,
// from row to row and from warp to warp takes the same for a run as for an element. For built-in operators.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/cuda/prim/carry.cuh>
#include <hidp/cuda/prim/rows.cuh>

HIDP_NAMESPACE_BEGIN

// Elements that a lane keeps of a row.
template <class T, class Op>
inline constexpr int kRun = IsBuiltin<Op>::value && std::is_arithmetic_v<T> && sizeof(T) >= 4 ? 16 / static_cast<int>(sizeof(T)) : 1;

// Rows of a tile: of groups smaller than a warp so many that a lane has 8 numbers of 4 bytes.
template <class Group, class W>
inline constexpr int kRowsOfRuns = kWidth<RowOf<Group>, W> < 32 ? 2 : 4;

template <class Group, class W, int Run, int Rows>
struct RunTile {
  using Row = RowOf<Group>;
  static constexpr int width = kWidth<Row, W>;
  static constexpr int run = Run;
  static constexpr int rows = Rows;
  static constexpr int row = width * Run; // elements
  static constexpr int warps = kWidth<Group, W> / width;
  static constexpr int64_t part = int64_t{row} * rows; // of a warp
  static constexpr int64_t size = part * warps;

  static HIDP_DEVICE int warp(const W &worker) { return static_cast<int>(rank<Group, Row>(worker)); }
  static HIDP_DEVICE int lane(const W &worker) { return static_cast<int>(hidp::lane<Row>(worker)); }
  // How many elements of the part that starts at `first` there are, in a segment of n.
  static HIDP_DEVICE int held(int64_t first, int64_t n) {
    const int64_t rest = n - first;
    return rest <= 0 ? 0 : rest < part ? static_cast<int>(rest) : static_cast<int>(part);
  }
  // How many of the own run, and how many lanes have any, in a row from which on there are so many.
  static HIDP_DEVICE int own(const W &worker, int held) {
    const int rest = held - lane(worker) * run;
    return rest <= 0 ? 0 : rest < run ? rest : run;
  }
  static HIDP_DEVICE int valid(int held) { return held <= 0 ? 0 : held < row ? (held + run - 1) / run : width; }
  // How many warps have elements in a tile when `rest` elements are left.
  static HIDP_DEVICE int used_warps(int64_t rest) { return rest >= size ? warps : static_cast<int>((rest + part - 1) / part); }
};

template <class T, class Op, class Place, class W>
struct ScannedRuns {
  using Row = typename Place::Row;
  static constexpr int run = Place::run;
  // Prefixes of the runs.
  T value[Place::rows][run];
  // Of a row's lanes below, if there are any, and of all.
  T below[Place::rows], fold[Place::rows];
  // Of the lane's warp.
  Carry<T> own = {T{}, false};

  // Whether runs move at once, if they are aligned: nobody else may touch them.
  template <class Access, class P>
  static constexpr bool at_once = std::is_same_v<Access, Own> && std::is_same_v<ElementOf<P>, T>;

  template <class Access, class Src>
  HIDP_DEVICE void read(W &worker, const Op &op, Src in, int64_t first, int64_t n) {
    const int held = Place::held(first, n);
    const Src mine = in + (first + Place::lane(worker) * run);
    bool aligned = false;
    if constexpr (at_once<Access, Src>) aligned = is_aligned<sizeof(T) * run>(mine);
    if (aligned && held == Place::part) read_rows<Access, true>(worker, mine, aligned, held);
    else read_rows<Access, false>(worker, mine, aligned, held);
    if (held == Place::part) fold_rows<true>(worker, op, held);
    else fold_rows<false>(worker, op, held);
  }

  // What stands before the warp; afterwards the warp's elements are in it as well.
  template <class Access, class Dst>
  HIDP_DEVICE void write(W &worker, const Op &op, Dst out, int64_t first, int64_t n, Carry<T> &before, bool exclusive) {
    const int held = Place::held(first, n);
    const Dst mine = out + (first + Place::lane(worker) * run);
    bool aligned = false;
    if constexpr (at_once<Access, Dst>) aligned = is_aligned<sizeof(T) * run>(mine);
    if (aligned && held == Place::part) write_rows<Access, true>(worker, op, mine, aligned, held, before, exclusive);
    else write_rows<Access, false>(worker, op, mine, aligned, held, before, exclusive);
  }

 private:
  template <class Access, bool Whole, class Src>
  HIDP_DEVICE void read_rows(W &worker, Src mine, bool aligned, int held) {
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int own = Whole ? run : Place::own(worker, held - j * Place::row);
      if constexpr (at_once<Access, Src>) {
        if (Whole || (aligned && own == run)) {
          load_several<run>(value[j], mine + j * Place::row);
          continue;
        }
      }
      if constexpr (!Whole) {
        HIDP_UNROLL_ALL
        for (int k = 0; k < run; ++k) value[j][k] = k < own ? cast<T>(Access::read(mine + (j * Place::row + k))) : T{};
      }
    }
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      HIDP_UNROLL_ALL
      for (int k = 0; k < run; ++k) value[j][k] = past_nan<Op>(value[j][k]);
    }
  }

  template <bool Whole>
  HIDP_DEVICE void fold_rows(W &worker, const Op &op, int held) {
    const int lane = Place::lane(worker);
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int own_held = Whole ? run : Place::own(worker, held - j * Place::row);
      const int valid = Whole ? Place::width : Place::valid(held - j * Place::row);
      HIDP_UNROLL_ALL
      for (int k = 1; k < run; ++k) value[j][k] = k < own_held ? op(value[j][k - 1], value[j][k]) : value[j][k - 1];
      const T upto = prefix_of_row<Row, T>(worker, op, value[j][run - 1], valid);
      below[j] = shuffle_from<Row>(worker, upto, static_cast<uint32_t>(lane > 0 ? lane - 1 : 0));
      fold[j] = shuffle_from<Row>(worker, upto, static_cast<uint32_t>(valid > 0 ? valid - 1 : 0));
      if (valid > 0) own.push(op, fold[j]);
    }
  }

  template <class Access, bool Whole, class Dst>
  HIDP_DEVICE void write_rows(W &worker, const Op &op, Dst mine, bool aligned, int held, Carry<T> &before, bool exclusive) {
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int own_held = Whole ? run : Place::own(worker, held - j * Place::row);
      if (!Whole && Place::valid(held - j * Place::row) == 0) break;
      Carry<T> upto = before;
      if (Place::lane(worker) > 0) upto.push(op, below[j]);
      before.push(op, fold[j]);
      T result[run];
      HIDP_UNROLL_ALL
      for (int k = 0; k < run; ++k) {
        const T prefix = exclusive ? value[j][k > 0 ? k - 1 : 0] : value[j][k];
        result[k] = exclusive && k == 0 ? upto.value : upto.any ? op(upto.value, prefix) : prefix;
      }
      if constexpr (at_once<Access, Dst>) {
        if (Whole || (aligned && own_held == run)) {
          store_several<run>(mine + j * Place::row, result);
          continue;
        }
      }
      if constexpr (!Whole) {
        HIDP_UNROLL_ALL
        for (int k = 0; k < run; ++k)
          if (k < own_held) Access::write(mine + (j * Place::row + k), result[k]);
      }
    }
  }
};

HIDP_NAMESPACE_END
