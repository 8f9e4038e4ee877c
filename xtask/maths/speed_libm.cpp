// The C library's functions: PEER is `libm`, built as usual, or `fast`, built with -Ofast, which is libmvec where that has the function.
#include <math.h>

#include "speed.h"

#define MATHS_JOIN(peer, name) peer##_##name
#define MATHS_NAMED(peer, name) MATHS_JOIN(peer, name)
#define MATHS_LOOP(name, type, value)                                                                              \
  void MATHS_NAMED(PEER, name)(const type *__restrict x, [[maybe_unused]] const type *__restrict y, type *__restrict result, int64_t count) { \
    for (int64_t i = 0; i < count; ++i) result[i] = value;                                                         \
  }
#define MATHS_LOOPS_ONE(name, low, high) MATHS_LOOP(name, float, name##f(x[i])) MATHS_LOOP(name, double, name(x[i]))
#define MATHS_LOOPS_TWO(name, low, high) MATHS_LOOP(name, float, name##f(x[i], y[i])) MATHS_LOOP(name, double, name(x[i], y[i]))

MATHS_ONE(MATHS_LOOPS_ONE)
MATHS_TWO(MATHS_LOOPS_TWO)
