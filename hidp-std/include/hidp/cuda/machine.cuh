// The GPU's threads under nvcc: see target.cuh.
#pragma once

#include <stdint.h>
#include <string.h>

#include <hidp/abi.hpp>

// At least one block: without that, nvcc would rather spill registers around calls than run fewer threads.
#define HIDP_GLOBAL(threads) HIDP_GLOBAL_AT_ONCE(threads, 1)
#define HIDP_GLOBAL_AT_ONCE(threads, blocks) static __global__ void __launch_bounds__(threads, blocks)
#define HIDP_DEVICE __device__ __forceinline__
#define HIDP_DEVICE_COLD static __device__ __noinline__
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#error "lanes of one warp go different ways and wait for each other: GPUs do that from compute capability 7.0 on"
#endif
// Any place that several elements at once are moved to or from can be in it.
#define HIDP_SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define HIDP_PARAMETER(type) const __grid_constant__ type
#define HIDP_PRAGMA(text) _Pragma(#text)
#define HIDP_UNROLL_BY(times) HIDP_PRAGMA(unroll times)
#define HIDP_WHERE
#define HIDP_HERE
#define HIDP_SITE(number)
#define HIDP_ITERATION(begin, end)

HIDP_NAMESPACE_BEGIN

template <class T>
HIDP_INLINE T &here(T &frame) {
  return frame;
}

HIDP_DEVICE uint32_t thread_rank() { return threadIdx.x; }
HIDP_DEVICE uint32_t block_rank(int dimension) {
  return dimension == 0 ? blockIdx.x : dimension == 1 ? blockIdx.y : blockIdx.z;
}
HIDP_DEVICE uint32_t block_count(int dimension) {
  return dimension == 0 ? gridDim.x : dimension == 1 ? gridDim.y : gridDim.z;
}

HIDP_DEVICE void block_barrier(uint32_t) { __syncthreads(); }
HIDP_DEVICE bool block_any(uint32_t, bool value) { return __syncthreads_or(value) != 0; }
HIDP_DEVICE void warp_barrier(uint32_t mask) { __syncwarp(mask); }
HIDP_DEVICE bool warp_any(uint32_t mask, bool value) { return __any_sync(mask, value) != 0; }
HIDP_DEVICE uint32_t warp_ballot(uint32_t mask, bool value) { return __ballot_sync(mask, value); }

template <class T>
HIDP_DEVICE T shuffle(uint32_t mask, const T &value, uint32_t lane) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  uint32_t words[kWords] = {};
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int at = 0; at < kWords; ++at) words[at] = __shfl_sync(mask, words[at], static_cast<int>(lane));
  T result;
  memcpy(&result, words, sizeof(T));
  return result;
}

HIDP_NAMESPACE_END
