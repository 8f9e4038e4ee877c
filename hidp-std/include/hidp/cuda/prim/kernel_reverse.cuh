// kernel_reverse: the whole device reverses one segment.
//
// Called by: the host function. Run by: all threads. Result: in out, or in place, for what follows on the stream. Scratch:
// none. in and out do not overlap.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/items.cuh>
#include <hidp/cuda/prim/rows.cuh>

HIDP_NAMESPACE_BEGIN

template <class Src, class Dst>
struct ReverseElement {
  using T = ElementOf<Src>;
  Src in;
  Dst out;
  int64_t n;
  HIDP_DEVICE T get(int64_t i) const { return load(in + (n - 1 - i)); }
  HIDP_DEVICE void put(int64_t i, const T &value) const { store(out + i, value); }
};

template <class Dst>
struct ExchangeElements {
  struct Both {
    ElementOf<Dst> front, back;
  };
  Dst data;
  int64_t n;
  HIDP_DEVICE Both get(int64_t i) const { return Both{load(data + i), load(data + (n - 1 - i))}; }
  HIDP_DEVICE void put(int64_t i, const Both &both) const {
    store(data + i, both.back);
    store(data + (n - 1 - i), both.front);
  }
};

template <class Src, class Dst>
inline void kernel_reverse(Host &host, Src in, Dst out, int64_t n) {
  if (n > 0) move_elements(host, n, ReverseElement<Src, Dst>{in, out, n});
}

template <class Dst>
inline void kernel_reverse_inplace(Host &host, Dst data, int64_t n) {
  if (n > 1) move_elements(host, n / 2, ExchangeElements<Dst>{data, n});
}

HIDP_NAMESPACE_END
