// Scans at every level: see check.h.

// So that few tiles already make several neighbourhoods and quarters.
#define HIDP_NEIGHBOURS 3

#include "check.h"

#include <cmath>

#include <hidp/cuda/prim/block_scan.cuh>
#include <hidp/cuda/prim/kernel_scan.cuh>
#include <hidp/cuda/prim/kernel_segmented_scan.cuh>
#include <hidp/cuda/prim/subwarp2_scan.cuh>
#include <hidp/cuda/prim/subwarp_scan.cuh>
#include <hidp/cuda/prim/thread_scan.cuh>
#include <hidp/cuda/prim/warp_scan.cuh>

namespace {

template <class T, class Op, class In>
void scan_plainly(const std::vector<In> &in, std::vector<T> &out, int64_t low, int64_t high, T init, bool exclusive) {
  Trap trap;
  const Op op(trap);
  T sum = init;
  for (int64_t i = low; i < high; ++i) {
    const auto at = static_cast<size_t>(i);
    const T value = hidp::past_nan<Op>(static_cast<T>(in[at]));
    const T next = i > low ? op(sum, value) : value;
    out[at] = exclusive ? sum : next;
    sum = next;
  }
}

#define LEVEL(Level, function)                                                               \
  template <class T, class Op>                                                               \
  struct Level##Scan {                                                                       \
    Any<const T> in;                                                                         \
    Any<T> out;                                                                              \
    T init;                                                                                  \
    bool has_init, exclusive;                                                                \
    template <class W>                                                                       \
    HIDP_DEVICE void operator()(W &worker, int64_t, int64_t low, int64_t length) const {     \
      hidp::function<T, Op>(worker, in + low, out + low, length, init, has_init, exclusive); \
    }                                                                                        \
  };
LEVEL(Thread, thread_scan)
LEVEL(Subwarp2, subwarp2_scan)
LEVEL(Subwarp, subwarp_scan)
LEVEL(Warp, warp_scan)
LEVEL(Block, block_scan)

template <class T>
struct Case {
  std::vector<T> values;
  T init;
  bool has_init, exclusive;
};

template <class T, class Op, class Group, template <class, class> class Body, int Threads>
void groups(Machine &machine, const Segments &segments, const Case<T> &test, bool in_place) {
  std::vector<T> wanted = in_place ? test.values : std::vector<T>(test.values.size());
  for (size_t i = 0; i < segments.count(); ++i)
    scan_plainly<T, Op>(test.values, wanted, segments.low[i], segments.high[i], test.init, test.exclusive);
  Array<T> in(machine, test.values), out(machine, test.values.size());
  Array<int64_t> lows(machine, segments.low), highs(machine, segments.high);
  machine.run([&](Host &host) {
    const Any<T> to = in_place ? in.place() : out.place();
    on_each_segment<Group, Threads>(host, lows, highs, Body<T, Op>{in.place(), to, test.init, test.has_init, test.exclusive});
  });
  expect_same((in_place ? in : out).get(), wanted, in_place ? "in place" : "elsewhere");
}

template <class T, class Op>
void all_groups(Machine &machine, const Segments &segments, const Case<T> &test, bool in_place) {
  groups<T, Op, Thread, ThreadScan, 64>(machine, segments, test, in_place);
  groups<T, Op, Subwarp2, Subwarp2Scan, 32>(machine, segments, test, in_place);
  groups<T, Op, Subwarp, SubwarpScan, 64>(machine, segments, test, in_place);
  groups<T, Op, Warp, WarpScan, 64>(machine, segments, test, in_place);
  groups<T, Op, Block, BlockScan, 96>(machine, segments, test, in_place);
}

template <class T, class Op>
void segmented(Machine &machine, const Segments &segments, const Case<T> &test) {
  std::vector<T> wanted(test.values.size());
  for (size_t i = 0; i < segments.count(); ++i)
    scan_plainly<T, Op>(test.values, wanted, segments.low[i], segments.high[i], test.init, test.exclusive);
  Array<T> in(machine, test.values), out(machine, test.values.size());
  Array<int64_t> lows(machine, segments.low), highs(machine, segments.high);
  machine.run([&](Host &host) {
    hidp::kernel_segmented_scan<T, Op>(host, 1, 2, 3, 4, in.place(), out.place(), static_cast<int64_t>(in.size()), lows.place(), highs.place(),
                                       static_cast<int64_t>(lows.size()), test.init, test.has_init, test.exclusive);
  });
  expect_same(out.get(), wanted, "segmented");
}

template <class T, class Op>
void whole(Machine &machine, const Case<T> &test, bool in_place) {
  const int64_t n = static_cast<int64_t>(test.values.size());
  std::vector<T> wanted(test.values.size());
  scan_plainly<T, Op>(test.values, wanted, 0, n, test.init, test.exclusive);
  Array<T> in(machine, test.values), out(machine, test.values.size());
  machine.run([&](Host &host) {
    const bool done =
        hidp::kernel_scan<T, Op>(host, 3, in.place(), in_place ? in.place() : out.place(), n, test.init, test.has_init, test.exclusive);
    expect(done, "not done");
  });
  expect_same((in_place ? in : out).get(), wanted, "whole");
}

template <class T, class Op, class Make>
void of_type(Machine &machine, const char *name, Make make, T init, bool has_init) {
  for (const Segments &segments : some_segments()) {
    for (const bool exclusive : {false, true}) {
      if (exclusive && !has_init) continue;
      Case<T> test{{}, init, has_init, exclusive};
      for (int64_t i = 0; i < segments.extent; ++i) test.values.push_back(make(i));
      testing = std::string("scan of ") + name + (exclusive ? ", exclusive, " : ", ") + std::to_string(segments.count()) + " segments";
      all_groups<T, Op>(machine, segments, test, exclusive);
      segmented<T, Op>(machine, segments, test);
    }
  }
  for (const std::vector<int64_t> *sizes : {&kSizes, &kLargeSizes}) {
    for (const int64_t n : *sizes) {
      const bool exclusive = has_init && n % 2 == 1;
      Case<T> test{{}, init, has_init, exclusive};
      for (int64_t i = 0; i < n; ++i) test.values.push_back(make(i));
      testing = std::string("scan of ") + name + ", " + std::to_string(n) + " elements";
      whole<T, Op>(machine, test, n % 3 == 0);
    }
  }
}

// Whatever the order of blocks and lanes.
void same_bits(uint64_t seed) {
  testing = "scan of float sums";
  std::vector<float> values, first;
  for (int i = 0; i < 50000; ++i) values.push_back(1.0f / static_cast<float>(i % 977 + 1));
  for (uint64_t run = 0; run < 3; ++run) {
    Machine machine(seed + run);
    Array<float> in(machine, values), out(machine, values.size());
    machine.run([&](Host &host) { hidp::kernel_scan<float, hidp::Add<float>>(host, 3, in.place(), out.place(), 50000, 0.0f, true, false); });
    if (run == 0) first = out.get();
    else expect_same(out.get(), first, "another run");
  }
}

}  // namespace

HIDP_CHECK {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  Machine machine(seed);
  Random random(seed + 1);
  same_bits(seed);
  of_type<uint32_t, hidp::Mul<uint32_t>>(machine, "uint products", [&](int64_t) { return static_cast<uint32_t>(random.next() | 1); }, 3u, true);
  of_type<float, hidp::Min<float>>(machine, "minima with NaN", [&](int64_t i) { return i % 3 > 0 ? NAN : static_cast<float>(random.below(1000)); }, INFINITY, true);
  of_type<int64_t, hidp::Add<int64_t>>(machine, "long sums", [&](int64_t) { return static_cast<int64_t>(random.next()); }, int64_t{5}, true);
  of_type<uint8_t, hidp::Max<uint8_t>>(machine, "bytes' maxima", [&](int64_t) { return static_cast<uint8_t>(random.next()); }, uint8_t{0}, false);
  of_type<Affine, Compose>(machine, "affine maps", [&](int64_t) { return Affine{static_cast<uint32_t>(random.next() | 1), static_cast<uint32_t>(random.next())}; },
                           Affine{1, 0}, true);
  of_type<Run, JoinRuns>(machine, "runs", [](int64_t i) { return Run{static_cast<int32_t>(i), static_cast<int32_t>(i + 1)}; }, Run{}, false);
  return finish();
}
