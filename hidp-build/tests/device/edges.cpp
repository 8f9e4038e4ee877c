// What all primitives for devices do at the edges: no memory, many segments, other types, wrong segments. See check.h.
#include "check.h"

#include <hidp/cuda/prim/block_scan.cuh>
#include <hidp/cuda/prim/kernel_check_disjoint.cuh>
#include <hidp/cuda/prim/kernel_histogram.cuh>
#include <hidp/cuda/prim/kernel_partition.cuh>
#include <hidp/cuda/prim/kernel_reduce.cuh>
#include <hidp/cuda/prim/kernel_scan.cuh>
#include <hidp/cuda/prim/kernel_segmented_partition.cuh>
#include <hidp/cuda/prim/kernel_segmented_reduce.cuh>
#include <hidp/cuda/prim/kernel_segmented_reverse.cuh>
#include <hidp/cuda/prim/kernel_segmented_scan.cuh>
#include <hidp/cuda/prim/kernel_segmented_sort.cuh>
#include <hidp/cuda/prim/kernel_sort.cuh>
#include <hidp/cuda/prim/subwarp_scan.cuh>

namespace {

constexpr uint32_t kMemory = 3;

struct Even {
  HIDP_INLINE explicit Even(Trap &) {}
  HIDP_INLINE bool operator()(int a, int pivot) const { return a % 2 == pivot; }
};

// A device with memory for so many more blocks.
int64_t blocks_left = 0, blocks_out = 0;
void *(*plain_take)(void *, size_t) = nullptr;
void (*plain_give)(void *, void *) = nullptr;
void *take_some(void *state, size_t bytes) {
  if (blocks_left == 0) return nullptr;
  --blocks_left;
  ++blocks_out;
  return plain_take(state, bytes);
}
void give_some(void *state, void *block) {
  --blocks_out;
  plain_give(state, block);
}

// Fails at every request for memory in turn, until there is enough.
void starved(uint64_t seed, const char *name, std::function<void(Host &, Any<int>, Any<int>, Any<int64_t>, Any<int64_t>, Any<int64_t>)> body) {
  testing = std::string(name) + " without memory";
  int turns = 0;
  for (int64_t blocks = 0;; ++blocks, ++turns) {
    Machine machine(seed);
    hidp_device &device = *machine.device();
    std::vector<int> values;
    for (int i = 0; i < 20000; ++i) values.push_back(i % 7);
    Array<int> in(machine, values), out(machine, values.size());
    // Not in order, and of all bins but giants.
    Array<int64_t> lows(machine, {9000, 0, 8000, 8100}), highs(machine, {9005, 3000, 8060, 8600}), bounds(machine, 8);
    plain_take = device.take;
    plain_give = device.give;
    device.take = take_some;
    device.give = give_some;
    blocks_left = blocks;
    blocks_out = 0;
    const int32_t result = machine.call([&](Host &host) { body(host, in.place(), out.place(), lows.place(), highs.place(), bounds.place()); });
    device.take = plain_take;
    device.give = plain_give;
    expect(blocks_out == 0, "memory is not given back");
    if (result == HIDP_OK) break;
    // The record of faults is no memory of the program.
    const bool reported = result == HIDP_FAULT ? machine.fault.site == kMemory && machine.fault.count == 1 : result == HIDP_DEVICE_ERROR;
    expect(reported, "another fault: " + std::to_string(machine.fault.site));
    if (blocks > 40) {
      expect(false, "never enough");
      break;
    }
  }
  expect(turns > 0, "nothing was asked for");
}

void memory(uint64_t seed) {
  using hidp::Add;
  const int64_t n = 20000;
  starved(seed, "reduce", [&](Host &host, auto in, auto, auto, auto, auto) {
    int sum = 0;
    hidp::kernel_reduce<int, Add<int>>(host, kMemory, in, n, &sum);
  });
  starved(seed, "scan", [&](Host &host, auto in, auto out, auto, auto, auto) { hidp::kernel_scan<int, Add<int>>(host, kMemory, in, out, n, 0, true, true); });
  starved(seed, "sort", [&](Host &host, auto in, auto out, auto, auto, auto) { hidp::kernel_sort(host, kMemory, in, out, in, out, n, true); });
  starved(seed, "partition", [&](Host &host, auto in, auto out, auto, auto, auto) {
    int64_t count;
    hidp::kernel_partition<Even>(host, kMemory, in, out, 0, n, &count);
  });
  starved(seed, "histogram", [&](Host &host, auto in, auto out, auto, auto, auto) {
    hidp::kernel_histogram<int, Add<int>>(host, kMemory, 4, in, in, out, n, 7, 0, true);
  });
  starved(seed, "ordered histogram", [&](Host &host, auto in, auto out, auto, auto, auto) {
    hidp::kernel_histogram<float, Add<float>>(host, kMemory, 4, in, in, hidp::place_at<float>(hidp::address_of(out)), n, 7, 0.0f, true);
  });
  starved(seed, "segmented reduce", [&](Host &host, auto in, auto out, auto lows, auto highs, auto) {
    hidp::kernel_segmented_reduce<int, Add<int>>(host, 1, kMemory, 4, in, n, out, lows, highs, 4, 0, true);
  });
  starved(seed, "segmented scan", [&](Host &host, auto in, auto out, auto lows, auto highs, auto) {
    hidp::kernel_segmented_scan<int, Add<int>>(host, 1, 2, kMemory, 4, in, out, n, lows, highs, 4, 0, true, true);
  });
  starved(seed, "segmented sort", [&](Host &host, auto in, auto out, auto lows, auto highs, auto) {
    hidp::kernel_segmented_sort(host, 1, 2, kMemory, in, out, in, out, n, lows, highs, 4, true);
  });
  starved(seed, "segmented partition", [&](Host &host, auto in, auto out, auto lows, auto highs, auto bounds) {
    hidp::kernel_segmented_partition<Even>(host, 1, 2, kMemory, 4, in, out, in, n, lows, highs, 4, bounds, bounds);
  });
  starved(seed, "segmented reverse", [&](Host &host, auto in, auto out, auto lows, auto highs, auto) {
    hidp::kernel_segmented_reverse(host, 1, 2, kMemory, in, out, n, lows, highs, 4);
  });
  starved(seed, "check", [&](Host &host, auto, auto, auto lows, auto highs, auto) { hidp::kernel_check_disjoint(host, 2, kMemory, lows, highs, 4); });
}

// More segments than a dimension of a grid has blocks, nearly all of them empty.
void many_segments(Machine &machine) {
  testing = "many segments";
  std::vector<int64_t> sizes(70000, 0);
  sizes[3] = 20;
  sizes[69999] = 2000;
  const Segments segments = segments_of(sizes, 0);
  std::vector<int> wanted(sizes.begin(), sizes.end());
  Array<int> in(machine, static_cast<size_t>(segments.extent), 1), out(machine, sizes.size(), 9);
  Array<int64_t> lows(machine, segments.low), highs(machine, segments.high);
  machine.run([&](Host &host) {
    hidp::kernel_segmented_reduce<int, hidp::Add<int>>(host, 1, 2, 3, in.place(), segments.extent, out.place(), lows.place(), highs.place(), 70000, 0, true);
  });
  expect_same(out.get(), wanted, "lengths");
}

struct ScanBytes {
  Any<const uint8_t> in;
  Any<int64_t> out;
  template <class W>
  HIDP_DEVICE void operator()(W &worker, int64_t i, int64_t low, int64_t n) const {
    if (i == 0) hidp::subwarp_scan<int64_t, hidp::Add<int64_t>>(worker, in + low, out + low, n, int64_t{0}, true, false);
  }
};

void other_types(Machine &machine) {
  testing = "scan of bytes as longs";
  std::vector<uint8_t> bytes(9000);
  std::vector<int64_t> wanted;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i * 37);
    wanted.push_back((i > 0 ? wanted[i - 1] : 0) + bytes[i]);
  }
  Array<uint8_t> in(machine, bytes);
  Array<int64_t> out(machine, bytes.size()), other(machine, bytes.size());
  Array<int64_t> low(machine, std::vector<int64_t>{0}), high(machine, std::vector<int64_t>{9000});
  machine.run([&](Host &host) {
    hidp::kernel_scan<int64_t, hidp::Add<int64_t>>(host, 3, in.place(), out.place(), 9000, int64_t{0}, true, false);
    on_each_segment<Subwarp, 64>(host, low, high, ScanBytes{in.place(), other.place()});
  });
  expect_same(out.get(), wanted, "whole");
  expect_same(other.get(), wanted, "sub-warp");
}

void wrong_segments(Machine &machine) {
  testing = "wrong segments";
  Array<int> in(machine, 3000, 1), out(machine, 3000, 7);
  const auto scan = [&](Host &host, const Array<int64_t> &lows, const Array<int64_t> &highs, bool has_neutral) {
    hidp::kernel_segmented_scan<int, hidp::Add<int>>(host, 1, 2, 3, 4, in.place(), out.place(), int64_t{3000}, lows.place(), highs.place(), 4, 0, has_neutral, true);
  };
  Array<int64_t> lows(machine, {5, 5, 5, 5}), highs(machine, {5, 5, 5, 5}), more(machine, {5, 5, 6, 5}), past(machine, {9, 3001, 5, 9});
  machine.run([&](Host &host) { scan(host, lows, highs, false); });
  machine.faults(4, {}, [&](Host &host) { scan(host, lows, more, false); });
  machine.faults(1, {5, 3001, 3000}, [&](Host &host) { scan(host, lows, past, true); });
  // One segment inside of another.
  Array<int64_t> outer(machine, {100, 0, 20, 40}), behind(machine, {200, 90, 30, 50});
  machine.faults(2, {1, 2}, [&](Host &host) { scan(host, outer, behind, true); });
  machine.faults(2, {1, 2}, [&](Host &host) { hidp::kernel_segmented_sort(host, 1, 2, 3, in.place(), out.place(), int64_t{3000}, outer.place(), behind.place(), 4, false); });
  machine.faults(2, {1, 2}, [&](Host &host) { hidp::kernel_segmented_reverse(host, 1, 2, 3, in.place(), out.place(), int64_t{3000}, outer.place(), behind.place(), 4); });
  machine.faults(2, {1, 2}, [&](Host &host) { hidp::kernel_segmented_reverse_inplace(host, 1, 2, 3, in.place(), int64_t{3000}, outer.place(), behind.place(), 4); });
  expect_same(out.get(), std::vector<int>(3000, 7), "nothing is written");
}

}  // namespace

HIDP_CHECK {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  Machine machine(seed);
  wrong_segments(machine);
  other_types(machine);
  many_segments(machine);
  memory(seed);
  return finish();
}
