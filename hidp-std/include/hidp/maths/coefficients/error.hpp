// Made by xtask/maths/coefficients.py, which says how. Errors are relative to the function's result.
#pragma once

#include <hidp/maths/lane.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// 2 / sqrt(pi)
template <class F>
HIDP_INLINE F two_over_root_pi_high() {
  if constexpr (kIsDouble<F>) return F(1.1283791670955126);
  else return F(1.128379225730896f);
}
template <class F>
HIDP_INLINE F two_over_root_pi_low() {
  if constexpr (kIsDouble<F>) return F(1.533545961316588e-17);
  else return F(-5.8635382771399236e-08f);
}

// (erf(x) / x - 2 / sqrt(pi)) / x^2 of z = x^2
// double: degree 9, from 0.0 to 0.5626, error 2^-59.63
template <class F>
HIDP_INLINE F erf_tail(F x) {
  return polynomial(x, -0.3761263890318373, 0.11283791670953223, -0.026866170644545367, 0.0052239776165924415,
  -0.0008548326258621908, 0.00012055292160912817, -1.4924256832026082e-05, 1.6431547661539322e-06,
  -1.5946945961205678e-07, 1.1495947413900988e-08);
}

// erf(x) / x of z = x^2
// double: degree 7, from 0.0 to 0.5626, error 2^-41.21
template <class F>
HIDP_INLINE F erf_short(F x) {
  return polynomial(x, 1.1283791670951198, -0.37612638894181805, 0.11283791332429814, -0.026866122095871876,
  0.005223634953740257, -0.0008535136879216647, 0.00011771565635854089, -1.1675223356178741e-05);
}

// e^(x^2) (1 + 2 x) erfc(x) of q = (x - 4) / (x + 4)
// double: degree 14, from -1.0 to 0.45205, error 2^-39.68
template <class F>
HIDP_INLINE F erfc_short(F x) {
  return polynomial(x, 1.2329951186254635, -0.1396211168715266, 0.015379652119436121, 0.06809705679095109,
  -0.10103906511757971, 0.09373277583688197, -0.06633042579441797, 0.037168080192862045, -0.01619681932392201,
  0.0050297632636904024, -0.0007631956321987169, -0.00019772442974541168, 0.00016269724743128857,
  -1.683378288685691e-05, -1.596112511954872e-05);
}

template <class F>
HIDP_INLINE F erfc_first_high() {
  return F(1.2329951186255526);
}
template <class F>
HIDP_INLINE F erfc_first_low() {
  return F(-4.516472900356227e-17);
}
template <class F>
HIDP_INLINE F erfc_second_high() {
  return F(-0.13962111684056253);
}
template <class F>
HIDP_INLINE F erfc_second_low() {
  return F(-9.537052501584157e-18);
}
// e^(x^2) (1 + 2 x) erfc(x) of q = (x - 4) / (x + 4), without the first two terms
// double: degree 21, from -1.0 to 0.75, error 2^-55.68
template <class F>
HIDP_INLINE F erfc_tail(F x) {
  return polynomial(x, 0.015379652102619622, 0.06809705425469532, -0.10103906603629771, 0.09373283499825626,
  -0.06633036581236013, 0.0371675155389774, -0.016197734056207884, 0.005031969964885695, -0.0007577732992417707,
  -0.000199256625531539, 0.00015062172346799114, -2.4399442218174312e-05, -1.1222182985991897e-05,
  5.7101967434850845e-06, 2.941617284192259e-07, -8.259664327974079e-07, 7.410547569842131e-08,
  1.1033290145533422e-07, -1.74697875979646e-08, -1.4070582323953681e-08, 1.6773210755074593e-09,
  1.1981519701105822e-09);
}

}  // namespace maths
HIDP_NAMESPACE_END
