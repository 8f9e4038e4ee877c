// Kernels of primitives that the host calls: a function object, run once for each item.
#pragma once

#include <stdint.h>

#include <hidp/cuda/core.cuh>
#include <hidp/cuda/prim/unroll.cuh>

HIDP_NAMESPACE_BEGIN

// Threads of a block that works as one, and of one whose smaller groups work alone.
constexpr int kBlockThreads = 256;

template <class Group, int Threads, class Body>
HIDP_GLOBAL(Threads) run_items(Launch launch, Body body) {
  Worker<Threads> worker(launch);
  each_item<Group, 1>(worker, launch, [&](int64_t item) { body(worker, item); });
}

// body(worker, item) for each item of [0, count), each by one group. False if the host function has to end.
template <class Group, class Body>
inline bool for_items(Host &host, int64_t count, bool can_fault, const Body &body) {
  const Over all = over(count);
  return launch<run_items<Group, kBlockThreads, Body>, Group, kBlockThreads>(host, can_fault ? all.can_fault() : all, body);
}

// One group, once.
template <class Body>
struct Once {
  Body body;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t) const {
    body(worker);
  }
};
template <class Group, class Body>
inline bool run_once(Host &host, bool can_fault, const Body &body) {
  return for_items<Group>(host, 1, can_fault, Once<Body>{body});
}

// A block's tile of elements that are read with body.get(i) and written with body.put(i, value). Several reads are under way at a
// time before anything is written.
template <class Body>
struct MoveTile {
  static constexpr int kRows = 8;
  static constexpr int64_t kElements = int64_t{kRows} * kBlockThreads;
  Body body;
  int64_t n;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t tile) const {
    const int64_t first = tile * kElements + lane<Block>(worker);
    decltype(body.get(first)) value[kRows];
    HIDP_UNROLL_ALL
    for (int j = 0; j < kRows; ++j)
      if (first + j * kBlockThreads < n) value[j] = body.get(first + j * kBlockThreads);
    HIDP_UNROLL_ALL
    for (int j = 0; j < kRows; ++j)
      if (first + j * kBlockThreads < n) body.put(first + j * kBlockThreads, value[j]);
  }
};
template <class Body>
inline bool move_elements(Host &host, int64_t n, const Body &body) {
  return for_items<Block>(host, ceil_div(n, MoveTile<Body>::kElements), false, MoveTile<Body>{body, n});
}

// [0, n) in parts of one length but the last. Their number depends on n alone, and so does whatever is folded by parts.
struct Parts {
  int64_t n, each, count;

  // Parts are multiples of `grain`, and no more than `most`.
  static Parts of(int64_t n, int64_t grain, int64_t most) {
    const int64_t grains = ceil_div(n, grain);
    const int64_t each = ceil_div(grains, most) * grain;
    return Parts{n, each, ceil_div(n, each)};
  }
  HIDP_INLINE int64_t begin(int64_t part) const { return part * each; }
  HIDP_INLINE int64_t length(int64_t part) const { return part == count - 1 ? n - begin(part) : each; }
};

HIDP_NAMESPACE_END
