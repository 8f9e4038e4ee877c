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
};

// A thread. `Threads` is the size of its block.
template <int Threads>
struct Worker {
  static constexpr int threads = Threads;
  Trap trap;

  HIDP_DEVICE explicit Worker(const Launch &launch) {
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
HIDP_DEVICE int64_t group_number(const Worker<Threads> &) {
  constexpr uint32_t per_block = Threads / kLanes<Group, Threads>;
  const int64_t block = (int64_t{block_rank(2)} * block_count(1) + block_rank(1)) * block_count(0) + block_rank(0);
  return block * per_block + thread_rank() / kLanes<Group, Threads>;
}

// The items of this thread's group, one after the other, in increasing order:
//   for (hidp::Items<hidp::Warp, 2, 256> items(worker, launch); items.more(); items.next()) …
// What the group's lanes see is the same. After a fault there are no more.
template <class Group, int Dimensions, int Threads>
class Items {
 public:
  HIDP_DEVICE Items(Worker<Threads> &worker, const Launch &launch) : worker_(worker), launch_(launch) {
    const uint32_t group = thread_rank() / kLanes<Group, Threads>;
    if (group >= launch.groups || (launch.looks && load_relaxed(HIDP_FIELD(launch.record, .raised)) != 0)) {
      done_ = true;
      return;
    }
    if constexpr (Dimensions == 1) {
      set(0, group, launch.groups);
    } else {
      const uint32_t rest = group >> launch.x_bits;
      set(0, group & low_bits(launch.x_bits), uint32_t{1} << launch.x_bits);
      if constexpr (Dimensions == 2) {
        set(1, rest, launch.groups >> launch.x_bits);
      } else {
        set(1, rest & low_bits(launch.y_bits), uint32_t{1} << launch.y_bits);
        set(2, rest >> launch.y_bits, launch.groups >> (launch.x_bits + launch.y_bits));
      }
    }
    done_ = false;
    for (int at = 0; at < Dimensions; ++at) done_ = done_ || position_[at] >= launch.extents[at];
    arrive();
  }

  HIDP_DEVICE bool more() const { return !done_ && !worker_.trap.raised; }
  HIDP_DEVICE void next() {
    for (int at = 0; at < Dimensions; ++at) {
      position_[at] += step(at);
      if (position_[at] < launch_.extents[at]) return arrive();
      position_[at] = first_[at];
    }
    done_ = true;
  }

  HIDP_DEVICE int64_t x() const { return position_[0]; }
  HIDP_DEVICE int64_t y() const { return position_[1]; }
  HIDP_DEVICE int64_t z() const { return position_[2]; }

 private:
  static HIDP_DEVICE uint32_t low_bits(uint32_t bits) { return (uint32_t{1} << bits) - 1; }
  HIDP_DEVICE void set(int dimension, uint32_t group, uint32_t groups) {
    first_[dimension] = int64_t{block_rank(dimension)} * groups + group;
    position_[dimension] = first_[dimension];
    groups_[dimension] = groups;
  }
  HIDP_DEVICE int64_t step(int dimension) const { return int64_t{block_count(dimension)} * groups_[dimension]; }
  HIDP_DEVICE void arrive() {
    uint64_t item = 0;
    for (int at = Dimensions; at-- > 0;) item = item * static_cast<uint64_t>(launch_.extents[at]) + static_cast<uint64_t>(position_[at]);
    worker_.trap.where.item = item;
  }

  Worker<Threads> &worker_;
  const Launch &launch_;
  int64_t first_[Dimensions], position_[Dimensions];
  uint32_t groups_[Dimensions];
  bool done_;
};

HIDP_NAMESPACE_END
