// Made by xtask/maths/coefficients.py, which says how. Errors are relative to the function's result.
#pragma once

#include <hidp/maths/lane.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// 1 / ln 10
template <class F>
HIDP_INLINE F log10_e_high() {
  if constexpr (kIsDouble<F>) return F(0.4342944819032518);
  else return F(0.4342944920063019f);
}
template <class F>
HIDP_INLINE F log10_e_low() {
  if constexpr (kIsDouble<F>) return F(1.098319650216765e-17);
  else return F(-1.0103049952192578e-08f);
}

// log10 2, the first part short enough that 12 (8) bits times it are exact
template <class F>
HIDP_INLINE F log10_2_high() {
  if constexpr (kIsDouble<F>) return F(0.30102999566383914);
  else return F(0.301025390625f);
}
template <class F>
HIDP_INLINE F log10_2_low() {
  if constexpr (kIsDouble<F>) return F(1.42050232272661e-13);
  else return F(4.605039066518657e-06f);
}

// (2 artanh s - 2 s) / s^3 of z = s^2
// double: degree 6, from 0.0 to 0.02945, error 2^-59.48
// float: degree 2, from 0.0 to 0.02945, error 2^-30.2
template <class F>
HIDP_INLINE F log_tail(F x) {
  if constexpr (kIsDouble<F>) {
    return polynomial(x, 0.6666666666666735, 0.39999999999409325, 0.2857142874369598, 0.22222198427761528,
    0.18183572426974545, 0.15313830172554607, 0.14798279630495675);
  } else {
    return polynomial(x, 0.6666677594184875f, 0.39977577328681946f, 0.29871073365211487f);
  }
}

}  // namespace maths
HIDP_NAMESPACE_END
