// A prefix that may not exist yet.
#pragma once

#include <hidp/cuda/core.cuh>

HIDP_NAMESPACE_BEGIN

template <class T>
struct Carry {
  T value;
  bool any;

  template <class Op>
  HIDP_DEVICE void push(const Op &op, const T &next) {
    value = any ? op(value, next) : next;
    any = true;
  }
};

HIDP_NAMESPACE_END
