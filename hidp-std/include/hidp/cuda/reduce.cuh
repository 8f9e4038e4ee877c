// Reductions over the parts of a group, in order, by a tree whose shape depends on the number of parts alone.
//
// Each `Over` of the group has a value that is the same in all its lanes. All lanes of the group call, and get the result.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/cuda/group.cuh>
#include <hidp/cuda/target.cuh>
#include <hidp/ops.hpp>

HIDP_NAMESPACE_BEGIN

// A value that may be missing; the neutral element of any operator is one that is.
template <class T>
struct Maybe {
  T value;
  bool seen;
};

template <class Op, class T>
HIDP_DEVICE T combined(const Op &op, const T &a, const T &b) {
  return op(a, b);
}
template <class Op, class T>
HIDP_DEVICE Maybe<T> combined(const Op &op, const Maybe<T> &a, const Maybe<T> &b) {
  if (!a.seen) return b;
  if (!b.seen) return a;
  return Maybe<T>{op(a.value, b.value), true};
}

// Operators whose result is the same, to the bit, whichever operand comes first. Extremes of -0.0 and 0.0 are not.
template <class Op>
inline constexpr bool kSameEitherWay = false;
template <class T>
inline constexpr bool kSameEitherWay<Add<T>> = true;
template <class T>
inline constexpr bool kSameEitherWay<Mul<T>> = true;
template <class T>
inline constexpr bool kSameEitherWay<Min<T>> = std::is_integral_v<T>;
template <class T>
inline constexpr bool kSameEitherWay<Max<T>> = std::is_integral_v<T>;
template <class T>
inline constexpr bool kSameEitherWay<And<T>> = true;
template <class T>
inline constexpr bool kSameEitherWay<Or<T>> = true;
template <class T>
inline constexpr bool kSameEitherWay<Xor<T>> = true;

HIDP_INLINE constexpr uint32_t power_of_two_from(uint32_t number) {
  uint32_t power = 1;
  while (power < number) power *= 2;
  return power;
}

// In each lane of a group up to a warp, what lanes 0, Stride, 2 Stride … below Limit have, combined in order: lanes exchange with
// those that differ from them in one bit, and both put the lower one's value first.
template <class Group, uint32_t Stride, uint32_t Limit, class Op, class T, int Threads>
HIDP_DEVICE T butterfly(Worker<Threads> &worker, const Op &op, T value HIDP_WHERE) {
  // Lanes from there on do what those below do.
  const uint32_t own = lane<Group>(worker) % power_of_two_from(Limit);
#pragma unroll
  for (uint32_t bit = Stride; bit < Limit; bit *= 2) {
    const T other = shuffle_xor<Group>(worker, value, bit HIDP_HERE);
    const bool is_upper = (own & bit) != 0;
    // Only where the number of parts is no power of two is there no upper half for some.
    const bool is_whole = (Limit & (Limit - 1)) == 0 || ((own | bit) & ~(bit - 1)) < Limit;
    if constexpr (kSameEitherWay<Op> && (Limit & (Limit - 1)) == 0 && std::is_arithmetic_v<T>) {
      value = op(value, other);
    } else {
      const T lower = is_upper ? other : value, upper = is_upper ? value : other;
      value = is_whole ? combined(op, lower, upper) : lower;
    }
  }
  return value;
}

template <class Group, class Over, class Op, class T, int Threads>
HIDP_DEVICE T reduce_parts(Worker<Threads> &worker, const Op &op, T value HIDP_WHERE) {
  if constexpr (!kIsBlock<Group>) {
    return butterfly<Group, kLanes<Over, Threads>, kLanes<Group, Threads>>(worker, op, value HIDP_HERE);
  } else {
    constexpr uint32_t warps = Threads / 32;
    value = butterfly<Warp, kLanes<Over, Threads>, 32>(worker, op, value HIDP_HERE);
    if constexpr (warps == 1) {
      return value;
    } else {
      HIDP_SHARED(T, parts, warps);
      if (is_first<Warp>(worker)) store(parts + rank<Block, Warp>(worker), value HIDP_HERE);
      block_barrier(Threads HIDP_HERE);
      const uint32_t part = lane<Warp>(worker) % power_of_two_from(warps);
      value = load(parts + (part < warps ? part : 0) HIDP_HERE);
      block_barrier(Threads HIDP_HERE);
      return butterfly<Warp, 1, warps>(worker, op, value HIDP_HERE);
    }
  }
}

// The combination of the parts' values. `Op` is made from the lane's trap; whether one raised is settled by who calls.
template <class Group, class Over, class Op, class T, int Threads>
HIDP_DEVICE T reduce_over(Worker<Threads> &worker, T value HIDP_WHERE) {
  return reduce_parts<Group, Over>(worker, Op(worker.trap), value HIDP_HERE);
}

// The same of values that only some parts have; `seen`, the same in all lanes of a part, says which, and then whether any has.
template <class Group, class Over, class Op, class T, int Threads>
HIDP_DEVICE T reduce_seen(Worker<Threads> &worker, T value, bool &seen HIDP_WHERE) {
  const Maybe<T> all = reduce_parts<Group, Over>(worker, Op(worker.trap), Maybe<T>{value, seen} HIDP_HERE);
  seen = all.seen;
  return all.value;
}

HIDP_NAMESPACE_END
