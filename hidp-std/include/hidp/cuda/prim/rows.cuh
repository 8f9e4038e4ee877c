// How a group walks through a segment: in tiles of rows.
//
// A row is as many neighbouring elements as lanes can shuffle among themselves: the group's lanes, a warp's in a block. A warp
// owns `rows` rows that follow one another, and the warps of a block follow one another as well. So every load of a row is one
// of neighbouring elements, several loads are under way at once, prefixes form in registers, and order is kept without an
// exchange through shared memory.
#pragma once

#include <stdint.h>

#include <type_traits>
#include <utility>

#include <hidp/cuda/core.cuh>
#include <hidp/cuda/prim/unroll.cuh>

HIDP_NAMESPACE_BEGIN

// Elements that only this group touches while it works.
struct Own {
  template <class P>
  static HIDP_DEVICE auto read(P place) {
    return load(place);
  }
  template <class P, class T>
  static HIDP_DEVICE void write(P place, const T &value) {
    store(place, value);
  }
};
// Nobody writes what is read; other groups may write the same elements: segments of several may overlap, which is a fault, but found only after the map.
struct SharedOut {
  template <class P>
  static HIDP_DEVICE auto read(P place) {
    return load(place);
  }
  template <class P, class T>
  static HIDP_DEVICE void write(P place, const T &value) {
    store_shared(place, value);
  }
};

// The same where what is read is written as well.
struct SharedInOut {
  template <class P>
  static HIDP_DEVICE auto read(P place) {
    return load_shared(place);
  }
  template <class P, class T>
  static HIDP_DEVICE void write(P place, const T &value) {
    store_shared(place, value);
  }
};

// What a place holds.
template <class P>
using ElementOf = std::decay_t<decltype(load(std::declval<P>()))>;

// Who shuffles on behalf of a group: the group itself, or the warps of a block.
template <class Group>
using RowOf = std::conditional_t<std::is_same_v<Group, Block>, Warp, Group>;

template <class W>
struct ThreadsOf;
template <int Threads>
struct ThreadsOf<Worker<Threads>> {
  static constexpr int value = Threads;
};
template <class Group, class W>
inline constexpr int kWidth = static_cast<int>(kLanes<Group, ThreadsOf<W>::value>);

// How many rows of elements of so many bytes stay in registers.
template <class Group, class W, int Bytes>
inline constexpr int kRows = Bytes > 32 ? 1 : Bytes > 8 || kWidth<Group, W> < 32 ? 4 : 8;

// A tile of a group, of elements of which a lane keeps `Bytes` each.
template <class Group, class W, int Bytes, int Rows = kRows<Group, W, Bytes>>
struct Tile {
  using Row = RowOf<Group>;
  static constexpr int lanes = kWidth<Group, W>;
  static constexpr int row = kWidth<Row, W>;
  static constexpr int rows = Rows;
  static constexpr int warps = lanes / row;
  static constexpr int64_t part = int64_t{row} * rows; // of a warp
  static constexpr int64_t size = part * warps;

  static HIDP_DEVICE int warp(const W &worker) { return static_cast<int>(rank<Group, Row>(worker)); }
  static HIDP_DEVICE int lane(const W &worker) { return static_cast<int>(hidp::lane<Row>(worker)); }
  // How many lanes have an element of the row that starts at `at`, in a segment of n.
  static HIDP_DEVICE int valid(int64_t at, int64_t n) {
    const int64_t rest = n - at;
    return rest <= 0 ? 0 : rest < row ? static_cast<int>(rest) : row;
  }
  // How many warps have elements in a tile when `rest` elements are left.
  static HIDP_DEVICE int used_warps(int64_t rest) { return rest >= size ? warps : static_cast<int>((rest + part - 1) / part); }
};

// Which lanes of the row say so, the first one in the lowest bit.
template <class Row, class W>
HIDP_DEVICE uint32_t lanes_where(W &worker, bool value) {
  constexpr uint32_t width = kWidth<Row, W>;
  if constexpr (width == 1) return value;
  else return (warp_ballot(mask<Row>(worker), value) & mask<Row>(worker)) >> (thread_rank() % 32 / width * width);
}

HIDP_DEVICE int count_bits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}
HIDP_DEVICE uint32_t bits_below(int lane) { return (uint32_t{1} << lane) - 1; }

template <class Op, class = void>
struct IsBuiltin : std::false_type {};
template <class Op>
struct IsBuiltin<Op, std::enable_if_t<Op::builtin>> : std::true_type {};

// Folds of the lanes up to each, in order, where the first `valid` lanes have an element. The operator meets elements only.
template <class Row, class T, class Op, class W>
HIDP_DEVICE T prefix_of_row(W &worker, const Op &op, T value, int valid) {
  const int own = static_cast<int>(lane<Row>(worker));
  for (int distance = 1; distance < kWidth<Row, W>; distance *= 2) {
    const T before = shuffle_from<Row>(worker, value, own >= distance ? own - distance : own);
    if (own >= distance && own < valid) value = op(before, value);
  }
  return value;
}

// The fold of the first `valid` lanes, in order, in all lanes; valid > 0.
template <class Row, class T, class Op, class W>
HIDP_DEVICE T fold_of_row(W &worker, const Op &op, T value, int valid) {
  const int own = static_cast<int>(lane<Row>(worker));
  for (int distance = 1; distance < kWidth<Row, W>; distance *= 2) {
    const bool joins = own % (2 * distance) == 0 && own + distance < valid;
    const T behind = shuffle_from<Row>(worker, value, joins ? own + distance : own);
    if (joins) value = op(value, behind);
  }
  return shuffle_from<Row>(worker, value, 0);
}

// Where a function of the program is at, should it raise: of several faults that of the lowest position counts.
template <class Group, class Op, class W>
HIDP_DEVICE void arrive(W &worker, int64_t position) {
  if constexpr (!IsBuiltin<Op>::value) worker.template at<Group>(position);
}
// After functions of the program may have raised in some lanes. Whether none has.
template <class Group, class Op, class W>
HIDP_DEVICE bool settled(W &worker) {
  if constexpr (IsBuiltin<Op>::value) return true;
  else return !settle<Group>(worker);
}

HIDP_NAMESPACE_END
