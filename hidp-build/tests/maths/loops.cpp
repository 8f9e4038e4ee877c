// A simd loop and a scalar function each; what is asked of the loops is that they are vector code without calls.
#include <hidp/math.hpp>

#include "functions.h"

#define HIDP_TEST_LOOP(name, type, value)                                                                             \
  extern "C" void simd_##name##_##type(const type *x, [[maybe_unused]] const type *y, type *result, int64_t count) {     \
    _Pragma("omp simd") for (int64_t i = 0; i < count; ++i) result[i] = value;                                         \
  }
#define HIDP_TEST_SCALAR(name, type, value)                                                                         \
  extern "C" __attribute__((noinline)) type scalar_##name##_##type(type x, [[maybe_unused]] type y) { return value; }

#define HIDP_TEST_DEFINE_ONE(name)                      \
  HIDP_TEST_LOOP(name, float, hidp::name(x[i]))         \
  HIDP_TEST_LOOP(name, double, hidp::name(x[i]))        \
  HIDP_TEST_SCALAR(name, float, hidp::name(x))          \
  HIDP_TEST_SCALAR(name, double, hidp::name(x))
#define HIDP_TEST_DEFINE_TWO(name)                      \
  HIDP_TEST_LOOP(name, float, hidp::name(x[i], y[i]))   \
  HIDP_TEST_LOOP(name, double, hidp::name(x[i], y[i]))  \
  HIDP_TEST_SCALAR(name, float, hidp::name(x, y))       \
  HIDP_TEST_SCALAR(name, double, hidp::name(x, y))

// In vectors by the text for arguments near 0, and alone by that for all.
#define HIDP_TEST_DEFINE_NEAR(name)                                                                              \
  HIDP_TEST_LOOP(near_##name, float, hidp::is_near(x[i]) ? hidp::near_##name(x[i]) : -1.5f)                       \
  HIDP_TEST_LOOP(near_##name, double, hidp::is_near(x[i]) ? hidp::near_##name(x[i]) : -1.5)                       \
  HIDP_TEST_SCALAR(near_##name, float, hidp::is_near(x) ? hidp::name(x) : -1.5f)                                  \
  HIDP_TEST_SCALAR(near_##name, double, hidp::is_near(x) ? hidp::name(x) : -1.5)

HIDP_TEST_ONE(HIDP_TEST_DEFINE_ONE)
HIDP_TEST_NEAR(HIDP_TEST_DEFINE_NEAR)
HIDP_TEST_TWO(HIDP_TEST_DEFINE_TWO)
