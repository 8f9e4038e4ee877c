// An array that all blocks of a kernel update by one operator, and touch in no other way: each block has a copy in shared memory, which goes to
// the array when the block has no items left.
//
// Only for operators and types for which any order gives the same bits: integers of 4 or 8 bytes under built-in operators.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/cuda/group.cuh>
#include <hidp/cuda/target.cuh>
#include <hidp/cuda/update.cuh>
#include <hidp/cuda/worker.cuh>
#include <hidp/ops.hpp>

HIDP_NAMESPACE_BEGIN

// Sums of 64 bits are kept as two words: the hardware adds words of 32 bits to shared memory by one instruction, longer ones by a loop.
template <class Op>
inline constexpr bool kInHalves = false;
template <class T>
inline constexpr bool kInHalves<Add<T>> = sizeof(T) == 8;

template <class Op, class T, int Most>
struct BlockCopy {
  using Part = std::conditional_t<kInHalves<Op>, uint32_t, T>;
  static constexpr int parts = kInHalves<Op> ? 2 * Most : Most;

  Out<T> all;
  // Elements of the array, or 0 where there is no copy: the same in all blocks.
  int64_t count;
  Any<Part> own;

  HIDP_DEVICE BlockCopy(Any<Part> own, Out<T> all, int64_t count) : all(all), count(count), own(own) {}

  // All threads of the block call; then comes a barrier.
  template <int Threads>
  HIDP_DEVICE void begin(Worker<Threads> &) const {
    const int64_t last = kInHalves<Op> ? 2 * count : count;
    for (int64_t at = thread_rank(); at < last; at += Threads) store(own + at, kInHalves<Op> ? Part{} : static_cast<Part>(Op::neutral()));
  }

  // Any lane, for an element of the array.
  HIDP_DEVICE void update(int64_t index, std::common_type_t<T> value HIDP_WHERE) const {
    if (count == 0) {
      fold_into(operation(), all + index, T(value) HIDP_HERE);
    } else if constexpr (kInHalves<Op>) {
      const uint32_t low = static_cast<uint32_t>(value), before = fetch_add(own + index, low HIDP_HERE);
      const uint32_t carry = before + low < before ? 1 : 0, high = static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32) + carry;
      if (high != 0) atomic_add(own + (count + index), high HIDP_HERE);
    } else {
      fold_into(operation(), own + index, T(value) HIDP_HERE);
    }
  }

  // All threads of the block call, after a barrier. What nobody updated stays.
  template <int Threads>
  HIDP_DEVICE void end(Worker<Threads> &) const {
    for (int64_t at = thread_rank(); at < count; at += Threads) {
      T value;
      if constexpr (kInHalves<Op>) {
        value = static_cast<T>(static_cast<uint64_t>(load(own + (count + at))) << 32 | load(own + at));
      } else {
        value = load(own + at);
      }
      if (value != Op::neutral()) fold_into(operation(), all + at, value);
    }
  }

 private:
  HIDP_DEVICE static Op operation() {
    Trap none;
    return Op(none);
  }
};

HIDP_NAMESPACE_END
