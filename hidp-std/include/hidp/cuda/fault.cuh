// Faults in device code. A fault goes at once from the thread that found it to the record of its call, where the first one in
// iteration order stays: that of the lowest launch, item of the launch, and positions in the loops shared out inside the item.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/cuda/target.cuh>

HIDP_NAMESPACE_BEGIN

// The levels of a group below the grid, each with its own position: block, warp, sub-warp, sub-warp2.
constexpr int kPositions = 4;

// What a call knows of its faults, in device memory. All bytes zero: none yet.
struct FaultRecord {
  uint32_t locked;
  // Number of the launch and 1; 0: none has failed. One word, so that whoever sees that there is one sees which.
  uint32_t failed_launch;
  uint64_t item;
  int64_t positions[kPositions];
  hidp_fault fault;
};

// Where a thread is.
struct Where {
  Any<FaultRecord> record;
  uint32_t launch;
  uint64_t item;
  int64_t positions[kPositions];
};

// Whether an item before this one has failed for sure. Items only ever go down.
HIDP_DEVICE bool is_later(const Where &where) {
  const uint32_t failed = load_relaxed(HIDP_FIELD(where.record, .failed_launch));
  if (failed == 0) return false;
  // The item was written before.
  fence();
  return failed - 1 < where.launch || load_relaxed(HIDP_FIELD(where.record, .item)) < where.item;
}

// The record is locked.
HIDP_DEVICE bool precedes(const Where &where) {
  if (load_relaxed(HIDP_FIELD(where.record, .failed_launch)) == 0) return true;
  const uint64_t item = load_relaxed(HIDP_FIELD(where.record, .item));
  if (item != where.item) return where.item < item;
  for (int at = 0; at < kPositions; ++at) {
    const int64_t position = load_relaxed(HIDP_FIELD(where.record, .positions[at]));
    if (position != where.positions[at]) return where.positions[at] < position;
  }
  return false;
}

HIDP_DEVICE void write_fault(const Where &where, const hidp_fault &fault) {
  for (int at = 0; at < kPositions; ++at) store_relaxed(HIDP_FIELD(where.record, .positions[at]), where.positions[at]);
  store_relaxed(HIDP_FIELD(where.record, .fault.site), fault.site);
  store_relaxed(HIDP_FIELD(where.record, .fault.count), fault.count);
  for (int at = 0; at < 4; ++at) store_relaxed(HIDP_FIELD(where.record, .fault.values[at]), fault.values[at]);
  store_relaxed(HIDP_FIELD(where.record, .item), where.item);
  fence();
  store_relaxed(HIDP_FIELD(where.record, .failed_launch), where.launch + 1);
}

HIDP_DEVICE_COLD void report(const Where where, const hidp_fault fault) {
  for (;;) {
    if (is_later(where)) return;
    if (compare_exchange(HIDP_FIELD(where.record, .locked), 0u, 1u) == 0) {
      fence();
      if (precedes(where)) write_fault(where, fault);
      fence();
      exchange(HIDP_FIELD(where.record, .locked), 0u);
      return;
    }
  }
}

// What scalar functions and operators raise, in device code and in the host function of a device unit.
struct Trap {
  bool raised = false;
  // On the host: the first fault.
  hidp_fault fault = {};
  // On the device: where the thread is.
  bool on_device = false;
  Where where = {};

  HIDP_INLINE void raise(uint32_t site, uint32_t count = 0, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0) {
    if (raised) return;
    raised = true;
    report_or_keep(hidp_fault{site, count, {a, b, c, d}});
  }

 private:
  HIDP_INLINE void report_or_keep(const hidp_fault &raised_now) {
#if defined(__CUDA_ARCH__)
    report(where, raised_now);
#elif defined(__CUDACC__)
    fault = raised_now;
#else
    if (on_device) report(where, raised_now);
    else fault = raised_now;
#endif
  }
};

HIDP_NAMESPACE_END
