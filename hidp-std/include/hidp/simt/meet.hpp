// Barriers, shuffles and votes: lanes that wait for one another.
#pragma once

#include <hidp/simt/executor.hpp>

HIDP_EXECUTOR_BEGIN

inline std::string list_of(uint32_t mask) {
  std::string text;
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    int last = lane;
    while (last + 1 < kWarp && (mask >> (last + 1) & 1) != 0) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(lane) + (last > lane ? "-" + std::to_string(last) : "");
    lane = last;
  }
  return text;
}

inline uint32_t counted(Together what) {
  switch (what) {
    case Together::kBarrier: return HIDP_COUNTED_WARP_BARRIER;
    case Together::kShuffle: return HIDP_COUNTED_SHUFFLE;
    case Together::kBallot: return HIDP_COUNTED_VOTE;
  }
  return HIDP_COUNTED_WARP_BARRIER;
}

HIDP_EXECUTOR_FUNCTION void Executor::wait(State state) {
  lane_->state = state;
  stands(*lane_);
  go_on_elsewhere();
}

HIDP_EXECUTOR_FUNCTION void Executor::meet(uint32_t mask, Together what, size_t bytes, bool vote, const Place &place) {
  Lane &me = lane();
  const uint32_t own = uint32_t{1} << me.in_warp();
  if ((mask & own) == 0)
    fail("inactive lane", place, text(me) + " is at " + name_of(what) + " of the lanes " + list_of(mask) + " of its warp, to which it does not belong");
  me.what = what;
  me.mask = mask;
  me.place = place;
  Warp &warp = me.block->warp_of(me);
  Meeting *meeting = warp.find(mask);
  if (meeting == nullptr) {
    warp.meetings.push_back(Meeting{mask, 0, 0, bytes, what, place});
    meeting = &warp.meetings.back();
  } else if (meeting->what != what || meeting->bytes != bytes || meeting->place.line != place.line) {
    mismatch(*meeting, mask, what, bytes, place);
  }
  meeting->arrived |= own;
  meeting->votes |= vote ? own : 0;
  got_on();
  if (meeting->arrived != mask) return wait(State::kWaitsInWarp);
  const Meeting all = *meeting;
  *meeting = warp.meetings.back();
  warp.meetings.pop_back();
  complete(warp, me.thread / kWarp * kWarp, all);
}

HIDP_EXECUTOR_FUNCTION void Executor::mismatch(const Meeting &meeting, uint32_t mask, Together what, size_t bytes, const Place &place) {
  std::string told = text(lane()) + " is at " + name_of(what) + " of lanes " + list_of(mask) + " while lanes " + list_of(meeting.arrived) +
                     " of its warp are at " + name_of(meeting.what) + " (" + text(meeting.place) + ")";
  if (meeting.bytes != bytes) told += ", with values of another size";
  fail("divergence", place, told);
}

// Everybody is here; the lane that runs is the last one.
HIDP_EXECUTOR_FUNCTION void Executor::complete(Warp &warp, uint32_t first, const Meeting &meeting) {
  Block &block = *lane_->block;
  if (counts_ != nullptr) {
    const uint32_t of_warp = std::min<uint32_t>(kWarp, threads_ - first);
    counts_->meeting(meeting.place, 0, counted(meeting.what), static_cast<uint32_t>(__builtin_popcount(meeting.mask)), of_warp, meeting.bytes);
  }
  for (uint32_t rest = meeting.mask; rest != 0; rest &= rest - 1) {
    Lane &lane = block.lanes[first + static_cast<uint32_t>(__builtin_ctz(rest))];
    switch (meeting.what) {
      case Together::kBarrier: break;
      case Together::kShuffle: copy_shuffled(lane, first, meeting); break;
      case Together::kBallot: *static_cast<uint32_t *>(lane.out) = meeting.votes; break;
    }
    if (&lane != lane_) goes_on(lane);
  }
  if (meeting.what == Together::kBarrier) warp.clocks.join(meeting.mask);
}

HIDP_EXECUTOR_FUNCTION void Executor::copy_shuffled(Lane &lane, uint32_t first, const Meeting &meeting) {
  const bool takes_part = lane.source >= 0 && lane.source < kWarp && (meeting.mask >> lane.source & 1) != 0;
  if (takes_part) {
    const void *const from = block_lane(first + static_cast<uint32_t>(lane.source)).in;
    if (meeting.bytes == 4) std::memcpy(lane.out, from, 4);
    else if (meeting.bytes == 8) std::memcpy(lane.out, from, 8);
    else std::memcpy(lane.out, from, meeting.bytes);
    return;
  }
  report("inactive lane", lane.place, text(lane) + " takes a value from lane " + std::to_string(lane.source) + " of its warp, which does not take part: lanes " +
                                          list_of(meeting.mask) + " do");
  std::memcpy(lane.out, lane.in, meeting.bytes);
}

HIDP_EXECUTOR_FUNCTION uint32_t Executor::sync_block(int threads, bool vote, const Place &place) {
  Lane &me = lane();
  Block &block = *me.block;
  if (static_cast<uint32_t>(threads) != threads_)
    fail("divergence", place, "a barrier of " + std::to_string(threads) + " threads in a block of " + std::to_string(threads_));
  me.place = place;
  me.what = Together::kBarrier;
  if (block.arrived == 0) block.place = place, block.votes = 0;
  else if (block.place.line != place.line)
    fail("divergence", place, text(me) + " is at a barrier of its block while other lanes are at that of " + text(block.place));
  block.votes += vote;
  got_on();
  if (++block.arrived < block.lanes.size()) {
    wait(State::kWaitsInBlock);
    return block.voted;
  }
  block.arrived = 0;
  block.voted = block.votes;
  if (counts_ != nullptr) counts_->meeting(place, 0, HIDP_COUNTED_BLOCK_BARRIER, threads_, threads_, 0);
  ++block.epoch;
  for (Lane &lane : block.lanes) {
    if (&lane != lane_) goes_on(lane);
  }
  return block.voted;
}

HIDP_EXECUTOR_FUNCTION void Executor::sync_grid(const Place &place) {
  Lane &me = lane();
  if (!together_) fail("divergence", place, text(me) + " is at a barrier over a grid whose blocks do not all run at the same time");
  me.place = place;
  got_on();
  ++me.block->in_grid;
  if (++in_grid_ < grid_.count() * threads_) return wait(State::kWaitsInGrid);
  in_grid_ = 0;
  ++launch_;
  if (counts_ != nullptr) {
    for (const std::unique_ptr<Block> &block : under_way_) counts_->end_block(block->sectors);
    counts_->end_launch();
    counts_->begin_launch(grid_.count(), threads_);
  }
  for (const std::unique_ptr<Block> &block : under_way_) {
    block->in_grid = 0;
    for (Lane &lane : block->lanes) {
      if (&lane != lane_) goes_on(lane);
    }
  }
}

HIDP_EXECUTOR_FUNCTION std::string Executor::where(const Lane &lane) const {
  switch (lane.state) {
    case State::kEnded: return "have ended";
    case State::kReady:
    case State::kAsks: return "can go on";
    case State::kWaitsInBlock: return "wait at a barrier of their block (" + text(lane.place) + ")";
    case State::kWaitsInGrid: return "wait at a barrier over the grid (" + text(lane.place) + ")";
    case State::kWaitsInWarp:
      return std::string("wait at ") + name_of(lane.what) + " of lanes " + list_of(lane.mask) + " of their warp (" + text(lane.place) + ")";
  }
  return "";
}

// Nobody in the block can go on.
HIDP_EXECUTOR_FUNCTION void Executor::report_stuck(Block &block) {
  std::vector<std::pair<std::string, std::string>> groups;
  const Lane *first = nullptr;
  for (uint32_t thread = 0; thread < block.lanes.size();) {
    const std::string told = where(block.lanes[thread]);
    uint32_t last = thread;
    while (last + 1 < block.lanes.size() && where(block.lanes[last + 1]) == told) ++last;
    if (first == nullptr && block.lanes[thread].state != State::kEnded) first = &block.lanes[thread];
    const std::string lanes = std::to_string(thread) + (last > thread ? "-" + std::to_string(last) : "");
    auto known = std::find_if(groups.begin(), groups.end(), [&](const auto &group) { return group.first == told; });
    if (known == groups.end()) groups.push_back({told, lanes});
    else known->second += ", " + lanes;
    thread = last + 1;
  }
  std::string told = "not all lanes of block " + std::to_string(block.number) + " come";
  for (const auto &group : groups) told += (&group == &groups.front() ? ": " : "; ") + group.second + " " + group.first;
  add("divergence", first, first->place, told);
}

HIDP_EXECUTOR_END
