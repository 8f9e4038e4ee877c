// group_partition: a group moves the elements of one segment for which a predicate holds to the front, both parts in order.
// What thread_partition to block_partition share.
//
// Called by: all lanes of the group, with the same arguments. Run by: these. Result: in out (and out_val), visible to the group
// on return; how many are in front is returned to all lanes. in and out do not overlap. Shared memory: at block level one
// counter a warp.
//
// Two looks at the elements: one counts, one moves. So both parts are written in order, and nothing is turned round afterwards.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/rows.cuh>

HIDP_NAMESPACE_BEGIN

// Keys alone, or keys with values, that move together.
template <class Access, class Src, class Dst>
struct MoveKeys {
  Src in;
  Dst out;
  HIDP_DEVICE void operator()(int64_t to, int64_t, const ElementOf<Src> &key) const { Access::write(out + to, key); }
  HIDP_INLINE MoveKeys at(int64_t offset) const { return MoveKeys{in + offset, out + offset}; }
};
template <class Access, class Src, class Dst, class ValSrc, class ValDst>
struct MovePairs {
  Src in;
  Dst out;
  ValSrc in_val;
  ValDst out_val;
  HIDP_DEVICE void operator()(int64_t to, int64_t from, const ElementOf<Src> &key) const {
    Access::write(out + to, key);
    Access::write(out_val + to, Access::read(in_val + from));
  }
  HIDP_INLINE MovePairs at(int64_t offset) const { return MovePairs{in + offset, out + offset, in_val + offset, out_val + offset}; }
};

// The sum of the counts of the warps before this one, and of all.
template <class W>
HIDP_DEVICE int counts_before(W &worker, int own, int *all) {
  using Place = Tile<Block, W, 8>;
  HIDP_SHARED(int, counts, Place::warps);
  sync<Block>(worker);
  if (Place::lane(worker) == 0) store(counts + Place::warp(worker), own);
  sync<Block>(worker);
  int before = 0, sum = 0;
  for (int warp = 0; warp < Place::warps; ++warp) {
    const int count = load(counts + warp);
    before += warp < Place::warp(worker) ? count : 0;
    sum += count;
  }
  *all = sum;
  return before;
}

// For how many elements the predicate holds.
template <class Group, class Access, class F, class W, class Src, class P>
HIDP_DEVICE int64_t group_count(W &worker, const F &holds, Src in, const P &pivot, int64_t n) {
  int64_t held = 0;
  for (int64_t i = lane<Group>(worker); i < n; i += kWidth<Group, W>) {
    if (worker.trap.raised) break;
    arrive<Group, F>(worker, i);
    held += holds(Access::read(in + i), pivot);
  }
  return reduce_over<Group, Thread, Add<int64_t>>(worker, held);
}

// Moves [0, n): those that hold to `front` and on, the others to `back` and on. `limit`: nothing is written there or behind.
template <class Group, class Access, class F, class W, class Move, class P>
HIDP_DEVICE void group_split(W &worker, const F &holds, const Move &move, const P &pivot, int64_t n, int64_t front, int64_t back,
                             int64_t limit) {
  using Key = ElementOf<decltype(move.in)>;
  using Place = Tile<Group, W, sizeof(Key)>;
  using Row = typename Place::Row;
  const int own = Place::lane(worker);
  for (int64_t base = 0; base < n; base += Place::size) {
    const int64_t first = base + Place::warp(worker) * Place::part;
    Key key[Place::rows];
    uint32_t held[Place::rows];
    int mine = 0, all;
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int64_t i = first + j * Place::row + own;
      key[j] = i < n ? Access::read(move.in + i) : Key{};
    }
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      held[j] = lanes_where<Row>(worker, first + j * Place::row + own < n && holds(key[j], pivot));
      mine += count_bits(held[j]);
    }
    int before = 0;
    if constexpr (Place::warps > 1) before = counts_before(worker, mine, &all);
    else all = mine;
    HIDP_UNROLL_ALL
    for (int j = 0; j < Place::rows; ++j) {
      const int64_t i = first + j * Place::row + own;
      const int fronts = before + count_bits(held[j] & bits_below(own));
      const bool in_front = (held[j] >> own & 1) != 0;
      const int64_t to = in_front ? front + fronts : back + (i - base) - fronts;
      if (i < n && to < limit) move(to, i, key[j]);
      before += count_bits(held[j]);
    }
    front += all;
    back += (n - base < Place::size ? n - base : Place::size) - all;
  }
}

template <class Group, class Access, class F, class W, class Move, class P>
HIDP_DEVICE int64_t group_partition(W &worker, const Move &move, const P &pivot, int64_t n) {
  const F holds(worker.trap);
  const int64_t count = group_count<Group, Access>(worker, holds, move.in, pivot, n);
  if (!settled<Group, F>(worker)) return 0;
  group_split<Group, Access>(worker, holds, move, pivot, n, 0, count, n);
  sync<Group>(worker);
  return count;
}

HIDP_NAMESPACE_END
