// team_partition: all threads move the elements of one segment for which a predicate holds to the front, both parts in order.
//
// Called by: the host function. Run by: all threads of the context. Result: in out (and out_val), and how many are in front in
// *count, valid when it returns true; false after an allocation fault at `site` or a fault of the predicate.
// Scratch: one counter a block, from the pool. in and out do not overlap.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>

HIDP_NAMESPACE_BEGIN

constexpr int64_t kPartitionBlock = int64_t{1} << 15;

template <class T, class F, class P, class Move>
inline bool team_partition_with(Host &host, uint32_t site, const T *in, P pivot, int64_t n, int64_t *count, Move move) {
  const int64_t blocks = n / kPartitionBlock + (n % kPartitionBlock != 0);
  int64_t *fronts = host.alloc<int64_t>(blocks, false, site);
  if (fronts == nullptr) return false;
  bool done = launch_static(host, blocks, 1, n, [=](Worker &worker, int64_t begin, int64_t end) {
    const F holds(worker.trap);
    for (int64_t block = begin; block < end && !worker.trap.raised; ++block) {
      const int64_t low = block * kPartitionBlock, high = smaller(n, low + kPartitionBlock);
      int64_t held = 0;
      for (int64_t i = low; i < high; ++i) held += holds(in[i], pivot);
      fronts[block] = held;
    }
  });
  if (done) {
    int64_t total = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t held = fronts[block];
      fronts[block] = total;
      total += held;
    }
    *count = total;
    done = launch_static(host, blocks, 1, n, [=](Worker &worker, int64_t begin, int64_t end) {
      const F holds(worker.trap);
      for (int64_t block = begin; block < end; ++block) {
        const int64_t low = block * kPartitionBlock, high = smaller(n, low + kPartitionBlock);
        int64_t front = fronts[block], back = total + low - front;
        for (int64_t i = low; i < high; ++i) {
          const bool first = holds(in[i], pivot);
          move(first ? front : back, i);
          front += first;
          back += !first;
        }
      }
    });
  }
  host.free(fronts);
  return done;
}

template <class F, class T, class P>
inline bool team_partition(Host &host, uint32_t site, const T *in, T *out, P pivot, int64_t n, int64_t *count) {
  return team_partition_with<T, F>(host, site, in, pivot, n, count, [=](int64_t to, int64_t from) { out[to] = in[from]; });
}

template <class F, class T, class V, class P>
inline bool team_partition(Host &host, uint32_t site, const T *in, T *out, const V *in_val, V *out_val, P pivot, int64_t n,
                           int64_t *count) {
  return team_partition_with<T, F>(host, site, in, pivot, n, count, [=](int64_t to, int64_t from) {
    out[to] = in[from];
    out_val[to] = in_val[from];
  });
}

HIDP_NAMESPACE_END
