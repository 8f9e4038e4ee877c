// The functions that are timed, and a loop over each by each peer.
#pragma once

#include <stdint.h>

// name, the range of arguments
#define MATHS_ONE(DO) MATHS_POWERS(DO) MATHS_OF_ANGLES(DO) MATHS_OTHERS(DO)
#define MATHS_POWERS(DO)                                                                                            \
  DO(exp, -80, 80) DO(exp2, -100, 100) DO(expm1, -5, 5) DO(log, 0.01, 100) DO(log2, 0.01, 100) DO(log10, 0.01, 100) \
  DO(log1p, -0.9, 10)
#define MATHS_OF_ANGLES(DO) DO(sin, -10, 10) DO(cos, -10, 10) DO(tan, -10, 10)
#define MATHS_OTHERS(DO)                                                                                    \
  DO(asin, -1, 1) DO(acos, -1, 1) DO(atan, -10, 10)                                                         \
  DO(sinh, -10, 10) DO(cosh, -10, 10) DO(tanh, -3, 3) DO(asinh, -10, 10) DO(acosh, 1, 10) DO(atanh, -1, 1)                  \
  DO(cbrt, -100, 100) DO(erf, -3, 3) DO(erfc, -3, 6)
#define MATHS_TWO(DO) DO(pow, 0.1, 10) DO(hypot, -10, 10) DO(atan2, -10, 10)

#define MATHS_DECLARE(peer, name)                                                              \
  void peer##_##name(const float *x, const float *y, float *result, int64_t count);            \
  void peer##_##name(const double *x, const double *y, double *result, int64_t count);
#define MATHS_DECLARE_ALL(name, low, high) MATHS_DECLARE(hidp, name) MATHS_DECLARE(libm, name) MATHS_DECLARE(fast, name)
MATHS_ONE(MATHS_DECLARE_ALL)
MATHS_TWO(MATHS_DECLARE_ALL)
