// place = place op value, indivisibly: an operator's update by its name.
#pragma once

#include <hidp/abi.hpp>
#include <hidp/cuda/target.cuh>
#include <hidp/ops.hpp>

HIDP_NAMESPACE_BEGIN

template <class T, class P>
HIDP_DEVICE void fold_into(const Add<T> &, P place, T value HIDP_WHERE) {
  atomic_add(place, value HIDP_HERE);
}
template <class T, class P>
HIDP_DEVICE void fold_into(const Mul<T> &, P place, T value HIDP_WHERE) {
  atomic_mul(place, value HIDP_HERE);
}
template <class T, class P>
HIDP_DEVICE void fold_into(const Min<T> &, P place, T value HIDP_WHERE) {
  atomic_min(place, value HIDP_HERE);
}
template <class T, class P>
HIDP_DEVICE void fold_into(const Max<T> &, P place, T value HIDP_WHERE) {
  atomic_max(place, value HIDP_HERE);
}
template <class T, class P>
HIDP_DEVICE void fold_into(const And<T> &, P place, T value HIDP_WHERE) {
  atomic_and(place, value HIDP_HERE);
}
template <class T, class P>
HIDP_DEVICE void fold_into(const Or<T> &, P place, T value HIDP_WHERE) {
  atomic_or(place, value HIDP_HERE);
}
template <class T, class P>
HIDP_DEVICE void fold_into(const Xor<T> &, P place, T value HIDP_WHERE) {
  atomic_xor(place, value HIDP_HERE);
}

HIDP_NAMESPACE_END
