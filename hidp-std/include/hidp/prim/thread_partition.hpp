// thread_partition: one worker moves the elements of one segment for which a predicate holds to the front, both parts in order.
//
// Called by: a worker. Run by: that worker alone. Result: in out (and out_val); returns how many are in front.
// Scratch: none. in and out do not overlap.
//
// The front grows from the left while what is left out grows from the right, reversed, and is turned round at the end: one
// evaluation of the predicate an element.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/prim/thread_reverse.hpp>

HIDP_NAMESPACE_BEGIN

template <class T, class F, class P>
inline int64_t thread_partition(const F &holds, const T *in, T *out, P pivot, int64_t n) {
  int64_t front = 0, back = n;
  for (int64_t i = 0; i < n; ++i) {
    const T value = in[i];
    const bool first = holds(value, pivot);
    const int64_t at = first ? front : back - 1;
    out[at] = value;
    front += first;
    back -= !first;
  }
  thread_reverse_inplace(out + front, n - front);
  return front;
}

template <class T, class V, class F, class P>
inline int64_t thread_partition(const F &holds, const T *in, T *out, const V *in_val, V *out_val, P pivot, int64_t n) {
  int64_t front = 0, back = n;
  for (int64_t i = 0; i < n; ++i) {
    const T value = in[i];
    const bool first = holds(value, pivot);
    const int64_t at = first ? front : back - 1;
    out[at] = value;
    out_val[at] = in_val[i];
    front += first;
    back -= !first;
  }
  thread_reverse_inplace(out + front, n - front);
  thread_reverse_inplace(out_val + front, n - front);
  return front;
}

HIDP_NAMESPACE_END
