// Operators as function objects, for templates. Each is made from the trap of whoever runs it: operators that are functions of
// the program may raise there. Built-in ones raise nothing and know their neutral element.
#pragma once

#include <type_traits>

#include <hidp/arith.hpp>
#include <hidp/cast.hpp>
#include <hidp/trap.hpp>

HIDP_NAMESPACE_BEGIN

template <class T>
HIDP_INLINE constexpr T lowest_value() {
  if constexpr (std::is_floating_point_v<T>) return -static_cast<T>(__builtin_inf());
  else if constexpr (std::is_same_v<T, bool>) return false;
  else return IntegerRange<T>::min;
}
template <class T>
HIDP_INLINE constexpr T highest_value() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(__builtin_inf());
  else if constexpr (std::is_same_v<T, bool>) return true;
  else return IntegerRange<T>::max;
}

// `builtin` tells a template that applying the operator in any grouping, in vector lanes, is cheap and raises nothing.
#define HIDP_OPERATOR(Name, result, neutral_value)          \
  template <class T>                                        \
  struct Name {                                             \
    static constexpr bool builtin = true;                   \
    HIDP_INLINE explicit Name(Trap &) {}                                \
    HIDP_INLINE T operator()(T a, T b) const { return result; } \
    HIDP_INLINE static constexpr T neutral() { return neutral_value; }  \
  };

HIDP_OPERATOR(Add, add(a, b), T{0})
HIDP_OPERATOR(Mul, mul(a, b), T{1})
HIDP_OPERATOR(Min, min(a, b), highest_value<T>())
HIDP_OPERATOR(Max, max(a, b), lowest_value<T>())
HIDP_OPERATOR(And, static_cast<T>(a & b), static_cast<T>(~T{0}))
HIDP_OPERATOR(Or, static_cast<T>(a | b), T{0})
HIDP_OPERATOR(Xor, static_cast<T>(a ^ b), T{0})

#undef HIDP_OPERATOR

// Least and greatest pass over NaN: of NaN alone they are the neutral element.
template <class Op, class T>
constexpr bool kPassesNan = std::is_floating_point_v<T> && (std::is_same_v<Op, Min<T>> || std::is_same_v<Op, Max<T>>);
template <class Op, class T>
HIDP_INLINE T past_nan(T neutral, T fold) {
  if constexpr (kPassesNan<Op, T>) return fold != fold ? neutral : fold;
  else return fold;
}
template <class Op, class T>
HIDP_INLINE T past_nan(T value) {
  if constexpr (kPassesNan<Op, T>) return past_nan<Op>(Op::neutral(), value);
  else return value;
}

// Reductions of simd loops. OpenMP's own `min` and `max` know no NaN.
#pragma omp declare reduction(minimum : float, double : omp_out = min(omp_out, omp_in)) \
    initializer(omp_priv = __builtin_inff())
#pragma omp declare reduction(maximum : float, double : omp_out = max(omp_out, omp_in)) \
    initializer(omp_priv = -__builtin_inff())

HIDP_NAMESPACE_END
