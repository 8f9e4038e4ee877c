// Arithmetic of the language where C++ means something else: integers wrap in their own type, shifts and divisions do not
// promote, casts from floats saturate. Divisors are not 0 and shift counts are below the width: who calls has tested it.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>

// The C library's functions: nvcc knows them by name only, other compilers best by their built-in form.
#if defined(__CUDACC__)
#include <math.h>
#define HIDP_LIBRARY(name) ::name
#else
#define HIDP_LIBRARY(name) __builtin_##name
#endif

HIDP_NAMESPACE_BEGIN

// The unsigned type of T's width in which arithmetic on T is done: at least as wide as `int`, so that promotion changes nothing.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

template <class T>
HIDP_INLINE T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  else return a + b;
}
template <class T>
HIDP_INLINE T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  else return a - b;
}
template <class T>
HIDP_INLINE T mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  else return a * b;
}
template <class T>
HIDP_INLINE T neg(T a) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(a));
  else return -a;
}

// MIN / -1 is MIN.
template <class T>
HIDP_INLINE T div(T a, T b) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) return b == -1 ? neg(a) : static_cast<T>(a / b);
  else return static_cast<T>(a / b);
}
// MIN % -1 is 0.
template <class T>
HIDP_INLINE T rem(T a, T b) {
  if constexpr (std::is_same_v<T, float>) return HIDP_LIBRARY(fmodf)(a, b);
  else if constexpr (std::is_same_v<T, double>) return HIDP_LIBRARY(fmod)(a, b);
  else if constexpr (std::is_signed_v<T>) return b == -1 ? T{0} : static_cast<T>(a % b);
  else return static_cast<T>(a % b);
}

template <class T, class N>
HIDP_INLINE T shl(T a, N count) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) << static_cast<Wrapping<T>>(count));
}
// Keeps the sign of signed types.
template <class T, class N>
HIDP_INLINE T shr(T a, N count) {
  return static_cast<T>(a >> static_cast<Wrapping<T>>(count));
}

template <class T>
HIDP_INLINE T bit_not(T a) {
  return static_cast<T>(~static_cast<Wrapping<T>>(a));
}

// Wraps: the smallest value is its own absolute value. Hosts negate without the unsigned type of `neg`, behind which GCC does not see an
// absolute value, and compile with `-fwrapv`. Devices have no such flag.
template <class T>
HIDP_INLINE T abs(T a) {
  if constexpr (std::is_same_v<T, float>) return HIDP_LIBRARY(fabsf)(a);
  else if constexpr (std::is_same_v<T, double>) return HIDP_LIBRARY(fabs)(a);
#if defined(__CUDA_ARCH__)
  else if constexpr (std::is_signed_v<T>) return a < 0 ? neg(a) : a;
#else
  else if constexpr (std::is_signed_v<T>) return a < 0 ? static_cast<T>(-a) : a;
#endif
  else return a;
}

// For values that cost nothing, as both are computed. An operand `c ? a : b` of narrow arithmetic would be chosen among two of `int`, which takes vectors
// several times as many.
template <class T>
HIDP_INLINE T select(bool c, T a, T b) {
  return c ? a : b;
}

// Whether a value is known to the C++ compiler, and no NaN.
template <class T>
HIDP_INLINE bool is_known_number(T a) {
#if defined(__GNUC__)
  return __builtin_constant_p(a) && a == a;
#else
  return false;
#endif
}

// On floats as fmin and fmax: a NaN gives the other operand. Beside a known number one comparison is enough.
template <class T>
HIDP_INLINE T min(T a, T b) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) return ::fminf(a, b);
  else if constexpr (std::is_same_v<T, double>) return ::fmin(a, b);
  else return a < b ? a : b;
#else
  if constexpr (std::is_floating_point_v<T>) {
    if (is_known_number(a)) return a >= b ? b : a;
    const T lower = a < b ? a : b;
    return b != b ? a : lower;
  } else {
    return a < b ? a : b;
  }
#endif
}
template <class T>
HIDP_INLINE T max(T a, T b) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) return ::fmaxf(a, b);
  else if constexpr (std::is_same_v<T, double>) return ::fmax(a, b);
  else return a > b ? a : b;
#else
  if constexpr (std::is_floating_point_v<T>) {
    if (is_known_number(a)) return a <= b ? b : a;
    const T higher = a > b ? a : b;
    return b != b ? a : higher;
  } else {
    return a > b ? a : b;
  }
#endif
}

// a * b + c, fused where the machine has an instruction for it, and in all code for devices: where the host does not have it,
// the C library's function is exact.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__) || defined(HIDP_FOR_DEVICE)
#define HIDP_FUSED 1
#endif
template <class T>
HIDP_INLINE T mul_add(T a, T b, T c) {
#if defined(HIDP_FUSED)
  if constexpr (std::is_same_v<T, float>) return HIDP_LIBRARY(fmaf)(a, b, c);
  else if constexpr (std::is_same_v<T, double>) return HIDP_LIBRARY(fma)(a, b, c);
  else return add(mul(a, b), c);
#else
  return add(mul(a, b), c);
#endif
}

HIDP_NAMESPACE_END
