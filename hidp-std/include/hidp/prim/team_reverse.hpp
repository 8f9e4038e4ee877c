// team_reverse: all threads reverse one segment.
//
// Called by: the host function. Run by: all threads of the context. Result: in out, or in place, when it returns. Scratch: none.
// in and out do not overlap.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>

HIDP_NAMESPACE_BEGIN

template <class T>
inline bool team_reverse(Host &host, const T *in, T *out, int64_t n) {
  return launch_static(host, n, 1024, n, [=](Worker &, int64_t begin, int64_t end) {
    const T *__restrict from = in;
    T *__restrict to = out;
    for (int64_t i = begin; i < end; ++i) to[i] = from[n - 1 - i];
  });
}

template <class T>
inline bool team_reverse_inplace(Host &host, T *data, int64_t n) {
  return launch_static(host, n / 2, 1024, n, [=](Worker &, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T front = data[i];
      data[i] = data[n - 1 - i];
      data[n - 1 - i] = front;
    }
  });
}

HIDP_NAMESPACE_END
