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
    lane.program = host_program_;
    lane.stack = stacks_.take();
    lane.context.start(lane.stack, fiber_main);
  }
}

inline void Executor::give_back(Block &block) {
  if (counts_ != nullptr) counts_->end_block(block.sectors);
  for (Lane &lane : block.lanes) stacks_.give(lane.stack);
}

// Lets some lanes of the block go on. Whether any is left.
inline bool Executor::step(Block &block) {
  // Blocks take turns so that one may wait for what another one writes.
  turns_ = order_ == Order::kRandom ? 1 + random(2 * threads_) : threads_;
  Lane *const first = next(block);
  if (first != nullptr) {
    lane_ = first;
    Context::change(scheduler_, first->context);
    lane_ = nullptr;
  }
  if (stopped_ || block.left == 0) return false;
  if (turns_ == 0 || block.ready.count() > 0) return true;
  report_stuck(block);
  stopped_ = true;
  return false;
}

// The lane of the block that goes on, or null if none can or it is another block's turn.
inline Lane *Executor::next(Block &block) {
  if (turns_ == 0 || block.ready.count() == 0) return nullptr;
  --turns_;
  uint32_t thread = 0;
  switch (order_) {
    case Order::kForward: thread = block.ready.take_first(); break;
    case Order::kBackward: thread = block.ready.take_last(); break;
    case Order::kRandom: thread = block.ready.take(static_cast<uint32_t>(random(block.ready.count()))); break;
  }
  return &block.lanes[thread];
}

// The lane that runs gives way, to another lane of its block without a detour where that is to be the next one.
inline void Executor::go_on_elsewhere() {
  Lane *const from = lane_;
  Lane *const to = next(*from->block);
  if (to == from) return;
  if (to != nullptr) lane_ = to;
  Context::change(from->context, to != nullptr ? to->context : scheduler_);
}

inline void Executor::lane_main() {
  kernel_();
  lane_->state = State::kEnded;
  stands(*lane_);
  --lane_->block->left;
  got_on();
  go_on_elsewhere();
}

inline void Executor::give_way(const Place &place) {
  if (++idle_ > kMostIdle) fail("endless", place, "lanes wait for what never comes");
  if (random(8) != 0) return;
  Ready &ready = lane_->block->ready;
  if (order_ == Order::kBackward) ready.push_first(lane_->thread);
  else ready.push(lane_->thread);
  go_on_elsewhere();
}

}  // namespace machine
HIDP_NAMESPACE_END
