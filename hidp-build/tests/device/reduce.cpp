// Folds at every level: see check.h.
#include "check.h"

#include <cmath>

#include <hidp/cuda/prim/block_reduce.cuh>
#include <hidp/cuda/prim/kernel_reduce.cuh>
#include <hidp/cuda/prim/kernel_segmented_reduce.cuh>
#include <hidp/cuda/prim/subwarp2_reduce.cuh>
#include <hidp/cuda/prim/subwarp_reduce.cuh>
#include <hidp/cuda/prim/thread_reduce.cuh>
#include <hidp/cuda/prim/warp_reduce.cuh>

namespace {

template <class T, class Op, class In>
T fold_plainly(const std::vector<In> &in, int64_t low, int64_t high, T init) {
  Trap trap;
  const Op op(trap);
  T sum = init;
  for (int64_t i = low; i < high; ++i) {
    const T value = hidp::past_nan<Op>(static_cast<T>(in[static_cast<size_t>(i)]));
    sum = i > low ? op(sum, value) : value;
  }
  return sum;
}

#define LEVEL(Level, function)                                                           \
  template <class T, class Op, class In>                                                 \
  struct Level##Reduce {                                                                 \
    Any<const In> in;                                                                    \
    Any<T> out;                                                                          \
    T init;                                                                              \
    template <class W>                                                                   \
    HIDP_DEVICE void operator()(W &worker, int64_t i, int64_t low, int64_t length) const { \
      T fold = init;                                                                     \
      hidp::function<T, Op>(worker, in + low, length, &fold);                            \
      const bool is_last = hidp::lane<hidp::Level>(worker) == hidp::kLanes<hidp::Level, W::threads> - 1;                 \
      if (is_last) hidp::store(out + i, fold);                                           \
    }                                                                                    \
  };
LEVEL(Thread, thread_reduce)
LEVEL(Subwarp2, subwarp2_reduce)
LEVEL(Subwarp, subwarp_reduce)
LEVEL(Warp, warp_reduce)
LEVEL(Block, block_reduce)

// Floats differ by rounding.
template <class T>
void expect_close(const std::vector<T> &found, const std::vector<T> &wanted, const std::string &what) {
  if constexpr (std::is_floating_point_v<T>) {
    for (size_t i = 0; i < wanted.size(); ++i)
      expect(found[i] == wanted[i] || std::fabs(found[i] - wanted[i]) <= 1e-4 * (1 + std::fabs(wanted[i])), what);
  } else {
    expect_same(found, wanted, what);
  }
}

template <class T, class Op, class In, class Group, template <class, class, class> class Body, int Threads>
void groups(Machine &machine, const Segments &segments, const std::vector<In> &values, T init) {
  std::vector<T> wanted;
  for (size_t i = 0; i < segments.count(); ++i) wanted.push_back(fold_plainly<T, Op>(values, segments.low[i], segments.high[i], init));
  Array<In> in(machine, values);
  Array<T> out(machine, segments.count());
  Array<int64_t> lows(machine, segments.low), highs(machine, segments.high);
  machine.run([&](Host &host) { on_each_segment<Group, Threads>(host, lows, highs, Body<T, Op, In>{in.place(), out.place(), init}); });
  expect_close(out.get(), wanted, "groups");
}

template <class T, class Op, class In>
void all_groups(Machine &machine, const Segments &segments, const std::vector<In> &values, T init) {
  groups<T, Op, In, Thread, ThreadReduce, 64>(machine, segments, values, init);
  groups<T, Op, In, Subwarp2, Subwarp2Reduce, 32>(machine, segments, values, init);
  groups<T, Op, In, Subwarp, SubwarpReduce, 64>(machine, segments, values, init);
  groups<T, Op, In, Warp, WarpReduce, 64>(machine, segments, values, init);
  groups<T, Op, In, Block, BlockReduce, 96>(machine, segments, values, init);
}

template <class T, class Op, class In>
void segmented(Machine &machine, const Segments &segments, const std::vector<In> &values, T neutral) {
  std::vector<T> wanted;
  for (size_t i = 0; i < segments.count(); ++i) wanted.push_back(fold_plainly<T, Op>(values, segments.low[i], segments.high[i], neutral));
  Array<In> in(machine, values);
  Array<T> out(machine, segments.count());
  // Bounds of other types.
  std::vector<int32_t> narrow_lows(segments.low.begin(), segments.low.end());
  Array<int32_t> lows(machine, narrow_lows);
  Array<int64_t> highs(machine, segments.high);
  const int64_t extent = static_cast<int64_t>(in.size()), count = static_cast<int64_t>(lows.size());
  machine.run([&](Host &host) {
    hidp::kernel_segmented_reduce<T, Op>(host, 1, 2, 3, in.place(), extent, out.place(), lows.place(), highs.place(), count, neutral, true);
  });
  expect_close(out.get(), wanted, "segmented");
}

template <class T, class Op, class In>
void regular(Machine &machine, int64_t size, int64_t count, const std::vector<In> &values, T neutral) {
  std::vector<T> wanted;
  for (int64_t i = 0; i < count; ++i) wanted.push_back(fold_plainly<T, Op>(values, i * size, (i + 1) * size, neutral));
  Array<In> in(machine, values);
  Array<T> out(machine, static_cast<size_t>(count));
  machine.run([&](Host &host) {
    hidp::kernel_regular_reduce<T, Op>(host, 1, 2, 3, in.place(), static_cast<int64_t>(in.size()), out.place(), size, count, neutral, true);
  });
  expect_close(out.get(), wanted, "regular");
}

template <class T, class Op, class In, class Make>
void of_type(Machine &machine, const char *name, Make make, T neutral) {
  const auto values_of = [&](int64_t n) {
    std::vector<In> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(make(i));
    return values;
  };
  for (const Segments &segments : some_segments()) {
    testing = std::string("fold of ") + name + ", " + std::to_string(segments.count()) + " segments";
    const std::vector<In> values = values_of(segments.extent);
    all_groups<T, Op>(machine, segments, values, neutral);
    segmented<T, Op>(machine, segments, values, neutral);
  }
  for (const int64_t size : {0, 1, 8, 9, 64, 65, 1024, 1025}) {
    testing = std::string("fold of ") + name + ", segments of " + std::to_string(size);
    regular<T, Op>(machine, size, 3000 / (size + 1) + 1, values_of(size * (3000 / (size + 1) + 1)), neutral);
  }
  for (const std::vector<int64_t> *sizes : {&kSizes, &kLargeSizes}) {
    for (const int64_t n : *sizes) {
      testing = std::string("fold of ") + name + ", " + std::to_string(n) + " elements";
      const std::vector<In> values = values_of(n);
      Array<In> in(machine, values);
      T found = neutral, again = neutral;
      machine.run([&](Host &host) { hidp::kernel_reduce<T, Op>(host, 3, in.place(), n, &found); });
      machine.run([&](Host &host) { hidp::kernel_reduce<T, Op>(host, 3, in.place(), n, &again); });
      expect_close(std::vector<T>{found}, std::vector<T>{fold_plainly<T, Op>(values, 0, n, neutral)}, "whole");
      expect_same(std::vector<T>{again}, std::vector<T>{found}, "another run");
    }
  }
}

// Giants among dwarfs: the whole device folds each.
void giants(Machine &machine) {
  testing = "fold of giants";
  std::vector<int64_t> sizes(40, 3);
  sizes[17] = hidp::kBlockSegment + 5;
  sizes[31] = hidp::kBlockSegment + 900;
  const Segments segments = segments_of(sizes, 1);
  std::vector<uint32_t> values;
  for (int64_t i = 0; i < segments.extent; ++i) values.push_back(static_cast<uint32_t>(i) * 2654435761u);
  segmented<uint32_t, hidp::Add<uint32_t>>(machine, segments, values, 0u);
  regular<uint32_t, hidp::Xor<uint32_t>>(machine, hidp::kBlockSegment + 5, 1, values, 0u);
}

void faults(Machine &machine) {
  testing = "faults of folds";
  Array<int> in(machine, 100, 1);
  Array<int> out(machine, 4);
  const auto fold = [&](Host &host, const Array<int64_t> &lows, const Array<int64_t> &highs, bool has_neutral) {
    hidp::kernel_segmented_reduce<int, hidp::Add<int>>(host, 1, 2, 3, in.place(), 100, out.place(), lows.place(), highs.place(), 4, 0, has_neutral);
  };
  const Array<int64_t> lows(machine, {0, 90, -1, 200}), highs(machine, {10, 101, 5, 300});
  machine.faults(1, {90, 101, 100}, [&](Host &host) { fold(host, lows, highs, true); });
  const Array<int64_t> wide_lows(machine, {0, INT64_MIN, 5, 5}), wide_highs(machine, {0, INT64_MAX, 5, 5});
  machine.faults(1, {INT64_MIN, INT64_MAX, 100}, [&](Host &host) { fold(host, wide_lows, wide_highs, true); });
  // Empty segments may lie anywhere.
  const Array<int64_t> empty_lows(machine, {0, 500, 7, 9}), empty_highs(machine, {10, -500, 7, 20});
  machine.run([&](Host &host) { fold(host, empty_lows, empty_highs, true); });
  expect_same(out.get(), {10, 0, 0, 11}, "empty segments");
  machine.faults(3, {}, [&](Host &host) { fold(host, empty_lows, empty_highs, false); });
  // Of several faults of an operator that of the first segment counts, whichever bins they are in.
  std::vector<Run> runs;
  for (int32_t i = 0; i < 3000; ++i) runs.push_back(Run{i, i + 1});
  runs[1500].first = -7;
  runs[2900].first = -9;
  Array<Run> torn(machine, runs), folds(machine, 4);
  const Array<int64_t> run_lows(machine, {0, 10, 2000, 2898}), run_highs(machine, {3, 1900, 2100, 2903});
  machine.faults(kNotNeighbours, {1500, -7}, [&](Host &host) {
    hidp::kernel_segmented_reduce<Run, JoinRuns>(host, 1, 2, 3, torn.place(), 3000, folds.place(), run_lows.place(), run_highs.place(), 4, Run{}, false);
  });
}

}  // namespace

HIDP_CHECK {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  Machine machine(seed);
  Random random(seed + 1);
  faults(machine);
  of_type<uint64_t, hidp::Add<uint64_t>, uint8_t>(machine, "bytes' sums", [&](int64_t) { return static_cast<uint8_t>(random.next()); }, uint64_t{0});
  of_type<float, hidp::Add<float>, float>(machine, "float sums", [&](int64_t) { return static_cast<float>(random.below(1000)) / 7; }, 0.0f);
  of_type<double, hidp::Min<double>, float>(machine, "minima with NaN", [&](int64_t i) { return i % 5 > 0 ? NAN : static_cast<float>(random.below(1000)); }, 1e300);
  of_type<Affine, Compose, Affine>(machine, "affine maps", [&](int64_t) { return Affine{static_cast<uint32_t>(random.next() | 1), static_cast<uint32_t>(random.next())}; }, Affine{1, 0});
  of_type<Run, JoinRuns, Run>(machine, "runs", [](int64_t i) { return Run{static_cast<int32_t>(i), static_cast<int32_t>(i + 1)}; }, Run{});
  giants(machine);
  return finish();
}
