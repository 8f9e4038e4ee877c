// Levels, and what a thread knows of its launch and of the item that its group works on.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/cuda/fault.cuh>
#include <hidp/cuda/target.cuh>

HIDP_NAMESPACE_BEGIN

// Levels: groups of 1, 4, 8 and 32 lanes, and all threads of a block.
struct Thread {};
struct Subwarp2 {};
struct Subwarp {};
struct Warp {};
struct Block {};

// Lanes of a group, in blocks of so many threads.
template <class Level, int Threads>
inline constexpr uint32_t kLanes = 1;
template <int Threads>
inline constexpr uint32_t kLanes<Subwarp2, Threads> = 4;
template <int Threads>
inline constexpr uint32_t kLanes<Subwarp, Threads> = 8;
template <int Threads>
inline constexpr uint32_t kLanes<Warp, Threads> = 32;
template <int Threads>
inline constexpr uint32_t kLanes<Block, Threads> = Threads;

template <class Level>
inline constexpr bool kIsBlock = false;
template <>
inline constexpr bool kIsBlock<Block> = true;

// Which of a trap's positions a loop of the group sets.
template <class Level>
inline constexpr int kPosition = 0;
template <>
inline constexpr int kPosition<Warp> = 1;
template <>
inline constexpr int kPosition<Subwarp> = 2;
template <>
inline constexpr int kPosition<Subwarp2> = 3;

// One launch, as all its threads get it.
struct Launch {
  // Of the call's faults; none if no launch until now can have one.
  Any<FaultRecord> record;
  // Items: x varies fastest.
  int64_t extents[3];
  // Of the launch in its call.
  uint32_t number;
  // Whether an earlier launch may have failed: then this one does nothing.
  bool looks;
  // The groups of a block that take items, and the dimensions that they are laid out in: 2^x_bits by 2^y_bits by the rest.
  uint32_t groups;
  uint8_t x_bits, y_bits;
  // How many times the groups of a block go on along y and z, one place after the other.
  int64_t y_turns, z_turns;
  // Whether threads that could take several items side by side take one: there are too few for all threads, or rows of threads are short.
  bool one_by_one;
};

// Where a block is among those of a launch, in each dimension, and how many there are.
struct BlockPlace {
  uint32_t rank[3], count[3];
};

// A thread. `Threads` is the size of its block.
template <int Threads>
struct Worker {
  static constexpr int threads = Threads;
  Trap trap;
  BlockPlace block;

  HIDP_DEVICE explicit Worker(const Launch &launch)
      : Worker(launch, {{block_rank(0), block_rank(1), block_rank(2)}, {block_count(0), block_count(1), block_count(2)}}) {}
  HIDP_DEVICE Worker(const Launch &launch, const BlockPlace &place) : block(place) {
    trap.on_device = true;
    trap.where.record = launch.record;
    trap.where.launch = launch.number;
  }

  // In a loop of a `Group`, dealt out to its parts: what this part is at.
  template <class Group>
  HIDP_DEVICE void at(int64_t position) {
    trap.where.positions[kPosition<Group>] = position;
  }
};

// Number of this group among those of the launch that run at a time, of a kernel whose groups are `Group`s.
template <class Group, int Threads>
HIDP_DEVICE int64_t group_number(const Worker<Threads> &worker) {
  constexpr uint32_t per_block = Threads / kLanes<Group, Threads>;
  const uint32_t(&rank)[3] = worker.block.rank, (&count)[3] = worker.block.count;
  const int64_t block = (int64_t{rank[2]} * count[1] + rank[1]) * count[0] + rank[0];
  return block * per_block + thread_rank() / kLanes<Group, Threads>;
}

// The x dimension of a launch, as one group goes along it. `Index` holds all items' numbers, and as many beyond the last as a grid has.
template <class Index>
struct Stride {
  Index first, step;

  HIDP_DEVICE Stride(const BlockPlace &block, uint32_t group, uint32_t groups)
      : first(Index(block.rank[0]) * Index(groups) + Index(group)), step(Index(block.count[0]) * Index(groups)) {}
};

// Another dimension: a block goes on to its neighbour, which reads again some of what it has read, if items read what is around them.
template <class Index>
struct March {
  Index first, end;

  HIDP_DEVICE March(const BlockPlace &block, int dimension, int64_t turns, int64_t whole, uint32_t group, uint32_t groups) {
    const Index extent = Index(whole), own = Index(turns) * Index(groups), begin = Index(block.rank[dimension]) * own;
    first = begin + Index(group);
    end = begin + own < extent ? begin + own : extent;
  }
};

// Where the loops over items end, behind whatever is done for one, from the inside out.
[[maybe_unused]] constexpr uint32_t kEndOfItem = ~uint32_t{3}, kEndOfRow = ~uint32_t{2}, kEndOfPlane = ~uint32_t{1}, kEndOfItems = ~uint32_t{0};

// Threads side by side along x where items have several dimensions: a row of a block.
constexpr int kRowBits = 5;
constexpr uint32_t kRowThreads = uint32_t{1} << kRowBits;

// Calls body(x) for x = first, first + step … below the extent, and with each for Items that are so far apart.
//
// Not unrolled, but for those: each thread would divide to find the number of its turns, of which there are few. Of one turn's items
// the loads come first, as far as the compiler sees that no store goes between: more bytes are under way at a time.
template <int Items, class Index, class Body>
HIDP_DEVICE void along(Index first, Index step, Index extent, Index apart, Body body) {
#pragma unroll 1
  for (Index x = first; x < extent; x += step) {
    HIDP_ITERATION(0, kEndOfRow);
    if constexpr (Items == 1) {
      if (!body(x)) return;
    } else if (x + (Items - 1) * apart < extent) {
#pragma unroll
      for (int at = 0; at < Items; ++at) {
        HIDP_ITERATION(0, kEndOfItem);
        if (!body(x + at * apart)) return;
      }
    } else {
#pragma unroll
      for (int at = 0; at < Items; ++at) {
        HIDP_ITERATION(0, kEndOfItem);
        if (x + at * apart < extent && !body(x + at * apart)) return;
      }
    }
  }
}

// The same for one group of many, side by side, along x. Several items at a time are a constant apart, so that the compiler knows that
// they are different ones, and finds all from one address: `Apart` groups, which then is the number of groups.
template <int Items, uint32_t Apart, class Index, class Body>
HIDP_DEVICE void along_x(const Launch &launch, const BlockPlace &block, uint32_t group, uint32_t groups, Body body) {
  if (Items == 1 || launch.one_by_one) {
    const Stride<Index> stride(block, group, groups);
    along<1, Index>(stride.first, stride.step, Index(launch.extents[0]), Index(groups), body);
  } else {
    const Stride<Index> blocks(block, 0, Apart * Items);
    along<Items, Index>(blocks.first + Index(group), blocks.step, Index(launch.extents[0]), Index(Apart), body);
  }
}

// Whether an earlier launch has failed. Faults of this one do not count: some lanes of a block may have seen them, and others not.
HIDP_DEVICE bool failed_before(const Launch &launch) {
  const uint32_t failed = load_relaxed(HIDP_FIELD(launch.record, .failed_launch));
  return failed != 0 && failed - 1 < launch.number;
}

// Calls body([z, [y,]] x) for each item of this thread's group, in increasing order. All lanes of the group get the same items.
// After a fault there are no more.
template <class Group, int Dimensions, int Items = 1, class Index = int64_t, int Threads, class Body>
HIDP_DEVICE void each_item(Worker<Threads> &worker, const Launch &launch, Body body) {
  const uint32_t group = thread_rank() / kLanes<Group, Threads>;
  if (group >= launch.groups) return;
  if (launch.looks && failed_before(launch)) return;
  const int64_t(&extents)[3] = launch.extents;
  uint64_t &item = worker.trap.where.item;
  if constexpr (Dimensions == 1) {
    // Launches that take several items have no limit.
    constexpr uint32_t kAll = Threads / kLanes<Group, Threads>;
    along_x<Items, kAll, Index>(launch, worker.block, group, Items == 1 ? launch.groups : kAll, [&](Index x) {
      item = x;
      body(x);
      return !worker.trap.raised;
    });
  } else {
    const uint32_t x_groups = uint32_t{1} << launch.x_bits, x_group = group & (x_groups - 1);
    const uint32_t rest = group >> launch.x_bits, rest_groups = launch.groups >> launch.x_bits;
    if constexpr (Dimensions == 2) {
      const March<Index> along_y(worker.block, 1, launch.y_turns, extents[1], rest, rest_groups);
      for (Index y = along_y.first; y < along_y.end; y += Index(rest_groups)) {
        HIDP_ITERATION(0, kEndOfPlane);
        along_x<Items, kRowThreads, Index>(launch, worker.block, x_group, x_groups, [&](Index x) {
          item = int64_t(y) * extents[0] + x;
          body(y, x);
          return !worker.trap.raised;
        });
        if (worker.trap.raised) return;
      }
    } else {
      const uint32_t y_groups = uint32_t{1} << launch.y_bits, z_groups = rest_groups >> launch.y_bits;
      const March<Index> along_y(worker.block, 1, launch.y_turns, extents[1], rest & (y_groups - 1), y_groups);
      const March<Index> along_z(worker.block, 2, launch.z_turns, extents[2], rest >> launch.y_bits, z_groups);
      for (Index z = along_z.first; z < along_z.end; z += Index(z_groups)) {
        HIDP_ITERATION(0, kEndOfItems);
        for (Index y = along_y.first; y < along_y.end; y += Index(y_groups)) {
          HIDP_ITERATION(0, kEndOfPlane);
          along_x<Items, kRowThreads, Index>(launch, worker.block, x_group, x_groups, [&](Index x) {
            item = (z * extents[1] + y) * extents[0] + x;
            body(z, y, x);
            return !worker.trap.raised;
          });
          if (worker.trap.raised) return;
        }
      }
    }
  }
}

HIDP_NAMESPACE_END
