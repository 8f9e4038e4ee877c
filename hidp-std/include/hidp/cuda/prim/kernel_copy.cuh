// kernel_copy: the whole device copies elements. Called by: the host function. Result: for what follows on the stream.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/items.cuh>
#include <hidp/cuda/prim/rows.cuh>

HIDP_NAMESPACE_BEGIN

template <class Src, class Dst>
struct CopyElement {
  using T = ElementOf<Src>;
  Src from;
  Dst to;
  HIDP_DEVICE T get(int64_t i) const { return load(from + i); }
  HIDP_DEVICE void put(int64_t i, const T &value) const { store(to + i, value); }
};

template <class Src, class Dst>
inline bool kernel_copy(Host &host, Src from, Dst to, int64_t n) {
  return move_elements(host, n, CopyElement<Src, Dst>{from, to});
}

HIDP_NAMESPACE_END
