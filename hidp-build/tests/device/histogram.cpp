// Histograms: see check.h.
#include "check.h"

#include <cmath>

#include <hidp/cuda/prim/kernel_histogram.cuh>

namespace {

template <class T, class Op, class K, class V>
void histogram(Machine &machine, const std::vector<K> &keys, const std::vector<V> &values, const std::vector<T> &before) {
  std::vector<T> wanted = before;
  Trap trap;
  const Op op(trap);
  for (size_t i = 0; i < keys.size(); ++i) wanted[static_cast<size_t>(keys[i])] = op(wanted[static_cast<size_t>(keys[i])], static_cast<T>(values[i]));
  std::vector<T> first;
  for (int run = 0; run < 2; ++run) {
    Array<K> key(machine, keys);
    Array<V> value(machine, values);
    Array<T> bins(machine, before);
    machine.run([&](Host &host) {
      hidp::kernel_histogram<T, Op>(host, 3, 4, key.place(), value.place(), bins.place(), static_cast<int64_t>(keys.size()),
                                    static_cast<int64_t>(before.size()), T{}, false);
    });
    // Floats differ by rounding.
    if constexpr (std::is_floating_point_v<T>) {
      const std::vector<T> found = bins.get();
      for (size_t i = 0; i < wanted.size(); ++i) expect(std::fabs(found[i] - wanted[i]) <= 1e-3 * (1 + std::fabs(wanted[i])), "bins");
    } else {
      expect_same(bins.get(), wanted, "bins");
    }
    if (run == 0) first = bins.get();
    else expect_same(bins.get(), first, "another run");
  }
}

template <class T, class Op, class K, class V, class Make>
void of_type(Machine &machine, const char *name, Make make, Random &random) {
  for (const int64_t n : {0, 1, 2, 33, 1025, 5000, 20000, 70000}) {
    // One bin for all, few, some, one each, more than elements.
    for (const int64_t bins : {int64_t{1}, int64_t{7}, int64_t{100}, n + 3}) {
      if (n > 20000 && bins > 7) continue;
      if (static_cast<int64_t>(static_cast<K>(bins)) != bins) continue;
      testing = std::string("histogram of ") + name + ", " + std::to_string(n) + " into " + std::to_string(bins);
      std::vector<K> keys;
      std::vector<V> values;
      for (int64_t i = 0; i < n; ++i) {
        keys.push_back(static_cast<K>(bins == n + 3 ? i : random.below(bins)));
        values.push_back(static_cast<V>(make(i)));
      }
      std::vector<T> before;
      for (int64_t i = 0; i < bins; ++i) before.push_back(static_cast<T>(make(i + 1)));
      histogram<T, Op>(machine, keys, values, before);
    }
  }
}

void faults(Machine &machine) {
  testing = "faults of histograms";
  std::vector<int> keys(5000, 2);
  keys[4000] = -1;
  keys[4999] = 10;
  Array<int> key(machine, keys), value(machine, 5000, 1), bins(machine, 10, 7);
  machine.faults(4, {-1, 10}, [&](Host &host) {
    hidp::kernel_histogram<int, hidp::Add<int>>(host, 3, 4, key.place(), value.place(), bins.place(), int64_t{5000}, int64_t{10}, 0, true);
  });
  expect_same(bins.get(), std::vector<int>(10, 7), "bins after a fault");
  machine.faults(4, {2, 0}, [&](Host &host) {
    hidp::kernel_histogram<int, hidp::Add<int>>(host, 3, 4, key.place(), value.place(), bins.place(), int64_t{1}, int64_t{0}, 0, true);
  });
}

// Runs of neighbours into bins that hold the beginning of each.
void in_order(Machine &machine) {
  testing = "histogram in order";
  std::vector<uint16_t> keys;
  std::vector<Run> values, before;
  for (int32_t bin = 0; bin < 5; ++bin) before.push_back(Run{bin * 1000000, bin * 1000000 + 1});
  std::vector<int32_t> at = {1, 1, 1, 1, 1};
  for (int32_t i = 0; i < 9000; ++i) {
    const int32_t bin = i % 7 < 4 ? 1 : i % 5;
    keys.push_back(static_cast<uint16_t>(bin));
    const int32_t first = bin * 1000000 + at[static_cast<size_t>(bin)]++;
    values.push_back(Run{first, first + 1});
  }
  histogram<Run, JoinRuns>(machine, keys, values, before);
  // A giant.
  std::vector<uint8_t> same(static_cast<size_t>(hidp::kBlockSegment) + 2, 3);
  std::vector<uint16_t> ones(same.size(), 1);
  histogram<uint16_t, hidp::Add<uint16_t>>(machine, same, ones, std::vector<uint16_t>(5, 9));
}

}  // namespace

HIDP_CHECK {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  Machine machine(seed);
  Random random(seed + 1);
  faults(machine);
  in_order(machine);
  of_type<uint32_t, hidp::Add<uint32_t>, uint8_t, uint8_t>(machine, "bytes", [&](int64_t) { return random.next(); }, random);
  of_type<int64_t, hidp::Max<int64_t>, int64_t, int32_t>(machine, "maxima", [&](int64_t) { return random.below(1 << 20) - (1 << 19); }, random);
  of_type<uint64_t, hidp::Xor<uint64_t>, uint32_t, uint64_t>(machine, "differences", [&](int64_t) { return random.next(); }, random);
  of_type<float, hidp::Add<float>, int32_t, float>(machine, "float sums", [&](int64_t) { return static_cast<float>(random.below(1000)) / 3; }, random);
  return finish();
}
