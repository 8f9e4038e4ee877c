// kernel_copy: the whole device copies elements. Called by: the host function. Result: for what follows on the stream.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/items.cuh>

HIDP_NAMESPACE_BEGIN

template <class Src, class Dst>
struct CopyElement {
  Src from;
  Dst to;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t i) const {
    store(to + i, load(from + i));
  }
};

template <class Src, class Dst>
inline bool kernel_copy(Host &host, Src from, Dst to, int64_t n) {
  return for_items<Thread>(host, n, false, CopyElement<Src, Dst>{from, to});
}

HIDP_NAMESPACE_END
