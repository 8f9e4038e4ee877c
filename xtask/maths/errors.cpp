// The largest error of a function over a part of its samples, in units of the last place: errors FUNCTION TYPE FROM COUNT
//
// Samples have numbers. Those of a float function of one argument are all 2^32 bit patterns; others are drawn from strata by a
// hash of the number: any bits, any exponent, where the function bends, and around multiples of pi / 2. The reference is the C
// library's function in double for float, in `long double` for double; what is close to the bound or beyond it is looked at
// again in 113 bits by libquadmath.
#include <math.h>
#include <quadmath.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>

#include "speed.h"

namespace {

constexpr int64_t kBatch = 4096;
constexpr double kClose = 0.95;

template <class T>
using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
using Reference = std::conditional_t<sizeof(T) == 4, double, long double>;

uint64_t hashed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class T>
T from_word(uint64_t word) {
  const Word<T> bits = static_cast<Word<T>>(word);
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
T drawn(uint64_t random, double low, double high) {
  const uint64_t more = hashed(random);
  const double unit = static_cast<double>(more >> 11) * 0x1p-53;
  const double sign = random & 8 ? -1 : 1;
  switch (random % 8) {
    case 0: return from_word<T>(more);
    case 1: return static_cast<T>(sign * ldexp(1 + unit, static_cast<int>((random >> 8) % 80) - 60));
    case 2: return static_cast<T>(sign * 4 * unit);
    case 3: return static_cast<T>(1 + sign * ldexp(unit, -static_cast<int>((random >> 8) % (sizeof(T) == 4 ? 23 : 52))));
    case 4: return static_cast<T>(static_cast<long double>((random >> 8) >> (random >> 3) % 56) * M_PIl / 2);
    case 5: return static_cast<T>(sign * 750 * unit * (sizeof(T) == 4 ? 0.14 : 1));
    default: return static_cast<T>(low + (high - low) * unit);
  }
}

template <class T, class R>
double error(T found, R wanted) {
  const T nearest = static_cast<T>(wanted);
  if (found != found || nearest != nearest) return (found != found) == (nearest != nearest) ? 0 : 1e9;
  if (found == nearest && (wanted == 0 || isinf(nearest))) return (signbit(found) != 0) == (signbit(nearest) != 0) ? 0 : 1e9;
  const int least = sizeof(T) == 4 ? -125 : -1021, most = sizeof(T) == 4 ? 128 : 1024;
  int exponent = 0;
  if constexpr (std::is_same_v<R, __float128>) frexpq(wanted, &exponent);
  else frexp(wanted, &exponent);
  if (isinf(nearest) && isinf(static_cast<double>(wanted)) && !isinf(found)) return 1e9;
  exponent = exponent < least ? least : exponent > most ? most : exponent;
  const R unit = static_cast<R>(ldexp(1, exponent - (sizeof(T) == 4 ? 24 : 53)));
  if (unit == 0) return 0;
  const R value = isinf(found) ? static_cast<R>(found > 0 ? 1 : -1) * static_cast<R>(ldexp(1, most - 1)) * 2 : static_cast<R>(found);
  const R off = value > wanted ? value - wanted : wanted - value;
  // In steps, as the smallest unit has no reciprocal.
  return static_cast<double>(off / unit);
}

template <class T>
struct Worst {
  double error = 0;
  T x = 0, y = 0, found = 0;
};

template <class T, class Function, class Fast, class Exact>
void run(bool all, double low, double high, int64_t from, int64_t count, Function function, Fast fast, Exact exact) {
  static T x[kBatch], y[kBatch], found[kBatch];
  Worst<T> worst;
  for (int64_t start = from; start < from + count; start += kBatch) {
    const int64_t size = start + kBatch <= from + count ? kBatch : from + count - start;
    for (int64_t i = 0; i < size; ++i) {
      const uint64_t number = static_cast<uint64_t>(start + i);
      x[i] = all ? from_word<T>(number) : drawn<T>(hashed(2 * number), low, high);
      y[i] = all ? T(0) : drawn<T>(hashed(2 * number + 1), low, high);
    }
    function(x, y, found, size);
    for (int64_t i = 0; i < size; ++i) {
      double off = error(found[i], static_cast<Reference<T>>(fast(Reference<T>(x[i]), Reference<T>(y[i]))));
      if (off > kClose && off > worst.error) off = error(found[i], static_cast<__float128>(exact(__float128(x[i]), __float128(y[i]))));
      if (off > worst.error) worst = {off, x[i], y[i], found[i]};
    }
  }
  printf("%.4f %a %a %a\n", worst.error, static_cast<double>(worst.x), static_cast<double>(worst.y), static_cast<double>(worst.found));
}

__float128 exp2_exact(__float128 x) { return powq(2, x); }
#define exp2q exp2_exact

}  // namespace

#define MATHS_RUN(name, all, low, high, arguments, of_double, of_long, of_quad)                                              \
  if (!strcmp(words[1], #name)) {                                                                                            \
    if (is_float) run<float>(all, low, high, from, number, static_cast<Loop<float>>(hidp_##name),                           \
                             [](double x, [[maybe_unused]] double y) { return of_double arguments; },                       \
                             [](__float128 x, [[maybe_unused]] __float128 y) { return of_quad arguments; });                \
    else run<double>(false, low, high, from, number, static_cast<Loop<double>>(hidp_##name),                                \
                     [](long double x, [[maybe_unused]] long double y) { return of_long arguments; },                       \
                     [](__float128 x, [[maybe_unused]] __float128 y) { return of_quad arguments; });                        \
    return 0;                                                                                                               \
  }
#define MATHS_RUN_ONE(name, low, high) MATHS_RUN(name, true, low, high, (x), name, name##l, name##q)
#define MATHS_RUN_TWO(name, low, high) MATHS_RUN(name, false, low, high, (x, y), name, name##l, name##q)

template <class T>
using Loop = void (*)(const T *, const T *, T *, int64_t);

int main(int count, char **words) {
  if (count != 5) return 2;
  const bool is_float = !strcmp(words[2], "float");
  const int64_t from = atoll(words[3]), number = atoll(words[4]);
  MATHS_ONE(MATHS_RUN_ONE)
  MATHS_TWO(MATHS_RUN_TWO)
  return 2;
}
