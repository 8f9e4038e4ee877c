// team_reduce: all threads fold one segment.
//
// Called by: the host function. Run by: all threads of the context. Result: in *result, valid when it returns true; false after
// an allocation fault at `site` or a fault of the operator. Scratch: one element a block, from the pool.
// The segment must not be empty. The tree is fixed by the length alone, not by the number of threads.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/prim/simd_reduce.hpp>

HIDP_NAMESPACE_BEGIN

constexpr int64_t kTeamFoldBlock = int64_t{16} * kFoldBlock;

template <class T, class Op, class In>
inline bool team_reduce(Host &host, uint32_t site, const In *in, int64_t n, T *result) {
  const int64_t blocks = n / kTeamFoldBlock + (n % kTeamFoldBlock != 0);
  if (blocks == 1) {
    *result = fold_blocks<T>(Op(host.trap), in, n);
    return !host.trap.raised;
  }
  T *sums = host.alloc<T>(blocks, false, site);
  if (sums == nullptr) return false;
  const bool done = launch_static(host, blocks, 1, n, [=](Worker &worker, int64_t begin, int64_t end) {
    const Op op(worker.trap);
    for (int64_t block = begin; block < end && !worker.trap.raised; ++block) {
      const int64_t low = block * kTeamFoldBlock;
      sums[block] = fold_blocks<T>(op, in + low, smaller(n - low, kTeamFoldBlock));
    }
  });
  if (done) {
    const Op op(host.trap);
    PairwiseFold<T> all;
    for (int64_t block = 0; block < blocks; ++block) all.push(op, sums[block]);
    *result = all.finish(op);
  }
  host.free(sums);
  return !host.trap.raised;
}

HIDP_NAMESPACE_END
