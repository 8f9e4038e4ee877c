// Sizes of storage, and the fault where there is none.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/trap.hpp>

HIDP_NAMESPACE_BEGIN

// No object is larger.
constexpr size_t kMostBytes = PTRDIFF_MAX;

// Bytes of `count` elements; the largest number if that does not fit.
inline size_t bytes_of(int64_t count, size_t element) {
  size_t bytes;
  return count < 0 || __builtin_mul_overflow(static_cast<size_t>(count), element, &bytes) ? SIZE_MAX : bytes;
}

inline void raise_allocation(Trap &trap, uint32_t site, size_t bytes) {
  trap.raise(site, 1, bytes > kMostBytes ? INT64_MAX : static_cast<int64_t>(bytes));
}

HIDP_NAMESPACE_END
