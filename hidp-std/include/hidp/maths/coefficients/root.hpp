// Made by xtask/maths/coefficients.py, which says how. Errors are relative to the function's result.
#pragma once

#include <hidp/maths/lane.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// m^(-1/3)
// double: degree 9, from 0.3535 to 2.8285, error 2^-13.1
template <class F>
HIDP_INLINE F cbrt_start(F x) {
  return polynomial(x, 2.3996684611766774, -5.255545149075645, 10.951470472392797, -15.31519790137646,
  14.267006732035789, -8.865915670952512, 3.623685939386935, -0.9337879495325754, 0.13736322515462515,
  -0.008785313841328152);
}

}  // namespace maths
HIDP_NAMESPACE_END
