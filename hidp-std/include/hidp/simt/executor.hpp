// Runs kernels on the host, one lane after the other, and looks at what they do.
//
// Every lane is a fiber that runs until it waits for others. Which one is next follows from a seed: the same seed gives the same
// run. Several blocks are under way at a time. Lanes that meet wait for one another by who they are, never by the clock, so
// those that never come are found when nobody can go on.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <hidp/simt/linkage.hpp>
#include <hidp/simt/block.hpp>
#include <hidp/simt/count.hpp>
#include <hidp/simt/memory.hpp>
#include <hidp/simt/place.hpp>
#include <hidp/simt/report.hpp>

HIDP_EXECUTOR_BEGIN

struct Grid {
  uint32_t blocks[3];

  uint32_t count() const { return blocks[0] * blocks[1] * blocks[2]; }
};

// What every lane does.
struct Body {
  void (*run)(const void *of);
  const void *of;
};

class Executor {
 public:
  explicit Executor(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15 + 1), order_(seed < 2 ? static_cast<Order>(seed) : Order::kRandom) {}

  Memory memory;
  Reports reports;
  Places places;

  // Runs `body` in every lane of the grid's blocks of `threads` lanes; all blocks together, if they may wait for each other. Throws
  // `Stopped` where anything was reported.
  void launch(const Grid &grid, uint32_t threads, Body body, bool together = false);

  // Of the lane that runs.
  Lane &lane() { return *lane_; }
  const Grid &grid() const { return grid_; }
  uint32_t block_rank(int dimension) const {
    uint32_t number = lane_->block->number;
    for (int lower = 0; lower < dimension; ++lower) number /= grid_.blocks[lower];
    return number % grid_.blocks[dimension];
  }

  // Notes that something is wrong. Goes on unless too much is.
  void report(const char *kind, const Place &place, const std::string &what) {
    if (add(kind, lane_, place, what)) return;
    stop();
  }
  [[noreturn]] void fail(const char *kind, const Place &place, const std::string &what) {
    add(kind, lane_, place, what);
    stop();
    __builtin_unreachable();
  }

  // What the run time does next, in the lane that runs or on the host, it does for whoever is here.
  void note(const Place &place);

  // Whether requests are counted; those of the calls since this was said.
  void count(bool on) { counts_ = on ? std::make_unique<Counts>() : nullptr; }
  Counts *counts() { return counts_.get(); }
  // The next launch is of the kernel that a compiler calls so.
  void announce(const char *function);
  // Of a loop whose next iteration begins: lanes that are not there yet, before `end`, come first. Then this lane is at `begin`.
  void iterate(uint32_t begin, uint32_t end);
  // The next accesses of the lane, to so many bytes together, are one.
  void together(const Allocation *allocation, const void *address, uint32_t accesses, size_t bytes, bool write, const Place &place);

  // Whether the lane that runs on this thread may touch these bytes; if not, that is reported.
  static bool may_touch(Allocation *allocation, const void *address, size_t bytes, Access access, bool reads, const Place &place);
  bool touch(Allocation *allocation, const void *address, size_t bytes, Access access, bool reads, const Place &place);

  // All lanes of the mask, of one warp, come to the same `place`; `in` of lane `source` is copied to `out`.
  void shuffle(uint32_t mask, const void *in, void *out, size_t bytes, int source, const Place &place) {
    Lane &me = lane();
    me.in = in;
    me.out = out;
    me.source = source;
    meet(mask, Together::kShuffle, bytes, false, place);
  }
  // The lanes for which `vote` holds.
  uint32_t ballot(uint32_t mask, bool vote, const Place &place) {
    uint32_t result = 0;
    lane().out = &result;
    meet(mask, Together::kBallot, 0, vote, place);
    return result;
  }
  void sync_warp(uint32_t mask, const Place &place) { meet(mask, Together::kBarrier, 0, false, place); }
  // All lanes of the grid come here. What they did before is over, as if it were another launch.
  void sync_grid(const Place &place);
  // For how many lanes `vote` holds.
  uint32_t sync_block(int threads, bool vote, const Place &place);

  // Others may go on here: whoever looks at what they change must not keep them from it.
  void give_way(const Place &place);
  // Something has changed for which others may wait.
  void got_on() { idle_ = 0; }

  // What the host does with device memory.
  Allocation *found(const void *address, size_t bytes, const Place &here);
  void copy_in(void *to, const void *from, size_t bytes, const Place &here);
  void copy_out(void *to, const void *from, size_t bytes, const Place &here);
  void zero(void *to, size_t bytes, const Place &here);

  void misaligned(size_t bytes, const Place &place);
  // The array of the block that is declared where `key` is.
  Allocation *shared(const void *key, size_t bytes, const char *name, const Place &place);

 private:
  enum class Order : uint8_t { kForward, kBackward, kRandom };
  static constexpr uint64_t kMostIdle = uint64_t{1} << 21;
  // Relaxed accesses that change nothing after which lanes take turns, whatever their places: some may wait for others.
  static constexpr uint64_t kPatience = 256;
  static constexpr uint64_t kMostWork = uint64_t{1} << 30;
  static constexpr size_t kMostShared = size_t{48} << 10;

  uint64_t random(uint64_t below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 32) * below >> 32;
  }

  void run_blocks();
  void start(Block &block);
  bool step(Block &block);
  Lane *next(Block &block);
  void go_on_elsewhere();
  void give_back(Block &block);
  void lane_main();
  static void fiber_main();

  void meet(uint32_t mask, Together what, size_t bytes, bool vote, const Place &place);
  void mismatch(const Meeting &meeting, uint32_t mask, Together what, size_t bytes, const Place &place);
  void complete(Warp &warp, uint32_t first, const Meeting &meeting);
  void copy_shuffled(Lane &lane, uint32_t first, const Meeting &meeting);
  Lane &block_lane(uint32_t thread) { return lane_->block->lanes[thread]; }
  void wait(State state);
  void ask(const Allocation *allocation, const void *address, size_t bytes, uint32_t what, const Place &place);
  void stands(Lane &lane);
  void goes_on(Lane &lane);
  void grant(Block &block, Warp &warp, uint32_t first);
  void report_stuck(Block &block);
  bool waits_for_others(const Block &block) const;
  std::string where(const Lane &lane) const;

  // A report names the program: for places in the run time, where it was called. Whether there is room for more.
  bool add(const char *kind, const Lane *lane, const Place &place, const std::string &what) {
    const uint32_t program = lane != nullptr ? lane->program : host_program_;
    if (!in_run_time(place.file) || program == Places::kNone) return reports.add(kind, place, what);
    return reports.add(kind, places.at(program), what + ", in " + text(place));
  }

  // Leaves the kernel, or the host function.
  void stop() {
    if (lane_ == nullptr) throw Stopped{};
    stopped_ = true;
    Context::change(lane_->context, scheduler_);
  }

  uint64_t state_;
  const Order order_;
  Stacks &stacks_ = Stacks::of_thread();
  Context scheduler_;
  Body body_ = {};
  Grid grid_ = {};
  uint32_t threads_ = 0;
  uint32_t launch_ = 0;
  // Whether all blocks of the launch run together; lanes at a barrier over the grid.
  bool together_ = false;
  uint32_t in_grid_ = 0;
  std::vector<std::unique_ptr<Block>> under_way_;
  // Relaxed accesses since anything has changed; accesses of the launch.
  uint64_t idle_ = 0;
  uint64_t work_ = 0;
  Lane *lane_ = nullptr;
  // Where the host function was last in the program.
  uint32_t host_program_ = Places::kNone;
  // How many lanes of the block still go on before it is another block's turn.
  uint64_t turns_ = 0;
  bool stopped_ = false;
  // Null unless requests are counted.
  std::unique_ptr<Counts> counts_;
};

HIDP_EXECUTOR_END

#if HIDP_EXECUTOR_IS_HERE
// What runs on this thread of the host, the same for all files of a program.
HIDP_SIMT_EXPORT void **hidp_simt_current() {
  static thread_local void *current = nullptr;
  return &current;
}
#else
extern "C" void **hidp_simt_current();
#endif

HIDP_EXECUTOR_BEGIN

inline Executor &running() { return *static_cast<Executor *>(*hidp_simt_current()); }

HIDP_EXECUTOR_END
