// Whole iterations in vector lanes: what holds a value that differs from lane to lane.
#pragma once

#include <stdint.h>
#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/lane_masks.hpp>

HIDP_NAMESPACE_BEGIN

#if defined(HIDP_LANE_BYTES)
constexpr int kLaneBytes = HIDP_LANE_BYTES;
#elif defined(HIDP_LANE_BITS)
constexpr int kLaneBytes = 64;
#elif defined(__AVX2__)
constexpr int kLaneBytes = 32;
#else
constexpr int kLaneBytes = 16;
#endif

// What a lane is in memory: of masks an integer as wide as the lane, whose bits are all set or all clear.
template <class T, int Bits>
using LaneElement = std::conditional_t<std::is_same_v<T, bool>, LaneInt<Bits>, T>;

template <class T, int Bits, int Groups>
struct Wide {
  using Element = LaneElement<T, Bits>;
  static constexpr bool kIsBits = kLaneBits && std::is_same_v<T, bool>;
  static constexpr int kLanes = kLaneBytes * 8 / Bits * Groups;
  // As many to a vector as fit into a register, but no more than one group has.
  static constexpr int kFit = kLaneBytes / int(sizeof(Element)), kGroup = kLanes / Groups;
  static constexpr int kPerPart = kFit < kGroup ? kFit : kGroup;
  static constexpr int kParts = kLanes / kPerPart;
  using Vector = typename LaneVector<Element, kPerPart>::type;
  using Part = std::conditional_t<kIsBits, LaneBits<Bits>, Vector>;
  Part part[kParts];
};
template <int Bits, int Groups>
using Mask = Wide<bool, Bits, Groups>;

// A value of this type and these lanes, from what `make` makes of the number of a part. Parts are named one by one, and lambdas are
// `HIDP_INLINED`: of loops over parts GCC keeps arrays in memory until it unrolls them, which takes half of its time.
template <class W, class Make>
HIDP_INLINE W wide_parts(Make make) {
  if constexpr (W::kParts == 1) return W{{make(0)}};
  else if constexpr (W::kParts == 2) return W{{make(0), make(1)}};
  else if constexpr (W::kParts == 4) return W{{make(0), make(1), make(2), make(3)}};
  else if constexpr (W::kParts == 8) return W{{make(0), make(1), make(2), make(3), make(4), make(5), make(6), make(7)}};
  else if constexpr (W::kParts == 16)
    return W{{make(0), make(1), make(2), make(3), make(4), make(5), make(6), make(7), make(8), make(9), make(10), make(11), make(12),
              make(13), make(14), make(15)}};
  else {
    W result;
#pragma GCC unroll 64
    for (int at = 0; at < W::kParts; ++at) result.part[at] = make(at);
    return result;
  }
}
// The same from its lanes in memory, one after the other. Parts move one by one: an array of vectors that is copied stays in memory.
template <class W>
HIDP_INLINE W wide_of(const typename W::Element *lanes) {
  return wide_parts<W>([=](int at) HIDP_INLINED {
    typename W::Vector part;
    __builtin_memcpy(&part, lanes + at * W::kPerPart, sizeof part);
    if constexpr (W::kIsBits) return typename W::Part(part_compare<LanesDiffer>(part, typename W::Vector{}));
    else return part;
  });
}
template <class W>
HIDP_INLINE void wide_to(typename W::Element *lanes, const W &value) {
#pragma GCC unroll 64
  for (int at = 0; at < W::kParts; ++at) {
    typename W::Vector part;
    if constexpr (W::kIsBits) part = part_choose(value.part[at], typename W::Vector{} - 1, typename W::Vector{});
    else part = value.part[at];
    __builtin_memcpy(lanes + at * W::kPerPart, &part, sizeof part);
  }
}
// The same from what `make` makes of the number of a lane. Of many lanes registers cannot hold the elements: a loop over them takes as long to run, and
// far less to compile.
template <class W, class Make>
HIDP_INLINE W wide_lanes(Make make) {
  alignas(64) typename W::Element values[W::kLanes];
  if constexpr (W::kLanes > 32) {
#pragma GCC unroll 8
    for (int lane = 0; lane < W::kLanes; ++lane) values[lane] = make(lane);
  } else {
#pragma GCC unroll 64
    for (int lane = 0; lane < W::kLanes; ++lane) values[lane] = make(lane);
  }
  return wide_of<W>(values);
}
// All lanes, one after the other.
template <class T, int B, int G>
struct Spilled {
  alignas(64) LaneElement<T, B> lane[Wide<T, B, G>::kLanes];
  HIDP_INLINE explicit Spilled(const Wide<T, B, G> &a) { wide_to(lane, a); }
};

HIDP_NAMESPACE_END
