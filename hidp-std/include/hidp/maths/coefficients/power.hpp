// Made by xtask/maths/coefficients.py, which says how. Errors are relative to the function's result.
#pragma once

#include <hidp/maths/lane.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// 2 / ln 2
template <class F>
HIDP_INLINE F two_over_ln2_high() {
  return F(2.8853900817779268);
}
template <class F>
HIDP_INLINE F two_over_ln2_low() {
  return F(4.0710547481862066e-17);
}

// 1 / 3
template <class F>
HIDP_INLINE F third_high() {
  if constexpr (kIsDouble<F>) return F(0.3333333333333333);
  else return F(0.3333333432674408f);
}
template <class F>
HIDP_INLINE F third_low() {
  if constexpr (kIsDouble<F>) return F(1.850371707708594e-17);
  else return F(-9.934107758624577e-09f);
}

// (artanh s - s - s^3 / 3) / s^5 of z = s^2
// double: degree 7, from 0.0 to 0.02945, error 2^-73.44
template <class F>
HIDP_INLINE F pow_tail(F x) {
  return polynomial(x, 0.1999999999999999, 0.14285714285721926, 0.1111111110889262, 0.09090909422350277,
  0.0769227918619766, 0.06668133446287873, 0.0583786417181396, 0.05991107657948693);
}

// 2 artanh(s) / (s ln 2) of z = s^2
// double: degree 5, from 0.0 to 0.02945, error 2^-45.08
template <class F>
HIDP_INLINE F log2_short(F x) {
  return polynomial(x, 2.8853900817778495, 0.9617966941143179, 0.5770779420769757, 0.41220928152491065,
  0.31990450154068617, 0.2829172490687514);
}

}  // namespace maths
HIDP_NAMESPACE_END
