// The order in which lanes run.
#pragma once

#include <hidp/simt/executor.hpp>

HIDP_EXECUTOR_BEGIN

HIDP_EXECUTOR_FUNCTION void Executor::launch(const Grid &grid, uint32_t threads, Body body, bool together) {
  if (!reports.all().empty()) throw Stopped{};
  body_ = body;
  grid_ = grid;
  threads_ = threads;
  together_ = together;
  in_grid_ = 0;
  ++launch_;
  got_on();
  work_ = 0;
  if (counts_ != nullptr) counts_->begin_launch(grid.count(), threads);
  run_blocks();
  if (counts_ != nullptr) counts_->end_launch();
  if (!reports.all().empty()) throw Stopped{};
}

HIDP_EXECUTOR_FUNCTION void Executor::note(const Place &place) {
  const uint32_t number = places.number(place);
  if (lane_ == nullptr) {
    host_program_ = number;
    return;
  }
  lane_->program = number;
  if (place.site != 0) lane_->passed = place.site;
}

HIDP_EXECUTOR_FUNCTION void Executor::run_blocks() {
  const size_t most = together_ ? grid_.count() : 3;
  std::vector<uint32_t> waiting(grid_.count());
  for (uint32_t number = 0; number < waiting.size(); ++number) waiting[number] = number;
  if (order_ == Order::kForward) std::reverse(waiting.begin(), waiting.end());
  if (order_ == Order::kRandom)
    for (size_t at = waiting.size(); at > 1; --at) std::swap(waiting[at - 1], waiting[random(at)]);
  stopped_ = false;
  size_t turn = 0;
  while (!stopped_ && (!waiting.empty() || !under_way_.empty())) {
    while (under_way_.size() < most && !waiting.empty()) {
      under_way_.push_back(std::make_unique<Block>(waiting.back(), threads_));
      waiting.pop_back();
      start(*under_way_.back());
    }
    const size_t chosen = order_ == Order::kRandom ? random(under_way_.size()) : ++turn % under_way_.size();
    if (step(*under_way_[chosen])) continue;
    if (stopped_) break;
    give_back(*under_way_[chosen]);
    under_way_.erase(under_way_.begin() + static_cast<ptrdiff_t>(chosen));
  }
  for (const std::unique_ptr<Block> &block : under_way_) give_back(*block);
  under_way_.clear();
}

HIDP_EXECUTOR_FUNCTION void Executor::start(Block &block) {
  for (Lane &lane : block.lanes) {
    lane.program = host_program_;
    lane.stack = stacks_.take();
    lane.context.start(lane.stack, fiber_main);
  }
}

HIDP_EXECUTOR_FUNCTION void Executor::give_back(Block &block) {
  if (counts_ != nullptr) counts_->end_block(block.sectors);
  for (Lane &lane : block.lanes) stacks_.give(lane.stack);
}

// Lets some lanes of the block go on. Whether any is left.
HIDP_EXECUTOR_FUNCTION bool Executor::step(Block &block) {
  // Blocks take turns so that one may wait for what another one writes.
  turns_ = order_ == Order::kRandom ? 1 + random(2 * threads_) : threads_;
  Lane *const first = next(block);
  if (first != nullptr) {
    lane_ = first;
    Context::change(scheduler_, first->context);
    lane_ = nullptr;
  }
  if (stopped_ || block.left == 0) return false;
  if (turns_ == 0 || block.ready.count() > 0 || waits_for_others(block)) return true;
  report_stuck(block);
  stopped_ = true;
  return false;
}

// Whether no lane goes on because some are at a barrier over the grid, and lanes of other blocks can.
HIDP_EXECUTOR_FUNCTION bool Executor::waits_for_others(const Block &block) const {
  const auto goes_on = [](const std::unique_ptr<Block> &other) { return other->ready.count() > 0; };
  return block.in_grid > 0 && std::any_of(under_way_.begin(), under_way_.end(), goes_on);
}

// The lane of the block that goes on, or null if none can or it is another block's turn.
HIDP_EXECUTOR_FUNCTION Lane *Executor::next(Block &block) {
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
HIDP_EXECUTOR_FUNCTION void Executor::go_on_elsewhere() {
  Lane *const from = lane_;
  Lane *const to = next(*from->block);
  if (to == from) return;
  if (to != nullptr) lane_ = to;
  Context::change(from->context, to != nullptr ? to->context : scheduler_);
}

HIDP_EXECUTOR_FUNCTION void Executor::fiber_main() { running().lane_main(); }

HIDP_EXECUTOR_FUNCTION void Executor::lane_main() {
  body_.run(body_.of);
  lane_->state = State::kEnded;
  stands(*lane_);
  --lane_->block->left;
  got_on();
  go_on_elsewhere();
}

HIDP_EXECUTOR_FUNCTION void Executor::give_way(const Place &place) {
  if (++idle_ > kMostIdle) fail("endless", place, "lanes wait for what never comes");
  if (random(8) != 0) return;
  Ready &ready = lane_->block->ready;
  if (order_ == Order::kBackward) ready.push_first(lane_->thread);
  else ready.push(lane_->thread);
  go_on_elsewhere();
}

HIDP_EXECUTOR_END
