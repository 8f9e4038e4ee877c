// run_*: what generated host functions call for primitives over one segment: the sites, then arguments in the order of the language.
//
// Called by: the host function. Run by: all threads of the context. Result: valid when true is returned; false after a fault.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/prim/team_histogram.hpp>
#include <hidp/prim/team_partition.hpp>
#include <hidp/prim/team_reverse.hpp>
#include <hidp/prim/team_scan.hpp>
#include <hidp/prim/team_sort.hpp>

HIDP_NAMESPACE_BEGIN

template <class T, class Op, class In>
inline bool run_scan(Host &host, uint32_t memory, const In *in, T *out, int64_t n, T neutral, bool has_neutral, bool exclusive) {
  return n <= 0 || team_scan<T, Op>(host, memory, in, out, n, neutral, has_neutral, exclusive);
}

template <class K>
inline bool run_sort(Host &host, uint32_t memory, const K *in, K *out, int64_t n, bool descending) {
  return n <= 0 || team_sort(host, memory, in, out, n, descending);
}

template <class K, class V>
inline bool run_sort(Host &host, uint32_t memory, const K *in, K *out, const V *in_val, V *out_val, int64_t n, bool descending) {
  return n <= 0 || team_sort(host, memory, in, out, in_val, out_val, n, descending);
}

template <class F, class T, class P>
inline bool run_partition(Host &host, uint32_t memory, const T *in, T *out, P pivot, int64_t n, int64_t *count) {
  return n <= 0 || team_partition<F>(host, memory, in, out, pivot, n, count);
}

template <class F, class T, class V, class P>
inline bool run_partition(Host &host, uint32_t memory, const T *in, T *out, const V *in_val, V *out_val, P pivot, int64_t n,
                          int64_t *count) {
  return n <= 0 || team_partition<F>(host, memory, in, out, in_val, out_val, pivot, n, count);
}

template <class T>
inline void run_reverse(Host &host, const T *in, T *out, int64_t n) {
  if (n > 0) team_reverse(host, in, out, n);
}

template <class T>
inline void run_reverse_inplace(Host &host, T *data, int64_t n) {
  if (n > 0) team_reverse_inplace(host, data, n);
}

template <class T, class Op, class K, class V>
inline bool run_histogram(Host &host, uint32_t memory, uint32_t key, const K *keys, const V *values, T *bins, int64_t n,
                          int64_t bin_count, T neutral, bool has_neutral) {
  return n <= 0 || team_histogram<T, Op>(host, memory, key, keys, values, bins, n, bin_count, neutral, has_neutral);
}

template <class T, class Op, class K>
inline bool run_histogram(Host &host, uint32_t memory, uint32_t key, const K *keys, T *bins, int64_t n, int64_t bin_count, T neutral,
                          bool has_neutral) {
  return n <= 0 || team_histogram<T, Op>(host, memory, key, keys, Ones{}, bins, n, bin_count, neutral, has_neutral);
}

HIDP_NAMESPACE_END
