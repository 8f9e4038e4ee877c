// Loops as the compiler prints them.
#include <hidp/math.hpp>

#include "speed.h"

#define MATHS_LOOP(name, type, value)                                                                          \
  void hidp_##name(const type *x, [[maybe_unused]] const type *y, type *result, int64_t count) {                \
    _Pragma("omp simd") for (int64_t i = 0; i < count; ++i) result[i] = value;                                 \
  }
#define MATHS_LOOPS_ONE(name, low, high) MATHS_LOOP(name, float, hidp::name(x[i])) MATHS_LOOP(name, double, hidp::name(x[i]))
#define MATHS_LOOPS_TWO(name, low, high) MATHS_LOOP(name, float, hidp::name(x[i], y[i])) MATHS_LOOP(name, double, hidp::name(x[i], y[i]))

MATHS_ONE(MATHS_LOOPS_ONE)
MATHS_TWO(MATHS_LOOPS_TWO)
