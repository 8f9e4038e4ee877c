// Requests of warps, where they are counted.
//
// A lane stops at each access. When no lane of its warp goes on by itself any more, those at the lowest place of the program go on
// together: that is one request. So lanes that went different ways come together again where their ways meet, as on a GPU
// whose compiler lays out code in the order of the text. A loop is left when all have left it, and an iteration begins when all
// have ended the last one: loops say so.
#pragma once

#include <hidp/simt/executor.hpp>

HIDP_EXECUTOR_BEGIN

// Order by numbers; what a header does comes after the number that its caller passed, in the order of lines.
inline uint64_t order_of(uint32_t site, uint32_t line) { return uint64_t{site} << 32 | line; }

HIDP_EXECUTOR_FUNCTION void Executor::ask(const Allocation *allocation, const void *address, size_t bytes, uint32_t what, const Place &place) {
  Lane &me = lane();
  if (me.granted > 0) {
    --me.granted;
    return;
  }
  if (place.site != 0) me.passed = place.site;
  const uint64_t order = order_of(me.passed, place.site != 0 ? 0 : static_cast<uint32_t>(place.line));
  me.wish = {place, order, what, allocation->shared, static_cast<uint32_t>(bytes), reinterpret_cast<uintptr_t>(address), allocation->name.c_str()};
  wait(State::kAsks);
}

HIDP_EXECUTOR_FUNCTION void Executor::announce(const char *function) {
  if (counts_ != nullptr) counts_->announce(kernel_name(function));
}

HIDP_EXECUTOR_FUNCTION void Executor::together(const Allocation *allocation, const void *address, uint32_t accesses, size_t bytes, bool write, const Place &place) {
  if (counts_ == nullptr || lane_ == nullptr || allocation == nullptr || allocation->freed) return;
  if (!allocation->holds(allocation->offset(address), bytes, write)) return;
  ask(allocation, address, bytes, write ? HIDP_COUNTED_STORE : HIDP_COUNTED_LOAD, place);
  lane_->granted = accesses;
}

HIDP_EXECUTOR_FUNCTION void Executor::iterate(uint32_t begin, uint32_t end) {
  if (counts_ == nullptr) return;
  Lane &me = lane();
  me.wish = {Place{"", 0, 0}, order_of(end, ~uint32_t{0}), kIterates, false, 0, 0, ""};
  wait(State::kAsks);
  me.passed = begin;
}

// The lane does not go on by itself.
HIDP_EXECUTOR_FUNCTION void Executor::stands(Lane &lane) {
  Block &block = *lane.block;
  Warp &warp = block.warp_of(lane);
  if (--warp.going == 0 && counts_ != nullptr) grant(block, warp, lane.thread / kWarp * kWarp);
}

HIDP_EXECUTOR_FUNCTION void Executor::goes_on(Lane &lane) {
  lane.state = State::kReady;
  lane.block->warp_of(lane).going += 1;
  lane.block->ready.push(lane.thread);
}

// No lane of the warp goes on by itself: those at the lowest place do what they ask for. Where nothing changes any more, lanes may be
// waiting in a loop for others of their warp: then each place gets its turn.
HIDP_EXECUTOR_FUNCTION void Executor::grant(Block &block, Warp &warp, uint32_t first) {
  const uint32_t end = std::min<uint32_t>(first + kWarp, static_cast<uint32_t>(block.lanes.size()));
  const uint64_t from = idle_ > kPatience ? warp.last + 1 : 0;
  const Lane *lowest = nullptr;
  for (uint32_t thread = first; thread < end; ++thread) {
    const Lane &lane = block.lanes[thread];
    if (lane.state != State::kAsks) continue;
    if (lowest == nullptr || lane.wish.order - from < lowest->wish.order - from) lowest = &lane;
  }
  if (lowest == nullptr) return;
  const Wish wish = lowest->wish;
  warp.last = wish.order;
  std::vector<Asking> lanes;
  for (uint32_t thread = first; thread < end; ++thread) {
    Lane &lane = block.lanes[thread];
    if (lane.state != State::kAsks || !lane.wish.joins(wish)) continue;
    lanes.push_back({thread - first, lane.wish.address});
    goes_on(lane);
  }
  if (wish.what != kIterates) counts_->request(wish, lanes, end - first, block.sectors);
}

HIDP_EXECUTOR_END
