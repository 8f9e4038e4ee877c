// scan_in_one_pass: the whole device scans one segment, with one look at the input.
//
// Called by: the host function. Run by: all blocks. Result: in out, for what follows on the stream, if it returns true; false
// after an allocation fault at `memory` or an error of the device. Scratch: an element and a flag a tile, from the device's pool.
//
// Blocks take tiles in order. A tile hands on its fold and waits for what stands before it: the folds of the tiles before it
// among its 32, of the 32s before that among their 32, and what stands before these 32 times 32. The last tile of each hands on
// the fold of all. So nobody waits for long (the chain has one link for 1024 tiles), and what is folded with what depends on the length
// alone: the same bits every run, unlike look-back that takes what it finds (Merrill and Garland, Single-pass Parallel Prefix
// Scan with Decoupled Look-back, NVIDIA 2016), but as fast. Only tiles that a running block has taken are waited for.
#pragma once

#include <stdint.h>
#include <string.h>

#include <type_traits>

#include <hidp/cuda/prim/group_scan.cuh>
#include <hidp/cuda/prim/items.cuh>

HIDP_NAMESPACE_BEGIN

// Values that some blocks post and others wait for. Small ones travel in one word with their flag. All bytes zero: nothing posted.
template <class T>
class Board {
 public:
  static constexpr bool kOneWord = sizeof(T) <= 4;
  using Flag = std::conditional_t<kOneWord, uint64_t, uint32_t>;

  static bool make(Host &host, uint32_t memory, int64_t count, Board &board) {
    board.flags_ = host.alloc<Flag>(count, true, memory);
    if constexpr (!kOneWord) board.values_ = host.alloc<T>(count, false, memory);
    return !host.failed();
  }
  void free(Host &host) const {
    if constexpr (!kOneWord) host.free(values_);
    host.free(flags_);
  }

  HIDP_DEVICE void post(int64_t at, const T &value) const {
    if constexpr (kOneWord) {
      uint32_t bits = 0;
      memcpy(&bits, &value, sizeof(T));
      store_relaxed(flags_ + at, uint64_t{bits} << 32 | 1);
    } else {
      store_shared(values_ + at, value);
      fence();
      store_relaxed(flags_ + at, 1u);
    }
  }
  HIDP_DEVICE T wait(int64_t at) const {
    Flag found;
    while ((found = load_relaxed(flags_ + at)) == 0) {
    }
    if constexpr (kOneWord) {
      const uint32_t bits = static_cast<uint32_t>(found >> 32);
      T value;
      memcpy(&value, &bits, sizeof(T));
      return value;
    } else {
      fence();
      return load_shared(values_ + at);
    }
  }

 private:
  Any<Flag> flags_ = {};
  Any<T> values_ = {};
};

// Tiles of a neighbourhood, and neighbourhoods of a quarter; no more than a warp has lanes. Tests lower it.
#ifndef HIDP_NEIGHBOURS
#define HIDP_NEIGHBOURS 32
#endif
constexpr int64_t kNeighbours = HIDP_NEIGHBOURS;

template <class T>
struct Chain {
  // Folds of tiles and of neighbourhoods, and what stands before a quarter.
  Board<T> tiles, neighbourhoods, quarters;
  // The next tile to take.
  Any<uint32_t> next;

  static bool make(Host &host, uint32_t memory, int64_t count, Chain &chain) {
    const int64_t neighbourhoods = ceil_div(count, kNeighbours), quarters = ceil_div(neighbourhoods, kNeighbours) + 1;
    chain.next = host.alloc<uint32_t>(1, true, memory);
    return !host.failed() && Board<T>::make(host, memory, count, chain.tiles) &&
           Board<T>::make(host, memory, neighbourhoods, chain.neighbourhoods) && Board<T>::make(host, memory, quarters, chain.quarters);
  }
  void free(Host &host) const {
    quarters.free(host);
    neighbourhoods.free(host);
    tiles.free(host);
    host.free(next);
  }

  // Hands on the tile's fold; returns what stands before it. By one warp.
  template <class Op, class W>
  HIDP_DEVICE Carry<T> before(W &worker, const Op &op, int64_t tile, const T &fold) const {
    const int own = static_cast<int>(lane<Warp>(worker));
    const int64_t neighbourhood = tile / kNeighbours, quarter = neighbourhood / kNeighbours;
    const int tiles_before = static_cast<int>(tile % kNeighbours), others_before = static_cast<int>(neighbourhood % kNeighbours);
    const bool is_last = tiles_before == kNeighbours - 1;
    if (own == 0) tiles.post(tile, fold);
    Carry<T> near{T{}, false}, all{T{}, false};
    if (tiles_before > 0) near.push(op, fold_of_others(worker, op, tiles, tile - tiles_before, tiles_before));
    if (is_last && own == 0) neighbourhoods.post(neighbourhood, op(near.value, fold));
    if (quarter > 0) all.push(op, shuffle_from<Warp>(worker, own == 0 ? quarters.wait(quarter) : T{}, 0));
    if (others_before > 0) all.push(op, fold_of_others(worker, op, neighbourhoods, neighbourhood - others_before, others_before));
    if (near.any) all.push(op, near.value);
    if (is_last && others_before == kNeighbours - 1 && own == 0) quarters.post(quarter + 1, op(all.value, fold));
    return all;
  }

 private:
  template <class Op, class W>
  static HIDP_DEVICE T fold_of_others(W &worker, const Op &op, const Board<T> &board, int64_t first, int count) {
    const int own = static_cast<int>(lane<Warp>(worker));
    return fold_of_row<Warp, T>(worker, op, own < count ? board.wait(first + own) : T{}, count);
  }
};

template <class T>
inline constexpr int kOnePassRows = sizeof(T) <= 4 ? 16 : sizeof(T) <= 8 ? 8 : sizeof(T) <= 32 ? 4 : 1;
template <class T, class Op>
using OnePassTile = ScanPlace<T, Op, Block, Worker<kBlockThreads>, kOnePassRows<T>>;

template <class T, class Op, class Src, class Dst>
struct ScanTiles {
  using Place = OnePassTile<T, Op>;
  Src in;
  Dst out;
  Chain<T> chain;
  int64_t n, tiles;
  T neutral;
  bool exclusive;

  // A block takes tiles until there are none. The number of its next one is on its way while it works on one: so it has to take that
  // one as well, even after a fault, since others wait for it.
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t) const {
    uint32_t next = take(worker);
    for (;;) {
      const int64_t tile = broadcast<Block>(worker, next);
      if (tile >= tiles) return;
      next = take(worker);
      scan(worker, tile);
    }
  }

 private:
  template <class W>
  HIDP_DEVICE uint32_t take(W &worker) const {
    return is_first<Block>(worker) ? fetch_add(chain.next, 1u) : 0u;
  }

  template <class W>
  HIDP_DEVICE void scan(W &worker, int64_t tile) const {
    const Op op(worker.trap);
    worker.trap.where.item = static_cast<uint64_t>(tile);
    const int64_t base = tile * Place::size, first = base + Place::warp(worker) * Place::part;
    Scanned<T, Op, Block, Place, W> rows;
    rows.template read<Own>(worker, op, in, first, n);
    Carry<T> all{T{}, false};
    const Carry<T> in_tile = fold_before_warp<T, Op, Place>(worker, op, rows.own.value, Place::used_warps(n - base), base, all);
    HIDP_SHARED(Carry<T>, before_tile, 1);
    if (Place::warp(worker) == 0) {
      Carry<T> before = chain.before(worker, op, tile, all.value);
      if (!before.any) before.value = neutral;
      if (is_first<Block>(worker)) store(before_tile, before);
    }
    sync<Block>(worker);
    Carry<T> before = load(before_tile);
    if (in_tile.any) before.push(op, in_tile.value);
    rows.template write<Own>(worker, op, out, first, n, before, exclusive);
    settled<Block, Op>(worker);
    sync<Block>(worker);
  }
};

template <class T, class Op, class Src, class Dst>
inline bool scan_in_one_pass(Host &host, uint32_t memory, Src in, Dst out, int64_t n, const T &neutral, bool exclusive) {
  const int64_t tiles = ceil_div(n, OnePassTile<T, Op>::size);
  Chain<T> chain;
  if (!Chain<T>::make(host, memory, tiles, chain)) return false;
  const ScanTiles<T, Op, Src, Dst> scan{in, out, chain, n, tiles, neutral, exclusive};
  const int64_t blocks = host.groups<Block, kBlockThreads>();
  const bool done = for_items<Block>(host, tiles < blocks ? tiles : blocks, !IsBuiltin<Op>::value, scan);
  chain.free(host);
  return done;
}

HIDP_NAMESPACE_END
