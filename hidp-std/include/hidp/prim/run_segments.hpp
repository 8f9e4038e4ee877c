// run_segmented_*, run_regular_*: what generated host functions call for primitives over many segments: the sites in the order range,
// overlap, memory, and one for what only this primitive does wrong, then arrays and how many of their elements may be used, the segments, options.
//
// Called by: the host function. Run by: all threads of the context. Result: valid when true is returned; false after a fault.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/prim/segments.hpp>
#include <hidp/prim/team_segmented.hpp>

HIDP_NAMESPACE_BEGIN

template <class T, class Op, class In>
inline bool run_regular_reduce(Host &host, uint32_t range, uint32_t memory, uint32_t empty, const In *in, int64_t extent, T *out,
                               int64_t size, int64_t count, T neutral, bool has_neutral) {
  return team_segmented_reduce<T, Op>(host, SegmentSites{range, range, memory}, empty, in, extent, out,
                                      regular_segments(size, count), neutral, has_neutral);
}

template <class T, class Op, class In, class L, class H>
inline bool run_segmented_reduce(Host &host, uint32_t range, uint32_t memory, uint32_t empty, const In *in, int64_t extent, T *out,
                                 const L *lows, const H *highs, int64_t count, T neutral, bool has_neutral) {
  return team_segmented_reduce<T, Op>(host, SegmentSites{range, range, memory}, empty, in, extent, out,
                                      vector_segments(lows, highs, count), neutral, has_neutral);
}

template <class T, class Op, class In>
inline bool run_regular_scan(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, uint32_t empty, const In *in, T *out, int64_t extent,
                             int64_t size, int64_t count, T neutral, bool has_neutral, bool exclusive) {
  return team_segmented_scan<T, Op>(host, SegmentSites{range, overlap, memory}, empty, in, out, extent, regular_segments(size, count),
                                    neutral, has_neutral, exclusive);
}

template <class T, class Op, class In, class L, class H>
inline bool run_segmented_scan(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, uint32_t empty, const In *in, T *out, int64_t extent,
                               const L *lows, const H *highs, int64_t count, T neutral, bool has_neutral, bool exclusive) {
  return team_segmented_scan<T, Op>(host, SegmentSites{range, overlap, memory}, empty, in, out, extent,
                                    vector_segments(lows, highs, count), neutral, has_neutral, exclusive);
}

template <class K>
inline bool run_regular_sort(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, const K *in, K *out, int64_t extent,
                             int64_t size, int64_t count, bool descending) {
  return team_segmented_sort(host, SegmentSites{range, overlap, memory}, in, out, extent, regular_segments(size, count), descending);
}

template <class K, class L, class H>
inline bool run_segmented_sort(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, const K *in, K *out, int64_t extent,
                               const L *lows, const H *highs, int64_t count, bool descending) {
  return team_segmented_sort(host, SegmentSites{range, overlap, memory}, in, out, extent, vector_segments(lows, highs, count),
                             descending);
}

template <class K, class V>
inline bool run_regular_sort(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, const K *in, K *out, const V *in_val,
                             V *out_val, int64_t extent, int64_t size, int64_t count, bool descending) {
  return team_segmented_sort(host, SegmentSites{range, overlap, memory}, in, out, in_val, out_val, extent,
                             regular_segments(size, count), descending);
}

template <class K, class V, class L, class H>
inline bool run_segmented_sort(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, const K *in, K *out, const V *in_val,
                               V *out_val, int64_t extent, const L *lows, const H *highs, int64_t count, bool descending) {
  return team_segmented_sort(host, SegmentSites{range, overlap, memory}, in, out, in_val, out_val, extent,
                             vector_segments(lows, highs, count), descending);
}

template <class T>
inline bool run_regular_reverse(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, const T *in, T *out, int64_t extent,
                                int64_t size, int64_t count) {
  return team_segmented_reverse(host, SegmentSites{range, overlap, memory}, in, out, extent, regular_segments(size, count));
}

template <class T, class L, class H>
inline bool run_segmented_reverse(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, const T *in, T *out,
                                  int64_t extent, const L *lows, const H *highs, int64_t count) {
  return team_segmented_reverse(host, SegmentSites{range, overlap, memory}, in, out, extent,
                                vector_segments(lows, highs, count));
}

template <class T>
inline bool run_regular_reverse_inplace(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, T *data, int64_t extent,
                                        int64_t size, int64_t count) {
  return team_segmented_reverse_inplace(host, SegmentSites{range, overlap, memory}, data, extent, regular_segments(size, count));
}

template <class T, class L, class H>
inline bool run_segmented_reverse_inplace(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, T *data, int64_t extent,
                                          const L *lows, const H *highs, int64_t count) {
  return team_segmented_reverse_inplace(host, SegmentSites{range, overlap, memory}, data, extent,
                                        vector_segments(lows, highs, count));
}

template <class F, class T, class P, class B, class L, class H>
inline bool run_segmented_partition(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, uint32_t narrow, const T *in, T *out,
                                    const P *pivots, int64_t extent, const L *lows, const H *highs, int64_t count, B *new_low,
                                    B *new_high) {
  return team_segmented_partition<F>(host, SegmentSites{range, overlap, memory}, narrow, in, out, pivots, extent,
                                     vector_segments(lows, highs, count), new_low, new_high);
}

template <class F, class T, class V, class P, class B, class L, class H>
inline bool run_segmented_partition(Host &host, uint32_t range, uint32_t overlap, uint32_t memory, uint32_t narrow, const T *in, T *out,
                                    const V *in_val, V *out_val, const P *pivots, int64_t extent, const L *lows, const H *highs,
                                    int64_t count, B *new_low, B *new_high) {
  return team_segmented_partition<F>(host, SegmentSites{range, overlap, memory}, narrow, in, out, in_val, out_val, pivots, extent,
                                     vector_segments(lows, highs, count), new_low, new_high);
}

HIDP_NAMESPACE_END
