//! cbrt and hypot.
//!
//! Made by `xtask/maths/port.py` from the header of the same name.

use super::coefficients::root::*;
use super::lane::*;
use super::pair::*;

/// x = 2^(3 k) m with m in [1/sqrt(8), sqrt(8)]: m^(-1/3) from a polynomial and a step of fourth order, then m times its square, whose
/// cube is compared with m exactly. Cube roots that are numbers are exact.
pub(in crate::par::interp) fn cbrt<F: Lane>(x: F) -> F {
    let a = magnitude(x);
    let tiny = a < F::of(if F::IS_DOUBLE { 2.2250738585072014e-308 } else { 1.1754943508222875e-38 });
    let lifted = select(tiny, a * F::of(if F::IS_DOUBLE { 1.8014398509481984e+16 } else { 16777216.0 }), a);
    let k = nearest(split(lifted).exponent * F::of(1.0 / 3.0));
    let m = scale(lifted, F::of(-3.0) * k);
    let start = cbrt_start(m);
    let off = mul_add(-m * start, start * start, F::of(1.0));
    let inverse = mul_add(start * off, polynomial(off, &[1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0]), start);
    let root = m * inverse * inverse;
    let square = product(root, root);
    let cube = product(square.high, root);
    let rest = ((m - cube.high) - cube.low) - square.low * root;
    let result = mul_add(rest, inverse * inverse * F::of(1.0 / 3.0), root);
    let placed = result * power_of_two(k - select(tiny, F::of(if F::IS_DOUBLE { 18.0 } else { 8.0 }), F::of(0.0)));
    let ordinary = a > F::of(0.0) && a < infinity::<F>();
    select(ordinary, with_sign(placed, x), x)
}

/// The larger one scaled into the middle of the range, squares in pairs, and the root with its rest.
pub(super) fn hypot_scaled<F: Lane>(x: F, y: F) -> F {
    let a = magnitude(x);
    let b = magnitude(y);
    let larger = select(a > b, a, b);
    let smaller = select(a > b, b, a);
    let down = F::of(if F::IS_DOUBLE { 2.409919865102884e-181 } else { 8.470329472543003e-22 });
    let up = F::of(if F::IS_DOUBLE { 4.149515568880993e+180 } else { 1.1805916207174113e+21 });
    let large = F::of(if F::IS_DOUBLE { 2.9073548971824276e+135 } else { 1125899906842624.0 });
    let small = F::of(if F::IS_DOUBLE { 3.4395525670743494e-136 } else { 8.881784197001252e-16 });
    let factor = select(larger > large, down, select(larger < small, up, F::of(1.0)));
    let back = select(larger > large, up, select(larger < small, down, F::of(1.0)));
    let u = larger * factor;
    let v = smaller * factor;
    let uu = product(u, u);
    let vv = product(v, v);
    let squares = sum_ordered(uu.high, vv.high);
    let root = root_of_pair(pair(squares.high, squares.low + (uu.low + vv.low)));
    let result = (root.high + root.low) * back;
    let finite = select(larger < infinity::<F>(), result, a + b);
    let infinite = a == infinity::<F>() || b == infinity::<F>();
    select(infinite, infinity::<F>(), finite)
}

pub(in crate::par::interp) fn hypot<F: Lane>(x: F, y: F) -> F {
    if F::IS_DOUBLE {
        hypot_scaled(x, y)
    } else {
        // Squares of floats have room in double.
        let a = widen(magnitude(x));
        let b = widen(magnitude(y));
        let result = narrow::<F>(square_root(mul_add(a, a, b * b)));
        let infinite = a == infinity::<f64>() || b == infinity::<f64>();
        select(infinite, infinity::<F>(), result)
    }
}
