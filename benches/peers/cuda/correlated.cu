// TPACF: a thread has a point, a block counts its pairs with a part of the others in shared memory, in bins of each warp's own.
#include "peer.cuh"

struct Point {
  float x, y, z;
};

constexpr int kThreads = 128, kPart = 512, kMostBins = 256;

__global__ void __launch_bounds__(kThreads) correlate(const Point *__restrict__ points, int count, const Point *__restrict__ others, int other_count, bool is_self,
                                                     const float *__restrict__ edges, int bins, unsigned long long *__restrict__ counts) {
  __shared__ Point near[kPart];
  __shared__ float near_edges[kMostBins];
  __shared__ unsigned own[kThreads / 32][kMostBins + 1];
  const int first = blockIdx.x * kThreads, from = blockIdx.y * kPart, i = first + threadIdx.x;
  if (is_self && from + kPart <= first + 1) return;
  const int part = min(kPart, other_count - from);
  for (int at = threadIdx.x; at < part * 3; at += kThreads) reinterpret_cast<float *>(near)[at] = reinterpret_cast<const float *>(others + from)[at];
  for (int at = threadIdx.x; at < bins; at += kThreads) near_edges[at] = edges[at];
  for (int at = threadIdx.x; at < kThreads / 32 * (kMostBins + 1); at += kThreads) own[0][at] = 0;
  __syncthreads();
  if (i < count) {
    const Point p = points[i];
    unsigned *const mine = own[threadIdx.x / 32];
    for (int j = is_self ? max(0, i + 1 - from) : 0; j < part; ++j) {
      const Point q = near[j];
      const float dot = p.x * q.x + p.y * q.y + p.z * q.z;
      int low = 0, high = bins;
      while (low < high) {
        const int middle = (low + high) / 2;
        if (dot < near_edges[middle]) high = middle;
        else low = middle + 1;
      }
      atomicAdd(mine + low, 1u);
    }
  }
  __syncthreads();
  for (int at = threadIdx.x; at <= bins; at += kThreads) {
    unsigned sum = 0;
    for (int warp = 0; warp < kThreads / 32; ++warp) sum += own[warp][at];
    if (sum != 0) atomicAdd(counts + at, static_cast<unsigned long long>(sum));
  }
}

PEER(correlated) {
  const auto [points, random] = arrays<const Point, 2>(params);
  const auto *const edges = array<const float>(params, 2);
  auto *const selves = array<unsigned long long>(params, 3), *const others = array<unsigned long long>(params, 4);
  const int n = dims[0], m = dims[1], bins = dims[2];
  cudaMemsetAsync(selves, 0, (bins + 1) * 8);
  cudaMemsetAsync(others, 0, (bins + 1) * 8);
  correlate<<<dim3(above(n, kThreads), above(n, kPart)), kThreads>>>(points, n, points, n, true, edges, bins, selves);
  correlate<<<dim3(above(n, kThreads), above(m, kPart)), kThreads>>>(points, n, random, m, false, edges, bins, others);
}
