// Launches: a kernel, once for each item of a grid of up to three dimensions. A bounded number of blocks runs; their groups take
// one item after the other.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/cuda/host.cuh>
#include <hidp/cuda/target.cuh>
#include <hidp/cuda/worker.cuh>

HIDP_NAMESPACE_BEGIN

// What a launch runs over: hidp::over(rows, columns).most(slots).can_fault().
struct Over {
  int64_t extents[3];
  int dimensions;
  // No more groups than this run at a time; none: any number.
  int64_t limit = 0;
  bool faults = false;
  bool with_last = false;
  bool at_once = false;

  Over most(int64_t groups) const {
    Over result = *this;
    result.limit = groups < 1 ? 1 : groups;
    return result;
  }
  Over can_fault() const {
    Over result = *this;
    result.faults = true;
    return result;
  }
  // If so, no more blocks than run at a time: each has something to do before and after its items.
  Over with_copies(bool has_copies) const {
    Over result = *this;
    result.at_once = has_copies;
    return result;
  }
  // Counts as part of the launch before: see Host::next_launch.
  Over joins() const {
    Over result = *this;
    result.with_last = true;
    return result;
  }
};

// The last one varies fastest.
inline Over over(int64_t x) { return Over{{x, 1, 1}, 1}; }
inline Over over(int64_t y, int64_t x) { return Over{{x, y, 1}, 2}; }
inline Over over(int64_t z, int64_t y, int64_t x) { return Over{{x, y, z}, 3}; }

constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
constexpr int64_t at_most(int64_t a, int64_t limit) { return a < limit ? a : limit; }

// The number of bits, up to `most`, of the smallest power of two that is no less than `extent`.
inline uint32_t bits_for(int64_t extent, uint32_t most) {
  uint32_t bits = 0;
  while (bits < most && (int64_t{1} << bits) < extent) ++bits;
  return bits;
}

// The groups of a block, of which `groups` at most take items, laid out so that few of them are outside of the extents. Along x stand
// 2^row_bits, and more only where there would be nothing else for them: a block that is wide in all dimensions reads less of what is
// around it.
inline void lay_out(const Over &over, int64_t groups, uint32_t row_bits, Launch &launch) {
  launch.groups = static_cast<uint32_t>(groups);
  launch.x_bits = launch.y_bits = 0;
  if (over.dimensions == 1) return;
  uint32_t bits = 0;
  while ((int64_t{2} << bits) <= groups) ++bits;
  uint32_t x_bits = bits_for(over.extents[0], bits < row_bits ? bits : row_bits);
  const uint32_t y_bits = bits_for(over.extents[1], bits - x_bits);
  const uint32_t z_bits = over.dimensions == 2 ? 0 : bits_for(over.extents[2], bits - x_bits - y_bits);
  x_bits += bits_for(ceil_div(over.extents[0], int64_t{1} << x_bits), bits - x_bits - y_bits - z_bits);
  launch.x_bits = static_cast<uint8_t>(x_bits);
  launch.y_bits = static_cast<uint8_t>(y_bits);
  launch.groups = uint32_t{1} << (x_bits + y_bits + z_bits);
}

// Blocks for all items, in each dimension, if every group takes so many along x.
inline void blocks_for(const Over &over, const Launch &launch, int64_t items, int64_t (&wanted)[3]) {
  const bool is_row = over.dimensions == 1, is_plane = over.dimensions == 2;
  const int64_t x_groups = is_row ? int64_t{launch.groups} : int64_t{1} << launch.x_bits;
  const int64_t y_groups = is_row ? 1 : is_plane ? int64_t{launch.groups} >> launch.x_bits : int64_t{1} << launch.y_bits;
  const int64_t z_groups = is_row || is_plane ? 1 : int64_t{launch.groups} >> (launch.x_bits + launch.y_bits);
  wanted[0] = ceil_div(over.extents[0], x_groups * items);
  wanted[1] = ceil_div(over.extents[1], y_groups);
  wanted[2] = ceil_div(over.extents[2], z_groups);
}

struct Blocks {
  int64_t x, y, z;
};

// The limits of hardware, less one bit for x.
constexpr int64_t kMostX = 1 << 30, kMostYZ = 65535;

// At most `budget` blocks for so many in each dimension, chosen so that the one with most to do has little to do.
inline Blocks share_out(const int64_t (&wanted)[3], int64_t budget) {
  Blocks best = {1, 1, 1};
  double least = -1;
  for (int64_t turns = 1; turns <= 16; ++turns) {
    Blocks blocks;
    blocks.x = at_most(at_most(ceil_div(wanted[0], turns), budget), kMostX);
    blocks.y = at_most(at_most(wanted[1], budget / blocks.x), kMostYZ);
    blocks.z = at_most(at_most(wanted[2], budget / blocks.x / blocks.y), kMostYZ);
    const double work = static_cast<double>(ceil_div(wanted[0], blocks.x)) * static_cast<double>(ceil_div(wanted[1], blocks.y)) *
                        static_cast<double>(ceil_div(wanted[2], blocks.z));
    if (least < 0 || work < least) {
      least = work;
      best = blocks;
    }
    if (wanted[1] == 1 && wanted[2] == 1) break;
  }
  return best;
}

// Grids without a limit get so many blocks for each one that runs at a time: the device evens out what is uneven.
constexpr int64_t kWaves = 16;

// What `ask(&blocks)` says of blocks that one multiprocessor runs at a time, for each of the first devices. It is asked once.
struct Known {
  static constexpr int32_t kDevices = 16;
  // One more than the blocks.
  int of_device[kDevices];

  template <class Ask>
  int blocks(Host &host, Ask ask) {
    const int32_t device = host.device.ordinal;
    const bool has_place = device >= 0 && device < kDevices;
    int known = has_place ? __atomic_load_n(&of_device[device], __ATOMIC_RELAXED) : 0;
    if (known == 0) {
      int blocks = 0;
      if (!host.went_well(ask(&blocks))) return 0;
      known = blocks + 1;
      if (has_place) __atomic_store_n(&of_device[device], known, __ATOMIC_RELAXED);
    }
    return known - 1;
  }
};

// Blocks of a kernel that one multiprocessor runs at a time; 0 after an error.
template <auto Kernel>
inline int resident_blocks(Host &host, int threads) {
  static Known known;
  return known.blocks(host, [=](int *blocks) {
    const int error = blocks_at_a_time(Kernel, threads, blocks);
    if (*blocks < 1) *blocks = 1;
    return error;
  });
}

template <class... Params, class... Args>
inline int start_with(void (*kernel)(Launch, Params...), const Blocks &blocks, int threads, void *stream, const Launch &launch, Args... args) {
  return start(kernel, static_cast<uint32_t>(blocks.x), static_cast<uint32_t>(blocks.y), static_cast<uint32_t>(blocks.z), threads, stream,
               launch, static_cast<Params>(args)...);
}

constexpr bool is_empty(const Over &over) { return over.extents[0] <= 0 || over.extents[1] <= 0 || over.extents[2] <= 0; }

inline double product(const int64_t (&wanted)[3]) { return double(wanted[0]) * double(wanted[1]) * double(wanted[2]); }

// Lays out a launch for blocks of so many `Group`s; gives what is wanted of blocks in each dimension, of which so many run at a time.
template <class Group, int Threads, int Items>
inline void lay_out_for(const Over &over, int64_t at_a_time, Launch &launch, int64_t (&wanted)[3]) {
  constexpr int64_t kGroups = Threads / kLanes<Group, Threads>;
  lay_out(over, over.limit == 0 ? kGroups : at_most(kGroups, over.limit), kLanes<Group, Threads> == 1 ? kRowBits : 32, launch);
  blocks_for(over, launch, Items, wanted);
  const bool has_rows = over.dimensions == 1 || launch.x_bits == kRowBits;
  if (Items > 1 && (!has_rows || product(wanted) < double(at_a_time))) {
    launch.one_by_one = true;
    blocks_for(over, launch, 1, wanted);
  }
  for (int at = 0; at < 3; ++at) launch.extents[at] = over.extents[at];
}

// The blocks of a launch that is laid out.
inline Blocks blocks_of(const int64_t (&wanted)[3], int64_t budget, Launch &launch) {
  Blocks blocks = share_out(wanted, budget);
  launch.y_turns = ceil_div(wanted[1], blocks.y);
  launch.z_turns = ceil_div(wanted[2], blocks.z);
  blocks.y = ceil_div(wanted[1], launch.y_turns);
  blocks.z = ceil_div(wanted[2], launch.z_turns);
  return blocks;
}

// Runs a kernel of blocks of so many threads, whose `Group`s take one item each at a time, or Items side by side, if there is no
// limit. False if the host function has to end.
template <auto Kernel, class Group, int Threads, int Items = 1, class... Args>
inline bool launch(Host &host, const Over &over, Args... args) {
  if (is_empty(over)) return !host.failed();
  Launch launch = {};
  if (!host.next_launch(over.faults, over.with_last, launch)) return false;
  const int resident = resident_blocks<Kernel>(host, Threads);
  if (resident == 0) return false;
  constexpr int64_t kGroups = Threads / kLanes<Group, Threads>;
  const int64_t at_a_time = int64_t{resident} * host.device.multiprocessors;
  const int64_t budget = over.limit == 0 ? at_a_time * (over.at_once ? 1 : kWaves) : at_most(at_a_time, over.limit < kGroups ? 1 : over.limit / kGroups);
  int64_t wanted[3];
  lay_out_for<Group, Threads, Items>(over, at_a_time, launch, wanted);
  const Blocks blocks = blocks_of(wanted, budget, launch);
  announce<Kernel>();
  return host.went_well(start_with(Kernel, blocks, Threads, host.stream(), launch, args...));
}

// How far a number is from 0, and whether `int`s hold everything up to so much: positions beyond a grid's last one as well.
inline double size(int64_t value) { return value < 0 ? -static_cast<double>(value) : static_cast<double>(value); }
inline bool fits(double most) { return most < double{1 << 29}; }

// As launch, of the first kernel where its `int`s hold what it computes, else of the second.
template <auto Narrow, auto Wide, class Group, int Threads, int Items = 1, class... Args>
inline bool launch_either(bool fits, Host &host, const Over &over, Args... args) {
  return fits ? launch<Narrow, Group, Threads, Items>(host, over, args...) : launch<Wide, Group, Threads, Items>(host, over, args...);
}

template <class T>
HIDP_GLOBAL(32) put_value(Out<T> place, T value) {
  if (thread_rank() == 0) store(place, value);
}

// Stores a value when everything before is done, and before everything after.
template <class T>
inline void put(Host &host, Any<T> place, std::common_type_t<T> value HIDP_WHERE) {
  if (here(host HIDP_HERE).failed()) return;
  announce<put_value<T>>();
  host.went_well(start(put_value<T>, 1, 1, 1, 32, host.stream(), place, value));
}

HIDP_NAMESPACE_END
