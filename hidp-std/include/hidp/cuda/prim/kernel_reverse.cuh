// kernel_reverse: the whole device reverses one segment.
//
// Called by: the host function. Run by: all threads. Result: in out, or in place, for what follows on the stream. Scratch:
// none. in and out do not overlap.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/items.cuh>

HIDP_NAMESPACE_BEGIN

template <class Src, class Dst>
struct ReverseElement {
  Src in;
  Dst out;
  int64_t n;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t i) const {
    store(out + i, load(in + (n - 1 - i)));
  }
};

template <class Dst>
struct ExchangeElements {
  Dst data;
  int64_t n;
  template <class W>
  HIDP_DEVICE void operator()(W &, int64_t i) const {
    const auto front = load(data + i);
    store(data + i, load(data + (n - 1 - i)));
    store(data + (n - 1 - i), front);
  }
};

template <class Src, class Dst>
inline void kernel_reverse(Host &host, Src in, Dst out, int64_t n) {
  if (n > 0) for_items<Thread>(host, n, false, ReverseElement<Src, Dst>{in, out, n});
}

template <class Dst>
inline void kernel_reverse_inplace(Host &host, Dst data, int64_t n) {
  if (n > 1) for_items<Thread>(host, n / 2, false, ExchangeElements<Dst>{data, n});
}

HIDP_NAMESPACE_END
