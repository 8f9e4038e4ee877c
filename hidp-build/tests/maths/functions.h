// The functions of hidp/maths, the C library's by the same name with an `l`, and how loops over them are called.
#pragma once

#include <stdint.h>

#define HIDP_TEST_ONE(DO)                                                                                                       \
  DO(exp) DO(exp2) DO(expm1) DO(sinh) DO(cosh) DO(tanh) DO(log) DO(log2) DO(log10) DO(log1p) DO(asinh) DO(acosh) DO(atanh) \
  DO(cbrt) DO(sin) DO(cos) DO(tan) DO(asin) DO(acos) DO(atan) DO(erf) DO(erfc)
#define HIDP_TEST_TWO(DO) DO(pow) DO(hypot) DO(atan2)
// Those for which vector loops have another text where the argument is near 0.
#define HIDP_TEST_NEAR(DO) DO(sin) DO(cos) DO(tan)

// Vector code, and one number at a time.
#define HIDP_TEST_DECLARE(name)                                                                         \
  extern "C" void simd_##name##_float(const float *x, const float *y, float *result, int64_t count);    \
  extern "C" void simd_##name##_double(const double *x, const double *y, double *result, int64_t count); \
  extern "C" float scalar_##name##_float(float x, float y);                                             \
  extern "C" double scalar_##name##_double(double x, double y);
HIDP_TEST_ONE(HIDP_TEST_DECLARE)
HIDP_TEST_TWO(HIDP_TEST_DECLARE)
#define HIDP_TEST_DECLARE_NEAR(name) HIDP_TEST_DECLARE(near_##name)
HIDP_TEST_NEAR(HIDP_TEST_DECLARE_NEAR)
