// The maths functions of the language, by one name for both widths. Those of hidp/maths are texts of ours, branch-free and the
// same for every plan; the others are instructions, exact, or the C library's.
#pragma once

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>

HIDP_NAMESPACE_BEGIN

#define HIDP_MATH1(name)                                                  \
  HIDP_INLINE float name(float x) { return HIDP_LIBRARY(name##f)(x); } \
  HIDP_INLINE double name(double x) { return HIDP_LIBRARY(name)(x); }
#define HIDP_MATH2(name)                                                              \
  HIDP_INLINE float name(float x, float y) { return HIDP_LIBRARY(name##f)(x, y); } \
  HIDP_INLINE double name(double x, double y) { return HIDP_LIBRARY(name)(x, y); }

HIDP_MATH1(sqrt)
HIDP_MATH1(floor)
HIDP_MATH1(ceil)
HIDP_MATH1(trunc)
HIDP_MATH1(round)
HIDP_MATH1(rint)
HIDP_MATH1(tgamma)
HIDP_MATH1(lgamma)
HIDP_MATH2(fmod)
HIDP_MATH2(copysign)

#undef HIDP_MATH1
#undef HIDP_MATH2

HIDP_NAMESPACE_END

#include <hidp/maths/error.hpp>
#include <hidp/maths/exponential.hpp>
#include <hidp/maths/inverse.hpp>
#include <hidp/maths/logarithm.hpp>
#include <hidp/maths/power.hpp>
#include <hidp/maths/root.hpp>
#include <hidp/maths/trigonometry.hpp>

HIDP_NAMESPACE_BEGIN

#define HIDP_MATH1(name)                                        \
  HIDP_INLINE float name(float x) { return maths::name(x); } \
  HIDP_INLINE double name(double x) { return maths::name(x); }
#define HIDP_MATH2(name)                                                    \
  HIDP_INLINE float name(float x, float y) { return maths::name(x, y); } \
  HIDP_INLINE double name(double x, double y) { return maths::name(x, y); }

HIDP_MATH1(cbrt)
HIDP_MATH1(exp)
HIDP_MATH1(exp2)
HIDP_MATH1(expm1)
HIDP_MATH1(log)
HIDP_MATH1(log2)
HIDP_MATH1(log10)
HIDP_MATH1(log1p)
HIDP_MATH1(sin)
HIDP_MATH1(cos)
HIDP_MATH1(tan)
HIDP_MATH1(near_sin)
HIDP_MATH1(near_cos)
HIDP_MATH1(near_tan)
HIDP_MATH1(asin)
HIDP_MATH1(acos)
HIDP_MATH1(atan)
HIDP_MATH1(sinh)
HIDP_MATH1(cosh)
HIDP_MATH1(tanh)
HIDP_MATH1(asinh)
HIDP_MATH1(acosh)
HIDP_MATH1(atanh)
HIDP_MATH1(erf)
HIDP_MATH1(erfc)
HIDP_MATH2(hypot)
HIDP_MATH2(pow)
HIDP_MATH2(atan2)

#undef HIDP_MATH1
#undef HIDP_MATH2

// Whether near_sin, near_cos and near_tan are sin, cos and tan there.
HIDP_INLINE bool is_near(float x) { return maths::is_near(x); }
HIDP_INLINE bool is_near(double x) { return maths::is_near(x); }

// Rounded once, whatever the machine.
HIDP_INLINE float fma(float x, float y, float z) { return HIDP_LIBRARY(fmaf)(x, y, z); }
HIDP_INLINE double fma(double x, double y, double z) { return HIDP_LIBRARY(fma)(x, y, z); }

template <class T>
HIDP_INLINE bool isnan(T x) {
  return x != x;
}
template <class T>
HIDP_INLINE bool isinf(T x) {
  return x == static_cast<T>(__builtin_inf()) || x == -static_cast<T>(__builtin_inf());
}
template <class T>
HIDP_INLINE bool isfinite(T x) {
  return x - x == T{0};
}

HIDP_NAMESPACE_END
