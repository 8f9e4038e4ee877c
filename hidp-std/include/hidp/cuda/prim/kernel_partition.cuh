// kernel_partition: the whole device moves the elements of one segment for which a predicate holds to the front, both parts in
// order.
//
// Called by: the host function. Run by: all blocks. Result: in out (and out_val), and how many are in front in *count, on the
// host, when it returns true; false after an allocation fault at `memory`, a fault of the predicate or an error of the device.
// It waits for the device. Scratch: one counter a part, from the device's pool. in and out do not overlap.
//
// Parts are counted, the counts are summed up, and parts move: the input is read twice, the output written once.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/block_partition.cuh>
#include <hidp/cuda/prim/block_scan.cuh>
#include <hidp/cuda/prim/items.cuh>

HIDP_NAMESPACE_BEGIN

constexpr int64_t kPartitionGrain = 8192;
constexpr int64_t kPartitionParts = 8192;

// How many elements of each part belong to the front.
template <class F, class Src, class P>
struct CountPart {
  Src in;
  P pivot;
  Any<int64_t> counts;
  Parts parts;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    const F holds(worker.trap);
    const int64_t count = group_count<Block, Own>(worker, holds, in + parts.begin(part), pivot, parts.length(part));
    if (settled<Block, F>(worker) && is_first<Block>(worker)) store(counts + part, count);
  }
};

// Counts become their inclusive sums, in place.
struct SumCounts {
  Any<int64_t> counts;
  int64_t n;
  template <class W>
  HIDP_DEVICE void operator()(W &worker) const {
    group_scan<Block, Own, int64_t, Add<int64_t>>(worker, counts, counts, n, int64_t{0}, false, false);
  }
};

template <class Move>
struct ShiftedMove {
  Move move;
  decltype(Move::in) in;
  int64_t begin;
  template <class Key>
  HIDP_DEVICE void operator()(int64_t to, int64_t from, const Key &key) const {
    move(to, begin + from, key);
  }
};

template <class F, class Move, class P>
struct SplitPart {
  Move move;
  P pivot;
  Any<int64_t> sums;
  Parts parts;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t part) const {
    const F holds(worker.trap);
    const int64_t begin = parts.begin(part);
    const int64_t front = part == 0 ? 0 : load(sums + (part - 1)), all = load(sums + (parts.count - 1));
    const ShiftedMove<Move> shifted{move, move.in + begin, begin};
    group_split<Block, Own>(worker, holds, shifted, pivot, parts.length(part), front, all + begin - front, parts.n);
    sync<Block>(worker);
  }
};

template <class F, class Move, class P>
inline bool partition_on_device(Host &host, uint32_t memory, const Move &move, const P &pivot, int64_t n, int64_t *count) {
  using Src = decltype(Move::in);
  const Parts parts = Parts::of(n, kPartitionGrain, kPartitionParts);
  const Any<int64_t> counts = host.alloc<int64_t>(parts.count, true, memory);
  if (host.failed()) return false;
  if (!for_items<Block>(host, parts.count, true, CountPart<F, Src, P>{move.in, pivot, counts, parts})) return false;
  if (!run_once<Block>(host, false, SumCounts{counts, parts.count})) return false;
  if (!for_items<Block>(host, parts.count, true, SplitPart<F, Move, P>{move, pivot, counts, parts})) return false;
  *count = host.fetch(counts + (parts.count - 1));
  host.free(counts);
  return !host.failed();
}

template <class F, class Src, class Dst, class P>
inline bool kernel_partition(Host &host, uint32_t memory, Src in, Dst out, P pivot, int64_t n, int64_t *count) {
  return n <= 0 ? !host.failed() : partition_on_device<F>(host, memory, MoveKeys<Own, Src, Dst>{in, out}, pivot, n, count);
}

template <class F, class Src, class Dst, class ValSrc, class ValDst, class P>
inline bool kernel_partition(Host &host, uint32_t memory, Src in, Dst out, ValSrc in_val, ValDst out_val, P pivot, int64_t n, int64_t *count) {
  const MovePairs<Own, Src, Dst, ValSrc, ValDst> move{in, out, in_val, out_val};
  return n <= 0 ? !host.failed() : partition_on_device<F>(host, memory, move, pivot, n, count);
}

HIDP_NAMESPACE_END
