// cbrt and hypot.
#pragma once

#include <hidp/maths/coefficients/root.hpp>
#include <hidp/maths/pair.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// x = 2^(3 k) m with m in [1/sqrt(8), sqrt(8)]: m^(-1/3) from a polynomial and a step of fourth order, then m times its square, whose
// cube is compared with m exactly. Cube roots that are numbers are exact.
template <class F>
HIDP_INLINE F cbrt(F x) {
  const F a = magnitude(x);
  const bool tiny = a < F(kIsDouble<F> ? 0x1p-1022 : 0x1p-126);
  const F lifted = select(tiny, a * F(kIsDouble<F> ? 0x1p54 : 0x1p24), a);
  const F k = nearest(split(lifted).exponent * F(1.0 / 3));
  const F m = scale(lifted, F(-3) * k);
  const F start = cbrt_start(m);
  const F off = mul_add(-m * start, start * start, F(1));
  const F inverse = mul_add(start * off, polynomial(off, 1.0 / 3, 2.0 / 9, 14.0 / 81), start);
  const F root = m * inverse * inverse;
  const Pair<F> square = product(root, root);
  const Pair<F> cube = product(square.high, root);
  const F rest = ((m - cube.high) - cube.low) - square.low * root;
  const F result = mul_add(rest, inverse * inverse * F(1.0 / 3), root);
  const F placed = result * power_of_two(k - select(tiny, F(kIsDouble<F> ? 18.0 : 8.0), F(0)));
  const bool ordinary = a > F(0) && a < infinity<F>();
  return select(ordinary, with_sign(placed, x), x);
}

// The larger one scaled into the middle of the range, squares in pairs, and the root with its rest.
template <class F>
HIDP_INLINE F hypot_scaled(F x, F y) {
  const F a = magnitude(x);
  const F b = magnitude(y);
  const F larger = select(a > b, a, b);
  const F smaller = select(a > b, b, a);
  const F down = F(kIsDouble<F> ? 0x1p-600 : 0x1p-70);
  const F up = F(kIsDouble<F> ? 0x1p600 : 0x1p70);
  const F large = F(kIsDouble<F> ? 0x1p450 : 0x1p50);
  const F small = F(kIsDouble<F> ? 0x1p-450 : 0x1p-50);
  const F factor = select(larger > large, down, select(larger < small, up, F(1)));
  const F back = select(larger > large, up, select(larger < small, down, F(1)));
  const F u = larger * factor;
  const F v = smaller * factor;
  const Pair<F> uu = product(u, u);
  const Pair<F> vv = product(v, v);
  const Pair<F> squares = sum_ordered(uu.high, vv.high);
  const Pair<F> root = square_root(pair(squares.high, squares.low + (uu.low + vv.low)));
  const F result = (root.high + root.low) * back;
  const F finite = select(larger < infinity<F>(), result, a + b);
  const bool infinite = a == infinity<F>() || b == infinity<F>();
  return select(infinite, infinity<F>(), finite);
}
template <class F>
HIDP_INLINE F hypot(F x, F y) {
  if constexpr (kIsDouble<F>) {
    return hypot_scaled(x, y);
  } else {
    // Squares of floats have room in double.
    const Wide<F> a = widen(magnitude(x));
    const Wide<F> b = widen(magnitude(y));
    const F result = narrow(square_root(mul_add(a, a, b * b)));
    const bool infinite = a == infinity<Wide<F>>() || b == infinity<Wide<F>>();
    return select(infinite, infinity<F>(), result);
  }
}

}  // namespace maths
HIDP_NAMESPACE_END
