// worker_order: the numbers of iterations from `first` on by their lengths, the longest ones first.
//
// Called by: generated kernels, whose lanes take iterations in this order. Run by: a worker alone. Result: n numbers in order.
// Scratch: counts on the stack. length and order do not overlap.
//
// Lengths that differ by less than a 256th of their range count as equal, and lengths of which all are nearly equal stay as they are: lanes wait
// for each other for as long as lengths differ, and for no reason else.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

inline void worker_order(Worker &, const int64_t *length, int64_t *order, int64_t first, int64_t n) {
  constexpr int kBits = 8;
  constexpr int64_t kPlaces = int64_t{1} << kBits;
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (int64_t i = 0; i < n; ++i) {
    least = length[i] < least ? length[i] : least;
    most = length[i] > most ? length[i] : most;
  }
  const uint64_t range = n > 0 ? static_cast<uint64_t>(most) - static_cast<uint64_t>(least) : 0;
  if (range <= static_cast<uint64_t>(most > 0 ? most : 0) / 16) {
    for (int64_t i = 0; i < n; ++i) order[i] = first + i;
    return;
  }
  const int bits = 64 - __builtin_clzll(range | 1);
  const int shift = bits > kBits ? bits - kBits : 0;
  int32_t next[kPlaces + 1] = {};
  const auto place = [=](int64_t i) { return (static_cast<uint64_t>(most) - static_cast<uint64_t>(length[i])) >> shift; };
  for (int64_t i = 0; i < n; ++i) ++next[place(i) + 1];
  for (int64_t i = 0; i < kPlaces; ++i) next[i + 1] += next[i];
  for (int64_t i = 0; i < n; ++i) order[next[place(i)]++] = first + i;
}

HIDP_NAMESPACE_END
