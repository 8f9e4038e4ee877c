// Groups of lanes: what a level's lanes do together. `Group` and `Over` are levels; a group consists of groups of a lower level,
// or of lanes, which are groups of one thread.
//
// All lanes of the group call, at the same time, unless a function says otherwise. Groups up to a warp wait for their own
// lanes only; so do blocks. What the lanes wrote before a barrier is seen by all of them after it.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/cuda/target.cuh>
#include <hidp/cuda/worker.cuh>

HIDP_NAMESPACE_BEGIN

// Any lane may call these.

// The number of this lane in its group.
template <class Group, int Threads>
HIDP_DEVICE uint32_t lane(const Worker<Threads> &) {
  return thread_rank() % kLanes<Group, Threads>;
}
// Which `Over` of its `Group` this lane is in.
template <class Group, class Over, int Threads>
HIDP_DEVICE uint32_t rank(const Worker<Threads> &worker) {
  return lane<Group>(worker) / kLanes<Over, Threads>;
}
// How many `Over` a `Group` has.
template <class Group, class Over, int Threads>
HIDP_DEVICE constexpr uint32_t count(const Worker<Threads> &) {
  return kLanes<Group, Threads> / kLanes<Over, Threads>;
}
// Whether this is the group's first lane.
template <class Group, int Threads>
HIDP_DEVICE bool is_first(const Worker<Threads> &worker) {
  return lane<Group>(worker) == 0;
}
// The contiguous part of [lo, hi) by steps that this `Over` of its `Group` gets, when all get as many steps, but for the last ones.
struct Part {
  int64_t begin, end;
};
template <class Group, class Over, int Threads>
HIDP_DEVICE Part part(const Worker<Threads> &worker, int64_t lo, int64_t hi, int64_t step) {
  if (lo >= hi) return Part{hi, hi};
  constexpr int64_t parts = kLanes<Group, Threads> / kLanes<Over, Threads>;
  const int64_t steps = (hi - lo - 1) / step + 1;
  const int64_t first = ((steps - 1) / parts + 1) * rank<Group, Over>(worker);
  const int64_t last = first + (steps - 1) / parts + 1;
  return Part{first < steps ? lo + first * step : hi, last < steps ? lo + last * step : hi};
}

// The group's lanes in its warp; no group is larger.
template <class Group, int Threads>
HIDP_DEVICE uint32_t mask(const Worker<Threads> &) {
  constexpr uint32_t lanes = kLanes<Group, Threads>;
  static_assert(!kIsBlock<Group>, "a mask is of one warp");
  if constexpr (lanes == 32) return ~uint32_t{0};
  else return ((uint32_t{1} << lanes) - 1) << (thread_rank() % 32 / lanes * lanes);
}

// A barrier.
template <class Group, int Threads>
HIDP_DEVICE void sync(Worker<Threads> &worker HIDP_WHERE) {
  if constexpr (kIsBlock<Group>) block_barrier(Threads HIDP_HERE);
  else if constexpr (kLanes<Group, Threads> > 1) warp_barrier(mask<Group>(worker) HIDP_HERE);
}

// Whether any lane says so. Waits.
template <class Group, int Threads>
HIDP_DEVICE bool any(Worker<Threads> &worker, bool value HIDP_WHERE) {
  if constexpr (kIsBlock<Group>) return block_any(Threads, value HIDP_HERE);
  else if constexpr (kLanes<Group, Threads> > 1) return warp_any(mask<Group>(worker), value HIDP_HERE);
  else return value;
}

// The value of lane `from` of the group, of groups up to a warp. `from` may differ from lane to lane.
template <class Group, class T, int Threads>
HIDP_DEVICE T shuffle_from(Worker<Threads> &worker, const T &value, uint32_t from HIDP_WHERE) {
  constexpr uint32_t lanes = kLanes<Group, Threads>;
  if constexpr (lanes == 1) return value;
  else return shuffle(mask<Group>(worker), value, (thread_rank() % 32 & ~(lanes - 1)) | from % lanes HIDP_HERE);
}
// Of the lane `distance` below; its own value where there is none.
template <class Group, class T, int Threads>
HIDP_DEVICE T shuffle_up(Worker<Threads> &worker, const T &value, uint32_t distance HIDP_WHERE) {
  const uint32_t own = lane<Group>(worker);
  return shuffle_from<Group>(worker, value, own < distance ? own : own - distance HIDP_HERE);
}
// Of the lane `distance` above; its own value where there is none.
template <class Group, class T, int Threads>
HIDP_DEVICE T shuffle_down(Worker<Threads> &worker, const T &value, uint32_t distance HIDP_WHERE) {
  const uint32_t own = lane<Group>(worker), other = own + distance;
  return shuffle_from<Group>(worker, value, other < kLanes<Group, Threads> ? other : own HIDP_HERE);
}
// Of the lane whose number differs in these bits.
template <class Group, class T, int Threads>
HIDP_DEVICE T shuffle_xor(Worker<Threads> &worker, const T &value, uint32_t bits HIDP_WHERE) {
  if constexpr (kLanes<Group, Threads> == 1) return value;
  else return shuffle(mask<Group>(worker), value, (thread_rank() % 32) ^ bits HIDP_HERE);
}

// The first lane's value. Blocks pass it through shared memory, between two barriers.
template <class Group, class T, int Threads>
HIDP_DEVICE T broadcast(Worker<Threads> &worker, const T &value HIDP_WHERE) {
  if constexpr (!kIsBlock<Group>) {
    return shuffle_from<Group>(worker, value, 0 HIDP_HERE);
  } else {
    HIDP_SHARED(T, first, 1);
    if (is_first<Block>(worker)) store(first, value HIDP_HERE);
    block_barrier(Threads HIDP_HERE);
    const T result = load(first HIDP_HERE);
    block_barrier(Threads HIDP_HERE);
    return result;
  }
}

// Whether the lanes leave what they work on, because one of them has raised. Then all of them count as having done so.
template <class Group, int Threads>
HIDP_DEVICE bool settle(Worker<Threads> &worker HIDP_WHERE) {
  worker.trap.raised = any<Group>(worker, worker.trap.raised HIDP_HERE);
  return worker.trap.raised;
}

HIDP_NAMESPACE_END
