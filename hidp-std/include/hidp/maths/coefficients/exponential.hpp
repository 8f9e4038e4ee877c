// Made by xtask/maths/coefficients.py, which says how. Errors are relative to the function's result.
#pragma once

#include <hidp/maths/lane.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// (e^r - 1 - r) / r^2
// double: degree 10, from -0.34661 to 0.34661, error 2^-60.27
// float: degree 4, from -0.34661 to 0.34661, error 2^-27.99
template <class F>
HIDP_INLINE F exp_tail(F x) {
  if constexpr (kIsDouble<F>) {
    return polynomial(x, 0.5, 0.16666666666666682, 0.041666666666666095, 0.008333333333317032,
    0.0013888888889115574, 0.0001984126989638918, 2.4801586926773935e-05, 2.7557234856989255e-06,
    2.7557581712131275e-07, 2.5112038411529163e-08, 2.0826672152783338e-09);
  } else {
    return polynomial(x, 0.4999999403953552f, 0.1666652113199234f, 0.04166838526725769f, 0.0083687175065279f,
    0.0013814774574711919f);
  }
}

// (e^r - 1 - r - r^2 / 2) / r^3
// double: degree 9, from -0.34661 to 0.34661, error 2^-59.57
// float: degree 4, from -0.34661 to 0.34661, error 2^-30.9
template <class F>
HIDP_INLINE F expm1_tail(F x) {
  if constexpr (kIsDouble<F>) {
    return polynomial(x, 0.16666666666666682, 0.0416666666666667, 0.008333333333316859, 0.0013888888888865106,
    0.00019841269896817996, 2.4801587365221295e-05, 2.7557234438841213e-06, 2.755723858127066e-07,
    2.5112179047019587e-08, 2.0925706320089294e-09);
  } else {
    return polynomial(x, 0.1666666716337204f, 0.041666459292173386f, 0.008333275094628334f, 0.0013935404131188989f,
    0.0001991329772863537f);
  }
}

// (2^r - 1 - r ln 2) / r^2
// double: degree 9, from -0.50001 to 0.50001, error 2^-57.64
// float: degree 4, from -0.50001 to 0.50001, error 2^-27.96
template <class F>
HIDP_INLINE F exp2_tail(F x) {
  if constexpr (kIsDouble<F>) {
    return polynomial(x, 0.24022650695910122, 0.05550410866482074, 0.009618129107596988, 0.0013333558146686126,
    0.00015403530454060818, 1.5252733546827433e-05, 1.3215436611652295e-06, 1.017818468552749e-07,
    7.0735789371713005e-09, 4.4362969850763967e-10);
  } else {
    return polynomial(x, 0.24022647738456726f, 0.05550362169742584f, 0.009618525393307209f, 0.0013390163658186793f,
    0.00015321346290875226f);
  }
}

// 2^r
// double: degree 8, from -0.50001 to 0.50001, error 2^-40.23
template <class F>
HIDP_INLINE F exp2_short(F x) {
  return polynomial(x, 0.9999999999997622, 0.6931471805465133, 0.24022650698881504, 0.05550410939347276,
  0.009618128542608706, 0.0013333452055056766, 0.00015403851881108538, 1.5309739654494474e-05,
  1.3175839792191072e-06);
}

// (sinh r - r) / r^3 of z = r^2
// double: degree 4, from 0.0 to 0.12014, error 2^-61.69
// float: degree 2, from 0.0 to 0.12014, error 2^-34.32
template <class F>
HIDP_INLINE F sinh_tail(F x) {
  if constexpr (kIsDouble<F>) {
    return polynomial(x, 0.16666666666666677, 0.008333333333321386, 0.0001984126988681557, 2.755724345262163e-06,
    2.51093205226335e-08);
  } else {
    return polynomial(x, 0.1666666716337204f, 0.00833317544311285f, 0.0001997411745833233f);
  }
}

// (cosh r - 1) / r^2 of z = r^2
// double: degree 5, from 0.0 to 0.12014, error 2^-69.99
// float: degree 2, from 0.0 to 0.12014, error 2^-33.24
template <class F>
HIDP_INLINE F cosh_tail(F x) {
  if constexpr (kIsDouble<F>) {
    return polynomial(x, 0.5, 0.041666666666666685, 0.0013888888888873283, 2.4801587349202066e-05,
    2.75572518196462e-07, 2.0921769945791546e-09);
  } else {
    return polynomial(x, 0.5f, 0.041666459292173386f, 0.0013935426250100136f);
  }
}

}  // namespace maths
HIDP_NAMESPACE_END
