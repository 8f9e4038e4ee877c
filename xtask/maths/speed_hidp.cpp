// Loops as the compiler prints them.
#include <hidp/math.hpp>

#include "speed.h"

#define MATHS_LOOP(name, type, value)                                                                          \
  void hidp_##name(const type *x, [[maybe_unused]] const type *y, type *result, int64_t count) {                \
    _Pragma("omp simd") for (int64_t i = 0; i < count; ++i) result[i] = value;                                 \
  }
// In turns, in which angles are taken to be near 0 at first.
#define MATHS_ANGLES(name, type)                                                                               \
  void hidp_##name(const type *x, const type *, type *result, int64_t count) {                                 \
    for (int64_t first = 0; first < count; first += 256) {                                                     \
      const int64_t past = first + 256 < count ? first + 256 : count;                                          \
      int64_t far = 0;                                                                                         \
      _Pragma("omp simd reduction(|: far)") for (int64_t i = first; i < past; ++i) {                           \
        far = far | (hidp::is_near(x[i]) ? 0 : 1);                                                             \
        result[i] = hidp::near_##name(x[i]);                                                                   \
      }                                                                                                        \
      if (far == 0) continue;                                                                                  \
      _Pragma("omp simd") for (int64_t i = first; i < past; ++i) result[i] = hidp::name(x[i]);                 \
    }                                                                                                          \
  }
#define MATHS_LOOPS_ANGLE(name, low, high) MATHS_ANGLES(name, float) MATHS_ANGLES(name, double)
#define MATHS_LOOPS_ONE(name, low, high) MATHS_LOOP(name, float, hidp::name(x[i])) MATHS_LOOP(name, double, hidp::name(x[i]))
#define MATHS_LOOPS_TWO(name, low, high) MATHS_LOOP(name, float, hidp::name(x[i], y[i])) MATHS_LOOP(name, double, hidp::name(x[i], y[i]))

MATHS_POWERS(MATHS_LOOPS_ONE)
MATHS_OF_ANGLES(MATHS_LOOPS_ANGLE)
MATHS_OTHERS(MATHS_LOOPS_ONE)
MATHS_TWO(MATHS_LOOPS_TWO)
