// Sums of absolute differences.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

// |a - b| + c, of which only the sum wraps: one instruction of GPUs, which nvcc does not find by itself.
HIDP_INLINE int32_t abs_diff_add(int32_t a, int32_t b, int32_t c) {
#if defined(__CUDA_ARCH__)
  return static_cast<int32_t>(::__sad(a, b, static_cast<uint32_t>(c)));
#else
  const uint32_t x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  return static_cast<int32_t>((a < b ? y - x : x - y) + static_cast<uint32_t>(c));
#endif
}

HIDP_NAMESPACE_END
