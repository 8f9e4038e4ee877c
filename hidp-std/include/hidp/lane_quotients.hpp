// Whole iterations in vector lanes: integers by a positive constant, which compilers make products and shifts of.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/lanes.hpp>

HIDP_NAMESPACE_BEGIN

template <int64_t N, class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_div_by(const Wide<T, B, G> &a) {
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] / T(N); });
}
template <int64_t N, class T, int B, int G>
HIDP_INLINE Wide<T, B, G> wide_rem_by(const Wide<T, B, G> &a) {
  return wide_parts<Wide<T, B, G>>([&](int at) HIDP_INLINED { return a.part[at] % T(N); });
}

HIDP_NAMESPACE_END
