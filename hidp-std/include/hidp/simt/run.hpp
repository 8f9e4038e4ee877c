// The order in which lanes run.
#pragma once

#include <hidp/simt/executor.hpp>

HIDP_NAMESPACE_BEGIN
namespace machine {

inline void Executor::run_blocks() {
  constexpr size_t kUnderWay = 3;
  std::vector<uint32_t> waiting(grid_.count());
  for (uint32_t number = 0; number < waiting.size(); ++number) waiting[number] = number;
  if (order_ == Order::kForward) std::reverse(waiting.begin(), waiting.end());
  if (order_ == Order::kRandom)
    for (size_t at = waiting.size(); at > 1; --at) std::swap(waiting[at - 1], waiting[random(at)]);
  std::vector<std::unique_ptr<Block>> under_way;
  stopped_ = false;
  size_t turn = 0;
  while (!stopped_ && (!waiting.empty() || !under_way.empty())) {
    while (under_way.size() < kUnderWay && !waiting.empty()) {
      under_way.push_back(std::make_unique<Block>(waiting.back(), threads_));
      waiting.pop_back();
      start(*under_way.back());
    }
    const size_t chosen = order_ == Order::kRandom ? random(under_way.size()) : ++turn % under_way.size();
    if (step(*under_way[chosen])) continue;
    if (stopped_) break;
    give_back(*under_way[chosen]);
    under_way.erase(under_way.begin() + static_cast<ptrdiff_t>(chosen));
  }
  for (const std::unique_ptr<Block> &block : under_way) give_back(*block);
}

inline void Executor::start(Block &block) {
  for (Lane &lane : block.lanes) {
    lane.stack = stacks_.take();
    lane.context.start(lane.stack, fiber_main);
  }
}

inline void Executor::give_back(Block &block) {
  for (Lane &lane : block.lanes) stacks_.give(lane.stack);
}

// Lets some lanes of the block go on. Whether any is left.
inline bool Executor::step(Block &block) {
  // Blocks take turns so that one may wait for what another one writes.
  for (uint64_t turns = order_ == Order::kRandom ? 1 + random(2 * threads_) : threads_; turns > 0; --turns) {
    if (block.left == 0) return false;
    if (block.ready.empty()) {
      report_stuck(block);
      stopped_ = true;
      return false;
    }
    size_t chosen = 0;
    if (order_ == Order::kBackward) chosen = block.ready.size() - 1;
    if (order_ == Order::kRandom) chosen = random(block.ready.size());
    const uint32_t thread = block.ready[chosen];
    block.ready[chosen] = order_ == Order::kForward ? thread : block.ready.back();
    if (order_ == Order::kForward) block.ready.pop_front();
    else block.ready.pop_back();
    lane_ = &block.lanes[thread];
    Context::change(scheduler_, lane_->context);
    lane_ = nullptr;
    if (stopped_) return false;
  }
  return block.left > 0;
}

inline void Executor::lane_main() {
  kernel_();
  lane_->state = State::kEnded;
  --lane_->block->left;
  got_on();
  Context::change(lane_->context, scheduler_);
}

inline void Executor::give_way(const Place &place) {
  if (++idle_ > kMostIdle) fail("endless", place, "lanes wait for what never comes");
  if (random(8) != 0) return;
  lane_->block->ready.push_back(lane_->thread);
  if (order_ == Order::kBackward) std::rotate(lane_->block->ready.begin(), lane_->block->ready.end() - 1, lane_->block->ready.end());
  Context::change(lane_->context, scheduler_);
}

}  // namespace machine
HIDP_NAMESPACE_END
