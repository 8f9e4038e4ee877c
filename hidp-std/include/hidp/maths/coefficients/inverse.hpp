// Made by xtask/maths/coefficients.py, which says how. Errors are relative to the function's result.
#pragma once

#include <hidp/maths/lane.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// pi / 4
template <class F>
HIDP_INLINE F quarter_pi_high() {
  if constexpr (kIsDouble<F>) return F(0.7853981633974483);
  else return F(0.7853981852531433f);
}
template <class F>
HIDP_INLINE F quarter_pi_low() {
  if constexpr (kIsDouble<F>) return F(3.061616997868383e-17);
  else return F(-2.1855694143368964e-08f);
}

// pi
template <class F>
HIDP_INLINE F pi_high() {
  if constexpr (kIsDouble<F>) return F(3.141592653589793);
  else return F(3.1415927410125732f);
}
template <class F>
HIDP_INLINE F pi_low() {
  if constexpr (kIsDouble<F>) return F(1.2246467991473532e-16);
  else return F(-8.742277657347586e-08f);
}

// atan(1/2)
template <class F>
HIDP_INLINE F atan_half_high() {
  if constexpr (kIsDouble<F>) return F(0.4636476090008061);
  else return F(0.46364760398864746f);
}
template <class F>
HIDP_INLINE F atan_half_low() {
  if constexpr (kIsDouble<F>) return F(2.2698777452961687e-17);
  else return F(5.01215868808913e-09f);
}

// (atan t - t) / t^3 of z = t^2
// double: degree 7, from 0.0 to 0.0559, error 2^-58.95
// float: degree 3, from 0.0 to 0.0559, error 2^-33.2
template <class F>
HIDP_INLINE F atan_tail(F x) {
  if constexpr (kIsDouble<F>) {
    return polynomial(x, -0.33333333333333004, 0.19999999999807402, -0.1428571424724387, 0.11111107392348492,
    -0.09090709824910556, 0.0768606026895676, -0.06552066470837786, 0.047272232933611665);
  } else {
    return polynomial(x, -0.333333283662796f, 0.19999085366725922f, -0.14234375953674316f, 0.09972738474607468f);
  }
}

// (asin x - x) / x^3 of z = x^2
// double: degree 12, from 0.0 to 0.25, error 2^-59.75
// float: degree 5, from 0.0 to 0.25, error 2^-29.23
template <class F>
HIDP_INLINE F asin_tail(F x) {
  if constexpr (kIsDouble<F>) {
    return polynomial(x, 0.16666666666666763, 0.07499999999970129, 0.04464285717525399, 0.030381942676938927,
    0.022372215856134605, 0.017351596443458836, 0.013981006678389628, 0.011397394263849269, 0.010788731643553784,
    0.0036744914523234953, 0.021784850207918906, -0.021108263486821943, 0.03269672159176309);
  } else {
    return polynomial(x, 0.16666659712791443f, 0.07500521093606949f, 0.04451363533735275f, 0.03183606266975403f,
    0.014329119585454464f, 0.03766760602593422f);
  }
}

}  // namespace maths
HIDP_NAMESPACE_END
