// Launches that one grid does, one after the other: all its blocks run together, and wait for each other between two of them.
//
//   hidp::Joining<kernel, 256> joining;                       a kernel that calls each_joined, and there run_joined by numbers
//   joining.launch<own, 0, Thread>(host, over(n), x, y);      as hidp::launch<own, Thread, 256>: what the kernel does for number 0
//
// Launches wait until the host function wants something else of the stream, or no more fit. A launch by itself, and one with many more
// blocks than run together, is that of its own kernel.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/cuda/host.cuh>
#include <hidp/cuda/launch.cuh>
#include <hidp/cuda/target.cuh>
#include <hidp/cuda/worker.cuh>

HIDP_NAMESPACE_BEGIN

// What a function gets besides its worker and launch.
template <class... Params>
struct Arguments {};
template <class First, class... Rest>
struct Arguments<First, Rest...> {
  First first;
  Arguments<Rest...> rest;
};

// A launch, before its arguments.
struct Joined {
  Launch launch;
  // Which function.
  uint32_t function;
  // With the arguments.
  uint32_t bytes;
  uint32_t blocks[3];
};

constexpr size_t kBeforeArguments = (sizeof(Joined) + 15) / 16 * 16;

// Blocks take so many turns at most: where there are more, the device evens out better what is uneven, and a launch is little of the time.
constexpr int64_t kMostTurns = 4;

// cudaErrorCooperativeLaunchTooLarge: other programs have some of the multiprocessors.
constexpr int kTooManyBlocks = 720;

// Kernels have so many bytes of parameters at most.
constexpr uint32_t kBatchBytes = 3968;

// Launches, one behind the other.
struct Batch {
  // Blocks that have come to barriers of the grid, and how many had before.
  Any<uint32_t> arrived;
  uint32_t before;
  uint32_t count;
  alignas(16) unsigned char bytes[kBatchBytes];
};

// In the kernel: calls run(joined) for each launch, in the blocks that it has.
template <int Threads, class Run>
HIDP_DEVICE void each_joined(const Batch &batch, Run run) {
  const unsigned char *at = batch.bytes;
#pragma unroll 1
  for (uint32_t number = 1;; ++number) {
    const Joined &joined = *reinterpret_cast<const Joined *>(at);
    if (block_rank(0) < joined.blocks[0] * joined.blocks[1] * joined.blocks[2]) run(joined);
    if (number == batch.count) return;
    at += joined.bytes;
    grid_barrier(batch.arrived, batch.before + number * block_count(0), Threads);
  }
}

template <auto Function, int Threads, class... Done>
HIDP_DEVICE void call_joined(Worker<Threads> &worker, const Launch &launch, const Arguments<> &, const Done &...done) {
  Function(worker, launch, done...);
}
template <auto Function, int Threads, class First, class... Rest, class... Done>
HIDP_DEVICE void call_joined(Worker<Threads> &worker, const Launch &launch, const Arguments<First, Rest...> &left, const Done &...done) {
  call_joined<Function>(worker, launch, left.rest, done..., left.first);
}

template <auto Function, int Threads, class... Params>
HIDP_DEVICE void run_as(const Joined &joined, void (*)(Worker<Threads> &, const Launch &, Params...)) {
  const uint32_t rank = block_rank(0), x = joined.blocks[0], y = joined.blocks[1];
  Worker<Threads> worker(joined.launch, {{rank % x, rank / x % y, rank / (x * y)}, {x, y, joined.blocks[2]}});
  const unsigned char *const own = reinterpret_cast<const unsigned char *>(&joined) + kBeforeArguments;
  call_joined<Function>(worker, joined.launch, *reinterpret_cast<const Arguments<Params...> *>(own));
}

// In the kernel: the launch of this function.
template <auto Function>
HIDP_DEVICE void run_joined(const Joined &joined) {
  run_as<Function>(joined, Function);
}

// The launches of a host function that wait, and a kernel of blocks of so many threads that does them.
template <auto Kernel, int Threads>
class Joining : Waiting {
 public:
  Joining() : Waiting{[](Waiting &waiting, Host &host) { static_cast<Joining &>(waiting).start_all(host); }} {
    batch_.count = 0;
    batch_.before = 0;
  }
  Joining(const Joining &) = delete;
  Joining &operator=(const Joining &) = delete;

  // As hidp::launch, of a kernel whose function has this number.
  template <auto Alone, uint32_t Number, class Group, int Items = 1, class... Args>
  bool launch(Host &host, const Over &over, Args... args) {
    if (is_empty(over)) return !host.failed();
    const int64_t at_a_time = int64_t{together(host)} * host.device.multiprocessors;
    Launch launch = {};
    int64_t wanted[3];
    lay_out_for<Group, Threads, Items>(over, at_a_time, launch, wanted);
    if (over.limit != 0 || product(wanted) > double(kMostTurns * at_a_time)) {
      host.start_waiting();
      return hidp::launch<Alone, Group, Threads, Items>(host, over, args...);
    }
    if (host.waiting != this) host.start_waiting();
    host.waiting = this;
    if (!host.next_launch(over.faults, over.with_last, launch)) return false;
    const Blocks blocks = blocks_of(wanted, at_a_time, launch);
    return put<Alone, Number>(host, launch, blocks, Alone, args...);
  }

  // As hidp::launch_either: the first kernel's function has this number, and the second is never joined.
  template <auto Narrow, auto Wide, uint32_t Number, class Group, int Items = 1, class... Args>
  bool launch_either(bool fits, Host &host, const Over &over, Args... args) {
    if (fits) return launch<Narrow, Number, Group, Items>(host, over, args...);
    host.start_waiting();
    return hidp::launch<Wide, Group, Threads, Items>(host, over, args...);
  }

 private:
  // How a launch is started by itself, and what its kernel is called.
  struct Own {
    int (*start)(const Joined &, void *stream);
    void (*announce)();
  };
  static constexpr uint32_t kMost = 64;

  // Blocks of a multiprocessor that can wait for others; 0 where they cannot.
  static int together(Host &host) {
    static Known known;
    return known.blocks(host, [](int *blocks) { return blocks_together(Kernel, Threads, blocks); });
  }

  template <auto Alone, class... Done>
  static int start_alone(const Joined &joined, void *stream, const Arguments<> &, const Done &...done) {
    const uint32_t(&blocks)[3] = joined.blocks;
    return hidp::start(Alone, blocks[0], blocks[1], blocks[2], Threads, stream, joined.launch, done...);
  }
  template <auto Alone, class First, class... Rest, class... Done>
  static int start_alone(const Joined &joined, void *stream, const Arguments<First, Rest...> &left, const Done &...done) {
    return start_alone<Alone>(joined, stream, left.rest, done..., left.first);
  }

  template <auto Alone, uint32_t Number, class... Params, class... Args>
  bool put(Host &host, const Launch &launch, const Blocks &blocks, void (*)(Launch, Params...), const Args &...args) {
    using All = Arguments<Params...>;
    static_assert(std::is_trivially_copyable_v<All> && alignof(All) <= 16, "arguments are copied as they are");
    constexpr uint32_t bytes = static_cast<uint32_t>((kBeforeArguments + sizeof(All) + 15) / 16 * 16);
    static_assert(bytes <= kBatchBytes, "a launch has room");
    static constexpr Own own = {
        [](const Joined &joined, void *stream) {
          const unsigned char *const at = reinterpret_cast<const unsigned char *>(&joined) + kBeforeArguments;
          return start_alone<Alone>(joined, stream, *reinterpret_cast<const All *>(at));
        },
        [] { hidp::announce<Alone>(); }};
    if (batch_.count == kMost || used_ + bytes > kBatchBytes) host.start_waiting();
    const Joined joined = {launch, Number, bytes, {static_cast<uint32_t>(blocks.x), static_cast<uint32_t>(blocks.y), static_cast<uint32_t>(blocks.z)}};
    const All packed = pack<Params...>(static_cast<Params>(args)...);
    memcpy(batch_.bytes + used_, &joined, sizeof joined);
    memcpy(batch_.bytes + used_ + kBeforeArguments, &packed, sizeof packed);
    used_ += bytes;
    own_[batch_.count++] = &own;
    const uint32_t all = joined.blocks[0] * joined.blocks[1] * joined.blocks[2];
    most_ = most_ > all ? most_ : all;
    return !host.failed();
  }
  template <class First, class... Rest>
  static Arguments<First, Rest...> pack(First first, Rest... rest) {
    return {first, pack<Rest...>(rest...)};
  }
  template <class... None>
  static std::enable_if_t<sizeof...(None) == 0, Arguments<>> pack() {
    return {};
  }

  void start_all(Host &host) {
    const uint32_t count = batch_.count;
    if (count == 0) return;
    // A fault that the host found comes after those of launches before.
    if (host.went_well(0)) {
      for (uint32_t at = 0; at < count; ++at) own_[at]->announce();
      host.went_well(count == 1 ? start_each(host) : start_joined(host));
    }
    batch_.count = 0;
    used_ = most_ = 0;
  }
  int start_each(Host &host) {
    const unsigned char *at = batch_.bytes;
    int error = 0;
    for (uint32_t number = 0; number < batch_.count && error == 0; ++number) {
      const Joined &joined = *reinterpret_cast<const Joined *>(at);
      error = own_[number]->start(joined, host.device.stream);
      at += joined.bytes;
    }
    return error;
  }
  int start_joined(Host &host) {
    if (!has_counter_) batch_.arrived = host.counter();
    has_counter_ = true;
    if (!host.went_well(0)) return 0;
    const int error = start_together(Kernel, most_, Threads, host.device.stream, batch_);
    if (error == kTooManyBlocks) return start_each(host);
    batch_.before += (batch_.count - 1) * most_;
    return error;
  }

  Batch batch_;
  const Own *own_[kMost];
  uint32_t used_ = 0, most_ = 0;
  bool has_counter_ = false;
};

HIDP_NAMESPACE_END
