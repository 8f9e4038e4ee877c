// Where a worker, the host function, or a scalar function on behalf of one, leaves what went wrong. The first one stays.
#pragma once

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>
#include <hidp/cast.hpp>
#if defined(HIDP_FOR_DEVICE)
#include <hidp/cuda/fault.cuh>
#endif

HIDP_NAMESPACE_BEGIN

#if !defined(HIDP_FOR_DEVICE)
struct Trap {
  bool raised = false;
  hidp_fault fault = {};

  HIDP_COLD void raise(uint32_t site, uint32_t count = 0, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0) {
    if (raised) return;
    raised = true;
    fault = hidp_fault{site, count, {a, b, c, d}};
  }
};
#endif

// For scalar functions: 0 where the operation has no result.

template <class T>
HIDP_INLINE T checked_div(Trap &trap, uint32_t site, T a, T b) {
  if (HIDP_UNLIKELY(b == 0)) return trap.raise(site, 1, static_cast<int64_t>(a)), T{0};
  return div(a, b);
}
template <class T>
HIDP_INLINE T checked_rem(Trap &trap, uint32_t site, T a, T b) {
  if (HIDP_UNLIKELY(b == 0)) return trap.raise(site, 1, static_cast<int64_t>(a)), T{0};
  return rem(a, b);
}
template <class T, class N>
HIDP_INLINE T checked_shl(Trap &trap, uint32_t site, T a, N count) {
  if (HIDP_UNLIKELY(static_cast<uint64_t>(count) >= 8 * sizeof(T)))
    return trap.raise(site, 2, static_cast<int64_t>(count), 8 * sizeof(T)), T{0};
  return shl(a, count);
}
template <class T, class N>
HIDP_INLINE T checked_shr(Trap &trap, uint32_t site, T a, N count) {
  if (HIDP_UNLIKELY(static_cast<uint64_t>(count) >= 8 * sizeof(T)))
    return trap.raise(site, 2, static_cast<int64_t>(count), 8 * sizeof(T)), T{0};
  return shr(a, count);
}
// Integer to integer.
template <class To, class From>
HIDP_INLINE To checked_cast(Trap &trap, uint32_t site, From value) {
  const To narrow = cast<To>(value);
  if (HIDP_UNLIKELY(static_cast<From>(narrow) != value || (narrow < To{0}) != (value < From{0})))
    return trap.raise(site, 1, static_cast<int64_t>(value)), To{0};
  return narrow;
}

HIDP_NAMESPACE_END
