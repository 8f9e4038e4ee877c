// Partitions and reversals at every level: see check.h.
#include "check.h"

#include <algorithm>

#include <hidp/cuda/prim/block_partition.cuh>
#include <hidp/cuda/prim/block_reverse.cuh>
#include <hidp/cuda/prim/kernel_check_disjoint.cuh>
#include <hidp/cuda/prim/kernel_partition.cuh>
#include <hidp/cuda/prim/kernel_reverse.cuh>
#include <hidp/cuda/prim/kernel_segmented_partition.cuh>
#include <hidp/cuda/prim/kernel_segmented_reverse.cuh>
#include <hidp/cuda/prim/subwarp2_partition.cuh>
#include <hidp/cuda/prim/subwarp2_reverse.cuh>
#include <hidp/cuda/prim/subwarp_partition.cuh>
#include <hidp/cuda/prim/subwarp_reverse.cuh>
#include <hidp/cuda/prim/thread_partition.cuh>
#include <hidp/cuda/prim/thread_reverse.cuh>
#include <hidp/cuda/prim/warp_partition.cuh>
#include <hidp/cuda/prim/warp_reverse.cuh>

namespace {

constexpr uint32_t kThirteen = 13;
struct Below {
  HIDP_INLINE explicit Below(Trap &trap) : trap(trap) {}
  HIDP_INLINE bool operator()(int a, int pivot) const {
    if (a == 13000000) trap.raise(kThirteen, 1, pivot);
    return a < pivot;
  }
  Trap &trap;
};

#define LEVEL(Level, level)                                                                                                       \
  struct Level##Partition {                                                                                                       \
    Any<const int> in;                                                                                                            \
    Any<int> out;                                                                                                                 \
    Any<const Wide> in_val;                                                                                                       \
    Any<Wide> out_val;                                                                                                            \
    Any<int64_t> counts;                                                                                                          \
    int pivot;                                                                                                                    \
    bool with_values;                                                                                                             \
    template <class W>                                                                                                            \
    HIDP_DEVICE void operator()(W &worker, int64_t i, int64_t low, int64_t n) const {                                             \
      int64_t count = -1;                                                                                                         \
      if (with_values)                                                                                                            \
        hidp::level##_partition<Below>(worker, in + low, out + low, in_val + low, out_val + low, pivot, n, &count);               \
      else hidp::level##_partition<Below>(worker, in + low, out + low, pivot, n, &count);                                         \
      if (hidp::lane<hidp::Level>(worker) == hidp::kLanes<hidp::Level, W::threads> - 1) hidp::store(counts + i, count);                 \
    }                                                                                                                             \
  };                                                                                                                              \
  struct Level##Reverse {                                                                                                         \
    Any<const int> in;                                                                                                            \
    Any<int> out;                                                                                                                 \
    Any<Wide> data;                                                                                                               \
    template <class W>                                                                                                            \
    HIDP_DEVICE void operator()(W &worker, int64_t, int64_t low, int64_t n) const {                                               \
      hidp::level##_reverse(worker, in + low, out + low, n);                                                                      \
      hidp::level##_reverse_inplace(worker, data + low, n);                                                                       \
    }                                                                                                                             \
  };
LEVEL(Thread, thread)
LEVEL(Subwarp2, subwarp2)
LEVEL(Subwarp, subwarp)
LEVEL(Warp, warp)
LEVEL(Block, block)

int64_t partition_plainly(const std::vector<int> &in, std::vector<int> &out, std::vector<Wide> &values, int64_t low, int64_t high, int pivot) {
  int64_t at = low, count = 0;
  for (const bool front : {true, false}) {
    for (int64_t i = low; i < high; ++i) {
      if ((in[static_cast<size_t>(i)] < pivot) != front) continue;
      out[static_cast<size_t>(at)] = in[static_cast<size_t>(i)];
      values[static_cast<size_t>(at++)] = Wide{0.5, static_cast<int32_t>(i), {}};
    }
    if (front) count = at - low;
  }
  return count;
}

std::vector<Wide> numbered(size_t n) {
  std::vector<Wide> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = Wide{0.5, static_cast<int32_t>(i), {}};
  return values;
}

template <class Group, class Body, class Reverse, int Threads>
void groups(Machine &machine, const Segments &segments, const std::vector<int> &keys, int pivot, bool with_values) {
  std::vector<int> wanted(keys.size());
  std::vector<Wide> wanted_values(keys.size());
  std::vector<int64_t> wanted_counts;
  for (size_t i = 0; i < segments.count(); ++i)
    wanted_counts.push_back(partition_plainly(keys, wanted, wanted_values, segments.low[i], segments.high[i], pivot));
  Array<int> in(machine, keys), out(machine, keys.size());
  Array<Wide> values(machine, numbered(keys.size())), out_values(machine, keys.size());
  Array<int64_t> lows(machine, segments.low), highs(machine, segments.high), counts(machine, segments.count());
  machine.run([&](Host &host) {
    const Body body{in.place(), out.place(), values.place(), out_values.place(), counts.place(), pivot, with_values};
    on_each_segment<Group, Threads>(host, lows, highs, body);
  });
  expect_same(out.get(), wanted, "partitioned");
  if (with_values) expect_same(out_values.get(), wanted_values, "partitioned values");
  expect_same(counts.get(), wanted_counts, "counts");
  std::vector<int> turned = wanted;
  std::vector<Wide> turned_values = numbered(keys.size());
  for (size_t i = 0; i < segments.count(); ++i) {
    if (segments.length(i) == 0) continue;
    std::reverse_copy(keys.begin() + segments.low[i], keys.begin() + segments.high[i], turned.begin() + segments.low[i]);
    std::reverse(turned_values.begin() + segments.low[i], turned_values.begin() + segments.high[i]);
  }
  machine.run([&](Host &host) { on_each_segment<Group, Threads>(host, lows, highs, Reverse{in.place(), out.place(), values.place()}); });
  expect_same(out.get(), turned, "reversed");
  expect_same(values.get(), turned_values, "reversed in place");
}

void segmented(Machine &machine, const Segments &segments, const std::vector<int> &keys, const std::vector<int> &pivots) {
  std::vector<int> wanted(keys.size()), turned(keys.size()), in_place = keys;
  std::vector<Wide> wanted_values(keys.size());
  std::vector<int32_t> new_lows, new_highs;
  for (size_t i = 0; i < segments.count(); ++i) {
    const int64_t low = segments.low[i], high = segments.high[i];
    const int64_t middle = low + partition_plainly(keys, wanted, wanted_values, low, high, pivots[i]);
    for (const int64_t bound : {low, middle}) new_lows.push_back(static_cast<int32_t>(bound));
    for (const int64_t bound : {middle, high}) new_highs.push_back(static_cast<int32_t>(bound));
    if (high <= low) continue;
    std::reverse_copy(keys.begin() + low, keys.begin() + high, turned.begin() + low);
    std::reverse(in_place.begin() + low, in_place.begin() + high);
  }
  Array<int> in(machine, keys), out(machine, keys.size()), pivot(machine, pivots), reversed(machine, keys.size());
  Array<Wide> values(machine, numbered(keys.size())), out_values(machine, keys.size());
  Array<int64_t> lows(machine, segments.low), highs(machine, segments.high);
  Array<int32_t> lower(machine, 2 * segments.count()), upper(machine, 2 * segments.count());
  const int64_t extent = static_cast<int64_t>(keys.size()), count = static_cast<int64_t>(segments.count());
  machine.run([&](Host &host) {
    hidp::kernel_segmented_partition<Below>(host, 1, 2, 3, 4, in.place(), out.place(), values.place(), out_values.place(), pivot.place(), extent,
                                            lows.place(), highs.place(), count, lower.place(), upper.place());
    hidp::kernel_segmented_reverse(host, 1, 2, 3, in.place(), reversed.place(), extent, lows.place(), highs.place(), count);
    hidp::kernel_segmented_reverse_inplace(host, 1, 2, 3, in.place(), extent, lows.place(), highs.place(), count);
    expect(hidp::kernel_check_disjoint(host, 2, 3, lows.place(), highs.place(), count), "not disjoint");
  });
  expect_same(out.get(), wanted, "segmented");
  expect_same(out_values.get(), wanted_values, "segmented values");
  expect_same(lower.get(), new_lows, "lower bounds");
  expect_same(upper.get(), new_highs, "upper bounds");
  expect_same(reversed.get(), turned, "reversed");
  expect_same(in.get(), in_place, "reversed in place");
}

void whole(Machine &machine, const std::vector<int> &keys, int pivot) {
  const int64_t n = static_cast<int64_t>(keys.size());
  std::vector<int> wanted(keys.size()), turned(keys.rbegin(), keys.rend());
  std::vector<Wide> wanted_values(keys.size());
  const int64_t wanted_count = partition_plainly(keys, wanted, wanted_values, 0, n, pivot);
  Array<int> in(machine, keys), out(machine, keys.size()), alone(machine, keys.size()), reversed(machine, keys.size());
  Array<Wide> values(machine, numbered(keys.size())), out_values(machine, keys.size());
  machine.run([&](Host &host) {
    int64_t count = 0, count_alone = 0;
    hidp::kernel_partition<Below>(host, 3, in.place(), out.place(), values.place(), out_values.place(), pivot, n, &count);
    hidp::kernel_partition<Below>(host, 3, in.place(), alone.place(), pivot, n, &count_alone);
    expect(count == wanted_count && count_alone == wanted_count, "counts");
    hidp::kernel_reverse(host, in.place(), reversed.place(), n);
    hidp::kernel_reverse_inplace(host, in.place(), n);
  });
  expect_same(out.get(), wanted, "whole");
  expect_same(alone.get(), wanted, "whole, keys alone");
  expect_same(out_values.get(), wanted_values, "whole, values");
  expect_same(reversed.get(), turned, "reversed");
  expect_same(in.get(), turned, "reversed in place");
}

void faults(Machine &machine) {
  testing = "faults of partitions";
  std::vector<int> keys(3000, 1);
  keys[5] = keys[1700] = keys[2999] = 13000000;
  Array<int> in(machine, keys), out(machine, 3000), pivots(machine, {1, 2, 3, 4});
  Array<int64_t> lower(machine, 8), upper(machine, 8);
  Array<int8_t> tiny_lower(machine, 8), tiny_upper(machine, 8);
  int64_t count = 0;
  machine.faults(kThirteen, {44}, [&](Host &host) { hidp::kernel_partition<Below>(host, 3, in.place(), out.place(), 44, int64_t{3000}, &count); });
  const auto split = [&](Host &host, const Array<int64_t> &lows, const Array<int64_t> &highs) {
    hidp::kernel_segmented_partition<Below>(host, 1, 2, 3, 4, in.place(), out.place(), pivots.place(), int64_t{3000}, lows.place(), highs.place(),
                                            static_cast<int64_t>(lows.size()), lower.place(), upper.place());
  };
  // The first segment that holds one, though another bin may find its own first.
  const Array<int64_t> lows(machine, {2996, 6, 200, 0}), highs(machine, {2998, 100, 1800, 6});
  machine.faults(kThirteen, {3}, [&](Host &host) { split(host, lows, highs); });
  // Overlaps: in order of their starts, with the numbers of two neighbours.
  const Array<int64_t> over_lows(machine, {500, 100, 900, 300}), over_highs(machine, {600, 120, 1000, 510});
  machine.faults(2, {0, 3}, [&](Host &host) { split(host, over_lows, over_highs); });
  machine.faults(2, {0, 3}, [&](Host &host) { hidp::kernel_check_disjoint(host, 2, 3, over_lows.place(), over_highs.place(), 4); });
  const Array<int64_t> same_lows(machine, {6, 6, 6, 6}), same_highs(machine, {6, 7, 5, 7});
  machine.faults(2, {1, 3}, [&](Host &host) { split(host, same_lows, same_highs); });
  const Array<int64_t> out_lows(machine, {0, 2990, 0, 0}), out_highs(machine, {0, 3001, 0, 0});
  machine.faults(1, {2990, 3001, 3000}, [&](Host &host) { split(host, out_lows, out_highs); });
  const Array<int64_t> narrow_lows(machine, {6, 20, 200, 300}), narrow_highs(machine, {10, 30, 210, 400});
  machine.faults(4, {200}, [&](Host &host) {
    hidp::kernel_segmented_partition<Below>(host, 1, 2, 3, 4, in.place(), out.place(), pivots.place(), int64_t{3000}, narrow_lows.place(),
                                            narrow_highs.place(), int64_t{4}, tiny_lower.place(), tiny_upper.place());
  });
  // In a kernel the first element counts, and no lane goes on alone.
  Array<Wide> values(machine, 3000), out_values(machine, 3000);
  Array<int64_t> counts(machine, 1), all_low(machine, std::vector<int64_t>{0}), all_high(machine, std::vector<int64_t>{3000});
  machine.faults(kThirteen, {9}, [&](Host &host) {
    on_each_segment<Block, 96>(host, all_low, all_high, BlockPartition{in.place(), out.place(), values.place(), out_values.place(), counts.place(), 9, false});
  });
}

}  // namespace

HIDP_CHECK {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  Machine machine(seed);
  Random random(seed + 1);
  faults(machine);
  // Of 100: none, all, some, half, nearly all are in front.
  const int pivots[] = {0, 100, 10, 50, 97};
  int turn = 0;
  const auto keys_of = [&](int64_t n) {
    std::vector<int> keys;
    for (int64_t i = 0; i < n; ++i) keys.push_back(static_cast<int>(random.below(100)));
    return keys;
  };
  for (const Segments &segments : some_segments()) {
    testing = "partition, " + std::to_string(segments.count()) + " segments";
    const std::vector<int> keys = keys_of(segments.extent);
    for (int at = 0; at < 2; ++at, ++turn) {
      const int pivot = pivots[turn % 5];
      groups<Thread, ThreadPartition, ThreadReverse, 64>(machine, segments, keys, pivot, turn % 2 == 0);
      groups<Subwarp2, Subwarp2Partition, Subwarp2Reverse, 32>(machine, segments, keys, pivot, turn % 2 == 0);
      groups<Subwarp, SubwarpPartition, SubwarpReverse, 64>(machine, segments, keys, pivot, turn % 2 == 0);
      groups<Warp, WarpPartition, WarpReverse, 64>(machine, segments, keys, pivot, turn % 2 == 0);
      groups<Block, BlockPartition, BlockReverse, 96>(machine, segments, keys, pivot, turn % 2 == 0);
    }
    std::vector<int> own_pivots;
    for (size_t i = 0; i < segments.count(); ++i) own_pivots.push_back(pivots[i % 5]);
    segmented(machine, segments, keys, own_pivots);
  }
  for (const std::vector<int64_t> *sizes : {&kSizes, &kLargeSizes}) {
    for (const int64_t n : *sizes) {
      testing = "partition of " + std::to_string(n) + " elements";
      whole(machine, keys_of(n), pivots[turn++ % 5]);
    }
  }
  std::vector<int64_t> sizes(9, 5);
  sizes[4] = hidp::kBlockSegment + 3;
  const Segments segments = segments_of(sizes, 1);
  testing = "partition of a giant";
  segmented(machine, segments, keys_of(segments.extent), std::vector<int>(9, 30));
  return finish();
}
