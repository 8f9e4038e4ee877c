// C = A * B of floats: a block makes 128 by 128 results from parts of 8 terms in shared memory, a thread 8 by 8 of them in registers. The next part is loaded while this one is
// multiplied. Where sizes are no multiples, elements that are not there count as zeros.
#include "peer.cuh"

constexpr int kTile = 128, kDepth = 8, kOwn = 8, kThreads = 256;

struct Part {
  float a[4], b[4];
};

// Each thread loads 4 neighbours along a row of A, and of B.
template <bool kWhole>
__device__ __forceinline__ Part load(const float *__restrict__ a, const float *__restrict__ b, int row, int column, int from, int m, int n, int k) {
  Part part;
  const int thread = threadIdx.x;
  const int i = row + thread / 2, at = from + thread % 2 * 4, l = from + thread / 32, j = column + thread % 32 * 4;
  if constexpr (kWhole) {
    const float4 of_a = __ldg(reinterpret_cast<const float4 *>(a + size_t(i) * k + at));
    const float4 of_b = __ldg(reinterpret_cast<const float4 *>(b + size_t(l) * n + j));
    part.a[0] = of_a.x, part.a[1] = of_a.y, part.a[2] = of_a.z, part.a[3] = of_a.w;
    part.b[0] = of_b.x, part.b[1] = of_b.y, part.b[2] = of_b.z, part.b[3] = of_b.w;
  } else {
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      part.a[q] = i < m && at + q < k ? __ldg(a + size_t(i) * k + at + q) : 0.0f;
      part.b[q] = l < k && j + q < n ? __ldg(b + size_t(l) * n + j + q) : 0.0f;
    }
  }
  return part;
}

template <bool kWhole>
__global__ void __launch_bounds__(kThreads, 2) multiply(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m, int n, int k) {
  // A lies turned around; its rows are 4 apart from the next bank, so that stores do not meet.
  __shared__ __align__(16) float near_a[2][kDepth][kTile + 4], near_b[2][kDepth][kTile];
  const int thread = threadIdx.x, row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  const int y = thread / 16 * 4, x = thread % 16 * 4;
  float sums[kOwn][kOwn] = {};
  auto store = [&](int buffer, const Part &part) {
#pragma unroll
    for (int q = 0; q < 4; ++q) near_a[buffer][thread % 2 * 4 + q][thread / 2] = part.a[q];
    *reinterpret_cast<float4 *>(&near_b[buffer][thread / 32][thread % 32 * 4]) = make_float4(part.b[0], part.b[1], part.b[2], part.b[3]);
  };
  store(0, load<kWhole>(a, b, row, column, 0, m, n, k));
  __syncthreads();
  for (int from = 0, buffer = 0; from < k; from += kDepth, buffer ^= 1) {
    Part next;
    const bool more = from + kDepth < k;
    if (more) next = load<kWhole>(a, b, row, column, from + kDepth, m, n, k);
#pragma unroll
    for (int l = 0; l < kDepth; ++l) {
      float own_a[kOwn], own_b[kOwn];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<float4 *>(own_a + 4 * half) = *reinterpret_cast<const float4 *>(&near_a[buffer][l][y + half * kTile / 2]);
        *reinterpret_cast<float4 *>(own_b + 4 * half) = *reinterpret_cast<const float4 *>(&near_b[buffer][l][x + half * kTile / 2]);
      }
#pragma unroll
      for (int i = 0; i < kOwn; ++i)
#pragma unroll
        for (int j = 0; j < kOwn; ++j) sums[i][j] += own_a[i] * own_b[j];
    }
    if (more) store(buffer ^ 1, next);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int at = row + y + i % 4 + i / 4 * kTile / 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int to = column + x + half * kTile / 2;
      const float *own = sums[i] + 4 * half;
      if constexpr (kWhole) {
        *reinterpret_cast<float4 *>(c + size_t(at) * n + to) = make_float4(own[0], own[1], own[2], own[3]);
      } else {
#pragma unroll
        for (int q = 0; q < 4; ++q)
          if (at < m && to + q < n) c[size_t(at) * n + to + q] = own[q];
      }
    }
  }
}

PEER(multiplied) {
  const auto [a, b] = arrays<const float, 2>(params);
  float *const c = array<float>(params, 2);
  const int m = dims[0], k = dims[1], n = dims[2];
  const dim3 blocks(above(n, kTile), above(m, kTile));
  if (m % kTile == 0 && n % kTile == 0 && k % kDepth == 0) multiply<true><<<blocks, kThreads>>>(a, b, c, m, n, k);
  else multiply<false><<<blocks, kThreads>>>(a, b, c, m, n, k);
}
