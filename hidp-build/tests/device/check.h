// What the tests of the primitives for devices share: arrays on a device (see device.h) between untouched neighbours, segments and
// values worth trying, and operators of programs.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <hidp/cuda/core.cuh>

#include "device.h"

// The head of the function that runs a file's tests: the program's, unless the compiler gets another name for it.
#ifdef HIDP_CHECK_NAME
#define HIDP_CHECK extern "C" int HIDP_CHECK_NAME(int argc, char **argv)
#else
#define HIDP_CHECK int main(int argc, char **argv)
#endif

using hidp::Any;
using hidp::Block;
using hidp::Host;
using hidp::Launch;
using hidp::Subwarp;
using hidp::Subwarp2;
using hidp::Thread;
using hidp::Trap;
using hidp::Warp;

namespace {

int failures = 0;
std::string testing;

[[maybe_unused]] void expect(bool ok, const std::string &what) {
  if (ok || ++failures > 20) return;
  std::printf("%s: %s\n", testing.c_str(), what.c_str());
}

// One device, and calls on it.
class Machine {
 public:
  explicit Machine(uint64_t seed) : device_(device_new(seed)) {}
  ~Machine() { device_free(device_); }
  hidp_device *device() { return device_; }

  // Runs `body` as a host function. The result of the call; its fault is in `fault`.
  int32_t call(std::function<void(Host &)> body) {
    body_ = std::move(body);
    hidp_call call = {};
    call.device = device_;
    const int32_t result = device_call(device_, entry, &call);
    fault = call.fault;
    if (result == HIDP_OK || result == HIDP_FAULT) return result;
    const std::string told = device_reports(device_, result);
    expect(told.empty(), told);
    if (!told.empty()) std::exit(1);
    return result;
  }
  void run(std::function<void(Host &)> body) {
    const int32_t result = call(std::move(body));
    expect(result == HIDP_OK, "fault at site " + std::to_string(fault.site));
  }
  // The body must fault at the site with these values.
  void faults(uint32_t site, const std::vector<int64_t> &values, std::function<void(Host &)> body) {
    const int32_t result = call(std::move(body));
    expect(result == HIDP_FAULT, "no fault");
    if (result != HIDP_FAULT) return;
    bool same = fault.site == site && fault.count == values.size();
    for (size_t at = 0; at < values.size() && same; ++at) same = fault.values[at] == values[at];
    std::string told = "fault at site " + std::to_string(fault.site) + " with";
    for (uint32_t at = 0; at < fault.count; ++at) told += " " + std::to_string(fault.values[at]);
    expect(same, told);
  }

  hidp_fault fault = {};

 private:
  static int32_t entry(hidp_call *call) {
    Host host(call);
    body_(host);
    return host.finish();
  }
  static std::function<void(Host &)> body_;
  hidp_device *device_;
};
std::function<void(Host &)> Machine::body_;

// An array on the device, from an odd place on, with neighbours that must stay as they are.
template <class T>
class Array {
 public:
  Array(Machine &machine, const std::vector<T> &values) : machine_(machine), count_(values.size()) {
    std::vector<T> all(count_ + 2 * kGuard);
    std::memset(static_cast<void *>(all.data()), 0x5b, all.size() * sizeof(T));
    for (size_t i = 0; i < count_; ++i) all[kGuard + i] = values[i];
    block_ = machine.device()->take(machine.device()->state, all.size() * sizeof(T));
    device_copy_in(machine.device(), block_, all.data(), all.size() * sizeof(T));
    guard_ = all[0];
  }
  Array(Machine &machine, size_t count, T fill = {}) : Array(machine, std::vector<T>(count, fill)) {}
  ~Array() { machine_.device()->give(machine_.device()->state, block_); }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  // Inside of a call.
  Any<T> place() const { return hidp::place_at<T>(block_) + kGuard; }
  size_t size() const { return count_; }
  std::vector<T> get() const {
    std::vector<T> all(count_ + 2 * kGuard);
    device_copy_out(machine_.device(), all.data(), block_, all.size() * sizeof(T));
    for (size_t i = 0; i < kGuard; ++i) {
      expect(std::memcmp(&all[i], &guard_, sizeof(T)) == 0, "element " + std::to_string(i) + " before the array has changed");
      expect(std::memcmp(&all[count_ + kGuard + i], &guard_, sizeof(T)) == 0, "element " + std::to_string(i) + " behind the array has changed");
    }
    return std::vector<T>(all.begin() + kGuard, all.end() - kGuard);
  }

 private:
  static constexpr size_t kGuard = 5;
  Machine &machine_;
  size_t count_;
  void *block_;
  T guard_;
};

template <class T>
[[maybe_unused]] void expect_same(const std::vector<T> &found, const std::vector<T> &wanted, const std::string &what) {
  expect(found.size() == wanted.size(), what + ": sizes differ");
  for (size_t i = 0; i < found.size() && i < wanted.size(); ++i) {
    if (std::memcmp(&found[i], &wanted[i], sizeof(T)) == 0) continue;
    expect(false, what + ": element " + std::to_string(i) + " of " + std::to_string(found.size()) + " differs");
    return;
  }
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15 + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1D;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>((next() >> 16) % static_cast<uint64_t>(n)); }

 private:
  uint64_t state_;
};

// Around the widths of groups, their tiles, and the parts of the device.
[[maybe_unused]] const std::vector<int64_t> kSizes = {0,   1,   2,   3,   4,   5,   7,    8,    9,    15,   16,   17,   31,   32,   33,   63,  64,
                                            65,  127, 128, 129, 255, 256, 257,  511,  513,  961,  1023, 1024, 1025, 1729, 2047, 2048, 2049};
[[maybe_unused]] const std::vector<int64_t> kLargeSizes = {4095, 4097, 8191, 8192, 8193, 10000, 16384, 29791};

struct Segments {
  std::vector<int64_t> low, high;
  int64_t extent = 0;
  size_t count() const { return low.size(); }
  int64_t length(size_t i) const { return high[i] > low[i] ? high[i] - low[i] : 0; }
};
// One after the other, with gaps between them that belong to nobody; a negative size ends before it starts.
Segments segments_of(const std::vector<int64_t> &sizes, int64_t gap) {
  Segments segments;
  int64_t at = gap;
  for (const int64_t size : sizes) {
    segments.low.push_back(at);
    segments.high.push_back(at + size);
    at += (size > 0 ? size : 0) + gap;
  }
  segments.extent = at;
  return segments;
}
// What CUB's tests of segmented scans try, sizes that differ much, and short ones only.
[[maybe_unused]] std::vector<Segments> some_segments() {
  std::vector<int64_t> skewed(300, 1);
  skewed[7] = 1500;
  skewed[250] = 5000;
  std::vector<int64_t> empty(1000, 0), ones(700, 1), descending, bins = {8, 9, 64, 65, 1024, 1025, 0, 3, 2500};
  for (int64_t size = 70; size >= 0; --size) descending.push_back(size);
  Segments backwards = segments_of(descending, 1);
  for (size_t i = 0, j = backwards.count() - 1; i < j; ++i, --j) {
    std::swap(backwards.low[i], backwards.low[j]);
    std::swap(backwards.high[i], backwards.high[j]);
  }
  return {segments_of({}, 0),
          segments_of({4, 13, 0, 46, 0, 33, 28, 0, 6, 17, 0, 0, 1, 0, 7}, 4),
          segments_of({4, 13, -2, 46, -4, 33, 28, -2, 6, 17, 0, -4, 1, 0, 7}, 4),
          segments_of({3000}, 0),
          segments_of(empty, 0),
          segments_of(ones, 0),
          segments_of(skewed, 2),
          segments_of(bins, 3),
          backwards,
          segments_of({8, 5, 0, 7, 1, 4, 6, 3, 2, 8, 5}, 1)};
}

// Associative, not commutative, without a neutral element: joins runs of neighbouring positions, and raises on others.
struct Run {
  int32_t first, past;
};
constexpr uint32_t kNotNeighbours = 77;
struct JoinRuns {
  HIDP_INLINE explicit JoinRuns(Trap &trap) : trap(trap) {}
  HIDP_INLINE Run operator()(Run a, Run b) const {
    if (a.past != b.first) trap.raise(kNotNeighbours, 2, a.past, b.first);
    return Run{a.first, b.past};
  }
  Trap &trap;
};
// Associative, not commutative, with a neutral element: x -> ax + b composed, modulo 2^32.
struct Affine {
  uint32_t a, b;
};
struct Compose {
  HIDP_INLINE explicit Compose(Trap &) {}
  HIDP_INLINE Affine operator()(Affine f, Affine g) const { return Affine{f.a * g.a, f.b * g.a + g.b}; }
};
struct Wide {
  double value;
  int32_t number;
  uint8_t rest[28];
};

// Runs a body for every group level: body(Level{}).
template <class Body>
void on_levels(Body body) {
  body(Thread{});
  body(Subwarp2{});
  body(Subwarp{});
  body(Warp{});
  body(Block{});
}

// Each group works on its own segment: body(worker, i, low, length).
template <class Group, int Threads, class Body>
HIDP_GLOBAL(Threads) each_segment(Launch launch, Any<const int64_t> lows, Any<const int64_t> highs, Body body) {
  hidp::Worker<Threads> worker(launch);
  hidp::each_item<Group, 1>(worker, launch, [&](int64_t item) {
    const int64_t low = hidp::load(lows + item), high = hidp::load(highs + item);
    body(worker, item, low, high > low ? high - low : 0);
  });
}
template <class Group, int Threads, class Body>
void on_each_segment(Host &host, const Array<int64_t> &lows, const Array<int64_t> &highs, const Body &body) {
  hidp::launch<each_segment<Group, Threads, Body>, Group, Threads>(host, hidp::over(static_cast<int64_t>(lows.size())).can_fault(), lows.place(),
                                                                   highs.place(), body);
}

[[maybe_unused]] int finish() {
  if (failures > 0) std::printf("%d failures\n", failures);
  return failures > 0;
}

}  // namespace
