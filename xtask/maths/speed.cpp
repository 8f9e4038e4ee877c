// Nanoseconds an element of `y[i] = f(x[i])` by hidp, the C library one at a time, libmvec (-Ofast) and SLEEF (at most 1 ULP).
// The least of several short runs over 4096 elements, peers in turn.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <vector>

#include "speed.h"

#if defined(MATHS_SLEEF)
#include <immintrin.h>
#include <sleef.h>
#if defined(__AVX512F__)
#define MATHS_WIDTH(name, kind) Sleef_##name##kind
#define MATHS_FLOATS 16
#define MATHS_LOAD_PS _mm512_loadu_ps
#define MATHS_STORE_PS _mm512_storeu_ps
#define MATHS_LOAD_PD _mm512_loadu_pd
#define MATHS_STORE_PD _mm512_storeu_pd
#define MATHS_F(name, bound) Sleef_##name##f16_##bound
#define MATHS_D(name, bound) Sleef_##name##d8_##bound
#else
#define MATHS_FLOATS 8
#define MATHS_LOAD_PS _mm256_loadu_ps
#define MATHS_STORE_PS _mm256_storeu_ps
#define MATHS_LOAD_PD _mm256_loadu_pd
#define MATHS_STORE_PD _mm256_storeu_pd
#define MATHS_F(name, bound) Sleef_##name##f8_##bound
#define MATHS_D(name, bound) Sleef_##name##d4_##bound
#endif
#define MATHS_SLEEF_LOOPS(name, float_call, double_call)                                                              \
  void sleef_##name(const float *x, [[maybe_unused]] const float *y, float *result, int64_t count) {                   \
    for (int64_t i = 0; i < count; i += MATHS_FLOATS) MATHS_STORE_PS(result + i, float_call);                         \
  }                                                                                                                   \
  void sleef_##name(const double *x, [[maybe_unused]] const double *y, double *result, int64_t count) {                \
    for (int64_t i = 0; i < count; i += MATHS_FLOATS / 2) MATHS_STORE_PD(result + i, double_call);                    \
  }
#define MATHS_SLEEF_ONE(name, bound) \
  MATHS_SLEEF_LOOPS(name, MATHS_F(name, bound)(MATHS_LOAD_PS(x + i)), MATHS_D(name, bound)(MATHS_LOAD_PD(x + i)))
#define MATHS_SLEEF_TWO(name, bound)                                                               \
  MATHS_SLEEF_LOOPS(name, MATHS_F(name, bound)(MATHS_LOAD_PS(x + i), MATHS_LOAD_PS(y + i)), \
                    MATHS_D(name, bound)(MATHS_LOAD_PD(x + i), MATHS_LOAD_PD(y + i)))
#define MATHS_U10(DO) \
  DO(exp) DO(exp2) DO(expm1) DO(log) DO(log2) DO(log10) DO(log1p) DO(sin) DO(cos) DO(tan) DO(asin) DO(acos) DO(atan) \
  DO(sinh) DO(cosh) DO(tanh) DO(asinh) DO(acosh) DO(atanh) DO(cbrt) DO(erf)
#define MATHS_SLEEF_U10(name) MATHS_SLEEF_ONE(name, u10)
MATHS_U10(MATHS_SLEEF_U10)
MATHS_SLEEF_ONE(erfc, u15)
MATHS_SLEEF_TWO(pow, u10)
MATHS_SLEEF_TWO(atan2, u10)
MATHS_SLEEF_TWO(hypot, u05)
#define MATHS_SLEEF_OF(name, type) static_cast<Loop<type>>(sleef_##name)
#else
#define MATHS_SLEEF_OF(name, type) static_cast<Loop<type>>(nullptr)
#endif

namespace {

constexpr int64_t kCount = 4096;

template <class T>
using Loop = void (*)(const T *, const T *, T *, int64_t);

double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <class T>
void report(const char *name, const char *type, double low, double high, const Loop<T> (&loops)[4]) {
  std::vector<T> x(kCount), y(kCount), result(kCount);
  uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (int64_t i = 0; i < kCount; ++i) x[i] = static_cast<T>(next()), y[i] = static_cast<T>(next());
  double best[4] = {1e30, 1e30, 1e30, 1e30};
  for (int turn = 0; turn < 25; ++turn) {
    for (int peer = 0; peer < 4; ++peer) {
      if (!loops[peer]) continue;
      const double start = now();
      for (int again = 0; again < 2; ++again) loops[peer](x.data(), y.data(), result.data(), kCount);
      const double took = (now() - start) / (2 * kCount);
      if (took < best[peer]) best[peer] = took;
    }
  }
  printf("%s %s", name, type);
  for (int peer = 0; peer < 4; ++peer) loops[peer] ? printf(" %.3f", best[peer]) : printf(" -");
  printf("\n");
  fflush(stdout);
}

}  // namespace

#define MATHS_REPORT(name, low, high)                                                                    \
  if (!only || !strcmp(only, #name)) { \
  report<float>(#name, "float", low, high, {hidp_##name, libm_##name, fast_##name, MATHS_SLEEF_OF(name, float)}); \
  report<double>(#name, "double", low, high, {hidp_##name, libm_##name, fast_##name, MATHS_SLEEF_OF(name, double)}); }

int main(int count, char **words) {
  const char *const only = count > 1 ? words[1] : nullptr;
  MATHS_ONE(MATHS_REPORT)
  MATHS_TWO(MATHS_REPORT)
}
