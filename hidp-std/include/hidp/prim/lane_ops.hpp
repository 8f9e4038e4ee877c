// The built-in operators on whole vectors, lane by lane as on scalars.
#pragma once

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/ops.hpp>
#include <hidp/prim/vector.hpp>

HIDP_NAMESPACE_BEGIN

template <class Op>
struct LaneOp {
  static constexpr bool exists = false;
};

#define HIDP_LANE_OP(Name, result)                                                            \
  template <class T>                                                                          \
  struct LaneOp<Name<T>> {                                                                    \
    static constexpr bool exists = !std::is_same_v<T, bool>;                                  \
    using V = Vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;                \
    static HIDP_INLINE V apply(V a, V b) { return result; }                                   \
  };

HIDP_LANE_OP(Add, a + b)
HIDP_LANE_OP(Mul, a *b)
HIDP_LANE_OP(And, a &b)
HIDP_LANE_OP(Or, a | b)
HIDP_LANE_OP(Xor, a ^ b)

#undef HIDP_LANE_OP

template <class T>
struct LaneOp<Min<T>> {
  static constexpr bool exists = !std::is_same_v<T, bool>;
  using V = Vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;
  static HIDP_INLINE V apply(V a, V b) {
    const V lower = a < b ? a : b;
    if constexpr (std::is_floating_point_v<T>) return b != b ? a : lower;
    else return lower;
  }
};
template <class T>
struct LaneOp<Max<T>> {
  static constexpr bool exists = !std::is_same_v<T, bool>;
  using V = Vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;
  static HIDP_INLINE V apply(V a, V b) {
    const V higher = a > b ? a : b;
    if constexpr (std::is_floating_point_v<T>) return b != b ? a : higher;
    else return higher;
  }
};

HIDP_NAMESPACE_END
