// The lanes of a block, and where they meet.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <hidp/simt/linkage.hpp>
#include <hidp/simt/count.hpp>
#include <hidp/simt/fiber.hpp>
#include <hidp/simt/memory.hpp>
#include <hidp/simt/place.hpp>
#include <hidp/simt/shadow.hpp>

HIDP_EXECUTOR_BEGIN

// What lanes do together.
enum class Together : uint8_t { kBarrier, kShuffle, kBallot };

inline const char *name_of(Together what) {
  switch (what) {
    case Together::kBarrier: return "a barrier";
    case Together::kShuffle: return "a shuffle";
    case Together::kBallot: return "a vote";
  }
  return "";
}

// A lane that asks goes on when its warp makes the request that it is part of.
enum class State : uint8_t { kReady, kAsks, kWaitsInWarp, kWaitsInBlock, kWaitsInGrid, kEnded };

struct Block;

struct Lane {
  Context context;
  void *stack = nullptr;
  Block *block = nullptr;
  uint32_t thread = 0;
  State state = State::kReady;
  // Where it was last in the program, the run time's headers not counted.
  uint32_t program = Places::kNone;
  // While it waits.
  Together what = Together::kBarrier;
  uint32_t mask = 0;
  Place place = Place::here();
  const void *in = nullptr;
  void *out = nullptr;
  int source = 0;
  // Where requests are counted: the last number that it came by; while it asks, what for; further accesses that are part of that.
  uint32_t passed = 0;
  uint32_t granted = 0;
  Wish wish = {};

  int in_warp() const { return static_cast<int>(thread % kWarp); }
};

// Lanes that have come to do something together, and who must still come.
struct Meeting {
  uint32_t mask = 0;
  uint32_t arrived = 0;
  uint32_t votes = 0;
  size_t bytes = 0;
  Together what = Together::kBarrier;
  Place place = Place::here();
};

struct Warp {
  WarpClocks clocks;
  // One for each mask that somebody waits with: small groups go at their own pace until they are part of a larger one.
  std::vector<Meeting> meetings;
  // Lanes that can go on without the others.
  uint32_t going = 0;
  // Where in the program the last request was.
  uint64_t last = 0;

  Meeting *find(uint32_t mask) {
    for (Meeting &meeting : meetings)
      if (meeting.mask == mask) return &meeting;
    return nullptr;
  }
};

// Lanes that can go on, in the order in which they could: a ring.
class Ready {
 public:
  explicit Ready(uint32_t most) {
    uint32_t room = 1;
    while (room < most) room *= 2;
    ring_.resize(room);
  }

  uint32_t count() const { return count_; }
  void push(uint32_t thread) { at(count_++) = thread; }
  uint32_t take_first() {
    --count_;
    return ring_[first_++ & mask()];
  }
  uint32_t take_last() { return at(--count_); }
  // Of this number; the last one takes its place.
  uint32_t take(uint32_t number) {
    const uint32_t thread = at(number);
    at(number) = at(--count_);
    return thread;
  }
  void push_first(uint32_t thread) {
    ring_[--first_ & mask()] = thread;
    ++count_;
  }

 private:
  uint32_t mask() const { return static_cast<uint32_t>(ring_.size()) - 1; }
  uint32_t &at(uint32_t number) { return ring_[(first_ + number) & mask()]; }

  std::vector<uint32_t> ring_;
  uint32_t first_ = 0, count_ = 0;
};

struct Block {
  Block(uint32_t number, uint32_t threads)
      : number(number), lanes(threads), warps((threads + kWarp - 1) / kWarp), ready(threads), left(threads) {
    for (uint32_t thread = 0; thread < threads; ++thread) {
      lanes[thread].block = this;
      lanes[thread].thread = thread;
      ready.push(thread);
      warp_of(lanes[thread]).going += 1;
    }
    for (Warp &warp : warps)
      for (int lane = 0; lane < kWarp; ++lane) warp.clocks.seen[lane][lane] = 1;
  }

  const uint32_t number;
  std::vector<Lane> lanes;
  std::vector<Warp> warps;
  Ready ready;
  // Lanes that have not ended.
  uint32_t left;
  uint32_t epoch = 0;
  // Of the barrier of all lanes.
  uint32_t arrived = 0;
  uint32_t votes = 0;
  // What the last one came to: all lanes look at it before they can come to the next one.
  uint32_t voted = 0;
  Place place = Place::here();
  // By the place of the declaration.
  std::map<const void *, std::unique_ptr<Allocation>> shared;
  size_t shared_bytes = 0;
  BlockSectors sectors;

  // Lanes that wait at a barrier over the grid.
  uint32_t in_grid = 0;

  Warp &warp_of(const Lane &lane) { return warps[lane.thread / kWarp]; }
  Moment moment(const Lane &lane) {
    const int row = lane.in_warp();
    return {number, lane.thread, epoch, warp_of(lane).clocks.seen[row][row]};
  }
};

inline std::string text(const Lane &lane) {
  return "lane " + std::to_string(lane.thread) + " of block " + std::to_string(lane.block->number);
}

HIDP_EXECUTOR_END
