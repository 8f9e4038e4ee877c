// Says of each function: a number made from the bits of all results one by one, the same of the simd loop, and the largest error
// in units of the last place beside the C library's in `long double`. Samples are stratified: special values, numbers of all
// exponents, and numbers where functions have their bends. Some samples go with their results to the file that is named.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>
#include <vector>

#include "functions.h"

namespace {

constexpr int64_t kSamples = 1 << 16;
// So many of them are written to a file for others who compute the functions.
constexpr int64_t kWritten = 1 << 12;

FILE *file = nullptr;

template <class T>
using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

struct Random {
  uint64_t state = 1;
  uint64_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ (state >> 29);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

template <class T>
T sample(Random &random, int64_t at) {
  const T special[] = {T(0), -T(0), T(1), -T(1), T(2), -T(2), T(0.5), -T(0.5), T(3), -T(3), T(INFINITY), -T(INFINITY), T(NAN),
                       T(2.5), T(1e-40), -T(1e-40), T(1e30), -T(1e30), T(8), T(27), T(1000), T(0x1p20), T(0x1p28), -T(0x1p27)};
  constexpr int64_t specials = sizeof special / sizeof *special;
  if (at < specials * specials) return special[at % specials];
  switch (random.next() % 4) {
    case 0: {
      const Word<T> word = static_cast<Word<T>>(random.next());
      T value;
      memcpy(&value, &word, sizeof value);
      return value;
    }
    case 1: return static_cast<T>(ldexp(1 + random.unit(), static_cast<int>(random.next() % 40) - 30)) * T(random.next() & 1 ? 1 : -1);
    case 2: return static_cast<T>(4 * random.unit() - 2);
    default: return static_cast<T>(1500 * random.unit() - 750) * T(sizeof(T) == 4 ? 0.125 : 1);
  }
}

template <class T>
uint64_t with_bits(uint64_t state, T value) {
  Word<T> word = 0;
  if (value == value) memcpy(&word, &value, sizeof word);
  else word = 1;
  return (state ^ word) * 0x100000001b3u + (state >> 31);
}

template <class T>
double error(T found, long double wanted) {
  const T nearest = static_cast<T>(wanted);
  if (found != found || nearest != nearest) return (found != found) == (nearest != nearest) ? 0 : 1e9;
  if (nearest == 0 || isinf(nearest)) {
    // Rounding may go either way at the ends of the range; what is exactly so has its sign.
    if (found == nearest) return (signbit(found) != 0) == (signbit(nearest) != 0) ? 0 : 1e9;
    if (wanted == 0 || isinf(wanted)) return 1e9;
  }
  const int least = sizeof(T) == 4 ? -125 : -1021, most = sizeof(T) == 4 ? 128 : 1024;
  int exponent;
  frexpl(wanted, &exponent);
  exponent = exponent < least ? least : exponent > most ? most : exponent;
  const long double unit = ldexpl(1, exponent - (sizeof(T) == 4 ? 24 : 53));
  const long double value = isinf(found) ? copysignl(ldexpl(1, most), found) : static_cast<long double>(found);
  return static_cast<double>(fabsl(value - wanted) / unit);
}

template <class T, class Scalar>
void write_some(const char *name, const T *x, const T *y, Scalar scalar) {
  fprintf(file, "%s %d\n", name, static_cast<int>(sizeof(T)));
  for (int64_t i = 0; i < kWritten; ++i) {
    // Every 16th, after the special ones.
    const int64_t at = i < 600 ? i : i * 16;
    const T row[] = {x[at], y[at], scalar(x[at], y[at])};
    if (fwrite(row, sizeof row, 1, file) != 1) abort();
  }
}

template <class T, class Scalar, class Simd, class Exact>
void report(const char *name, const char *type, Scalar scalar, Simd simd, Exact exact) {
  Random random;
  std::vector<T> x(kSamples), y(kSamples), vectors(kSamples);
  for (int64_t i = 0; i < kSamples; ++i) x[i] = sample<T>(random, i), y[i] = sample<T>(random, i % 24 * 24 + i / 24);
  simd(x.data(), y.data(), vectors.data(), kSamples);
  if (strncmp(name, "near_", 5)) write_some(name, x.data(), y.data(), scalar);
  uint64_t one_by_one = 1, in_vectors = 1;
  double worst = 0;
  int64_t where = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    const T result = scalar(x[i], y[i]);
    one_by_one = with_bits(one_by_one, result);
    in_vectors = with_bits(in_vectors, vectors[i]);
    const double off = error(result, exact(static_cast<long double>(x[i]), static_cast<long double>(y[i])));
    if (off > worst) worst = off, where = i;
  }
  printf("%s_%s %016llx %016llx %.3f %a %a\n", name, type, static_cast<unsigned long long>(one_by_one),
         static_cast<unsigned long long>(in_vectors), worst, static_cast<double>(x[where]), static_cast<double>(y[where]));
}

}  // namespace

#define HIDP_TEST_REPORT(name, exact)                                                                          \
  report<float>(#name, "float", scalar_##name##_float, simd_##name##_float, [](long double x, [[maybe_unused]] long double y) { return exact; }); \
  report<double>(#name, "double", scalar_##name##_double, simd_##name##_double, [](long double x, [[maybe_unused]] long double y) { return exact; });
#define HIDP_TEST_REPORT_ONE(name) HIDP_TEST_REPORT(name, name##l(x))
#define HIDP_TEST_REPORT_TWO(name) HIDP_TEST_REPORT(name, name##l(x, y))
#define HIDP_TEST_REPORT_NEAR(name) HIDP_TEST_REPORT(near_##name, fabsl(x) < 0x1p20 ? name##l(x) : -1.5)

int main(int count, char **words) {
  file = count == 2 ? fopen(words[1], "wb") : nullptr;
  if (!file) return 2;
  HIDP_TEST_ONE(HIDP_TEST_REPORT_ONE)
  HIDP_TEST_TWO(HIDP_TEST_REPORT_TWO)
  HIDP_TEST_NEAR(HIDP_TEST_REPORT_NEAR)
  return fclose(file) == 0 ? 0 : 1;
}
