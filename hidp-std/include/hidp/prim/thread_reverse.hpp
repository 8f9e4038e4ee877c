// thread_reverse: one worker reverses one segment.
//
// Called by: a worker. Run by: that worker alone. Result: in out, or in place. Scratch: none. in and out do not overlap.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

template <class T>
inline void thread_reverse(const T *__restrict in, T *__restrict out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[n - 1 - i];
}

template <class T>
inline void thread_reverse_inplace(T *data, int64_t n) {
  for (int64_t i = 0; i < n / 2; ++i) {
    const T front = data[i];
    data[i] = data[n - 1 - i];
    data[n - 1 - i] = front;
  }
}

HIDP_NAMESPACE_END
