// scan_tile: the prefixes of a small array, in its place.
//
// Called by: a worker. Run by: that worker alone, in vector lanes as simd_scan. Result: in `elements`, from `carry` on; `total` is the
// carry for what follows. Scratch: none.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/prim/simd_scan.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

template <class T, class Op>
inline void scan_tile(Worker &worker, T *elements, int64_t n, T carry, bool exclusive, T *total) {
  *total = simd_scan<T>(Op(worker.trap), elements, elements, n, carry, exclusive);
}

HIDP_NAMESPACE_END
