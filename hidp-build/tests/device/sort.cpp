// Sorts at every level: see check.h.
#include "check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <hidp/cuda/prim/block_sort.cuh>
#include <hidp/cuda/prim/kernel_segmented_sort.cuh>
#include <hidp/cuda/prim/kernel_sort.cuh>
#include <hidp/cuda/prim/subwarp2_sort.cuh>
#include <hidp/cuda/prim/subwarp_sort.cuh>
#include <hidp/cuda/prim/thread_sort.cuh>
#include <hidp/cuda/prim/warp_sort.cuh>

namespace {

// Integers by value, floats in IEEE 754's total order, without the bits' tricks of the code under test.
template <class K>
bool goes_before(const K &a, const K &b) {
  if constexpr (std::is_floating_point_v<K>) {
    const bool a_sign = std::signbit(a), b_sign = std::signbit(b);
    if (a_sign != b_sign) return a_sign;
    if (a_sign) return goes_before(-b, -a);
    if (std::isnan(a) || std::isnan(b)) {
      if (std::isnan(a) != std::isnan(b)) return std::isnan(b);
      return std::memcmp(&a, &b, sizeof(K)) != 0 && hidp::radix_word(a, {}) < hidp::radix_word(b, {});
    }
    return a < b;
  } else {
    return a < b;
  }
}

template <class K>
void sort_plainly(const std::vector<K> &keys, std::vector<K> &sorted, std::vector<Wide> &values, int64_t low, int64_t high, bool descending) {
  std::vector<int64_t> order;
  for (int64_t i = low; i < high; ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const K &first = keys[static_cast<size_t>(descending ? b : a)], &second = keys[static_cast<size_t>(descending ? a : b)];
    return goes_before(first, second);
  });
  for (int64_t i = low; i < high; ++i) {
    const int64_t from = order[static_cast<size_t>(i - low)];
    sorted[static_cast<size_t>(i)] = keys[static_cast<size_t>(from)];
    values[static_cast<size_t>(i)].number = static_cast<int32_t>(from);
  }
}

#define LEVEL(Level, function)                                                                                      \
  template <class K>                                                                                                \
  struct Level##Sort {                                                                                              \
    Any<K> data, scratch;                                                                                           \
    Any<Wide> values, scratch_values;                                                                               \
    bool descending, with_values;                                                                                   \
    template <class W>                                                                                              \
    HIDP_DEVICE void operator()(W &worker, int64_t, int64_t low, int64_t n) const {                                 \
      if (with_values)                                                                                              \
        hidp::function(worker, data + low, scratch + low, values + low, scratch_values + low, n, descending);       \
      else                                                                                                          \
        hidp::function(worker, data + low, scratch + low, n, descending);                                           \
    }                                                                                                               \
  };
LEVEL(Thread, thread_sort)
LEVEL(Subwarp2, subwarp2_sort)
LEVEL(Subwarp, subwarp_sort)
LEVEL(Warp, warp_sort)
LEVEL(Block, block_sort)

std::vector<Wide> numbered(size_t n) {
  std::vector<Wide> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = Wide{0.5, static_cast<int32_t>(i), {}};
  return values;
}

template <class K, class Group, template <class> class Body, int Threads>
void groups(Machine &machine, const Segments &segments, const std::vector<K> &keys, bool descending, bool with_values) {
  std::vector<K> sorted = keys;
  std::vector<Wide> wanted = numbered(keys.size());
  for (size_t i = 0; i < segments.count(); ++i) sort_plainly(keys, sorted, wanted, segments.low[i], segments.high[i], descending);
  Array<K> data(machine, keys), scratch(machine, keys.size());
  Array<Wide> values(machine, numbered(keys.size())), scratch_values(machine, keys.size());
  Array<int64_t> lows(machine, segments.low), highs(machine, segments.high);
  machine.run([&](Host &host) {
    on_each_segment<Group, Threads>(
        host, lows, highs, Body<K>{data.place(), scratch.place(), values.place(), scratch_values.place(), descending, with_values});
  });
  expect_same(data.get(), sorted, "keys");
  if (with_values) expect_same(values.get(), wanted, "values");
}

template <class K>
void all_groups(Machine &machine, const Segments &segments, const std::vector<K> &keys, bool descending, bool with_values) {
  groups<K, Thread, ThreadSort, 32>(machine, segments, keys, descending, with_values);
  groups<K, Subwarp2, Subwarp2Sort, 64>(machine, segments, keys, descending, with_values);
  groups<K, Subwarp, SubwarpSort, 32>(machine, segments, keys, descending, with_values);
  groups<K, Warp, WarpSort, 64>(machine, segments, keys, descending, with_values);
  groups<K, Block, BlockSort, 96>(machine, segments, keys, descending, with_values);
}

template <class K>
void segmented(Machine &machine, const Segments &segments, const std::vector<K> &keys, bool descending, bool with_values, bool in_place) {
  std::vector<K> sorted = in_place ? keys : std::vector<K>(keys.size());
  std::vector<Wide> wanted = in_place ? numbered(keys.size()) : std::vector<Wide>(keys.size());
  for (size_t i = 0; i < segments.count(); ++i) {
    sort_plainly(keys, sorted, wanted, segments.low[i], segments.high[i], descending);
    for (int64_t at = segments.low[i]; at < segments.high[i]; ++at) wanted[static_cast<size_t>(at)].value = 0.5;
  }
  Array<K> data(machine, keys), out(machine, keys.size());
  Array<Wide> values(machine, numbered(keys.size())), out_values(machine, keys.size());
  Array<int64_t> lows(machine, segments.low), highs(machine, segments.high);
  const int64_t extent = static_cast<int64_t>(keys.size()), count = static_cast<int64_t>(lows.size());
  machine.run([&](Host &host) {
    const Any<K> to = in_place ? data.place() : out.place();
    const Any<Wide> to_values = in_place ? values.place() : out_values.place();
    if (with_values)
      hidp::kernel_segmented_sort(host, 1, 2, 3, data.place(), to, values.place(), to_values, extent, lows.place(), highs.place(), count, descending);
    else hidp::kernel_segmented_sort(host, 1, 2, 3, data.place(), to, extent, lows.place(), highs.place(), count, descending);
  });
  expect_same((in_place ? data : out).get(), sorted, "segmented keys");
  if (with_values) expect_same((in_place ? values : out_values).get(), wanted, "segmented values");
}

template <class K>
void whole(Machine &machine, const std::vector<K> &keys, bool descending, bool with_values, bool in_place) {
  const int64_t n = static_cast<int64_t>(keys.size());
  std::vector<K> sorted = keys;
  std::vector<Wide> wanted = numbered(keys.size());
  sort_plainly(keys, sorted, wanted, 0, n, descending);
  Array<K> data(machine, keys), out(machine, keys.size());
  Array<Wide> values(machine, numbered(keys.size())), out_values(machine, keys.size());
  machine.run([&](Host &host) {
    const Any<K> to = in_place ? data.place() : out.place();
    const Any<Wide> to_values = in_place ? values.place() : out_values.place();
    const bool done = with_values ? hidp::kernel_sort(host, 3, data.place(), to, values.place(), to_values, n, descending)
                                  : hidp::kernel_sort(host, 3, data.place(), to, n, descending);
    expect(done, "not done");
  });
  expect_same((in_place ? data : out).get(), sorted, "whole keys");
  if (with_values) expect_same((in_place ? values : out_values).get(), wanted, "whole values");
  if (!in_place) expect_same(data.get(), keys, "input");
}

// Distributions: random, few distinct, sorted, reversed, equal.
template <class K, class Make>
std::vector<K> keys_of(int64_t n, int kind, Make make, Random &random) {
  std::vector<K> keys;
  for (int64_t i = 0; i < n; ++i) keys.push_back(make(kind == 1 ? random.below(3) : kind == 4 ? 7 : random.below(1 << 30)));
  if (kind == 2) std::sort(keys.begin(), keys.end(), goes_before<K>);
  if (kind == 3) std::sort(keys.begin(), keys.end(), [](const K &a, const K &b) { return goes_before(b, a); });
  return keys;
}

template <class K, class Make>
void of_type(Machine &machine, const char *name, Make make, Random &random) {
  int kind = 0;
  for (const Segments &segments : some_segments()) {
    testing = std::string("sort of ") + name + ", " + std::to_string(segments.count()) + " segments, kind " + std::to_string(kind % 5);
    const std::vector<K> keys = keys_of<K>(segments.extent, kind % 5, make, random);
    all_groups(machine, segments, keys, kind % 2 == 1, kind % 3 != 0);
    segmented(machine, segments, keys, kind % 2 == 0, kind % 3 != 1, kind % 4 < 2);
    ++kind;
  }
  for (const std::vector<int64_t> *sizes : {&kSizes, &kLargeSizes}) {
    for (const int64_t n : *sizes) {
      testing = std::string("sort of ") + name + ", " + std::to_string(n) + " elements, kind " + std::to_string(kind % 5);
      whole(machine, keys_of<K>(n, kind % 5, make, random), kind % 2 == 1, kind % 3 != 0, kind % 4 < 2);
      ++kind;
    }
  }
}

template <class F>
F special(int64_t random) {
  const F nan = std::numeric_limits<F>::quiet_NaN(), small = std::numeric_limits<F>::denorm_min();
  const F values[] = {F(0), -F(0), nan, -nan, std::numeric_limits<F>::infinity(), -std::numeric_limits<F>::infinity(), small, -small,
                      std::numeric_limits<F>::max(), std::numeric_limits<F>::lowest(), F(1.5), F(-1.5)};
  if (random % 5 != 0) return values[random / 5 % 12];
  // A NaN with a payload, or any other bits.
  hidp::RadixWord<F> bits = static_cast<hidp::RadixWord<F>>(static_cast<uint64_t>(random) * 0x9E3779B97F4A7C15 >> 7);
  F value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

HIDP_CHECK {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  Machine machine(seed);
  Random random(seed + 1);
  // All types in one program take one compiler a minute: it can be told to take some.
#if HIDP_CHECK_PART != 2
  of_type<uint32_t>(machine, "uint", [&](int64_t r) { return static_cast<uint32_t>(r) * 2654435761u; }, random);
  of_type<int64_t>(machine, "long", [&](int64_t r) { return r % 5 == 0 ? INT64_MIN + r : r * -0x123456789; }, random);
  of_type<int8_t>(machine, "int8", [&](int64_t r) { return static_cast<int8_t>(r); }, random);
#endif
#if HIDP_CHECK_PART != 1
  of_type<uint16_t>(machine, "ushort", [&](int64_t r) { return static_cast<uint16_t>(r); }, random);
  of_type<float>(machine, "float", special<float>, random);
  of_type<double>(machine, "double", special<double>, random);
#endif
  return finish();
}
