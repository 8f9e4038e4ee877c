// Made by xtask/maths/coefficients.py, which says how. Errors are relative to the function's result.
#pragma once

#include <hidp/maths/lane.hpp>

HIDP_NAMESPACE_BEGIN
namespace maths {

// ln 2, the first part short enough that 12 (8) bits times it are exact
template <class F>
HIDP_INLINE F ln2_high() {
  if constexpr (kIsDouble<F>) return F(0.693147180559663);
  else return F(0.693145751953125f);
}
template <class F>
HIDP_INLINE F ln2_low() {
  if constexpr (kIsDouble<F>) return F(2.8235290563031577e-13);
  else return F(1.428606765330187e-06f);
}

// ln 2
template <class F>
HIDP_INLINE F ln2_whole_high() {
  if constexpr (kIsDouble<F>) return F(0.6931471805599453);
  else return F(0.6931471824645996f);
}
template <class F>
HIDP_INLINE F ln2_whole_low() {
  if constexpr (kIsDouble<F>) return F(2.3190468138462996e-17);
  else return F(-1.9046542121259336e-09f);
}

// 1 / ln 2
template <class F>
HIDP_INLINE F log2_e_high() {
  if constexpr (kIsDouble<F>) return F(1.4426950408889634);
  else return F(1.4426950216293335f);
}
template <class F>
HIDP_INLINE F log2_e_low() {
  if constexpr (kIsDouble<F>) return F(2.0355273740931033e-17);
  else return F(1.925963033500011e-08f);
}

// pi / 2
template <class F>
HIDP_INLINE F half_pi_high() {
  if constexpr (kIsDouble<F>) return F(1.5707963267948966);
  else return F(1.5707963705062866f);
}
template <class F>
HIDP_INLINE F half_pi_low() {
  if constexpr (kIsDouble<F>) return F(6.123233995736766e-17);
  else return F(-4.371138828673793e-08f);
}

}  // namespace maths
HIDP_NAMESPACE_END
