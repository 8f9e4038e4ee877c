// LUD by blocks of 32 columns: the block on the diagonal, then what is right of it and below it, then what is left as a product of those.
#include "peer.cuh"

constexpr int kTile = 32, kThreads = 256;
using Tile = double[kTile][kTile + 1];

__device__ __forceinline__ void load(Tile &near, const double *__restrict__ a, int n, int row, int column) {
  for (int at = threadIdx.x; at < kTile * kTile; at += blockDim.x) {
    const int y = at / kTile, x = at % kTile;
    near[y][x] = row + y < n && column + x < n ? a[size_t(row + y) * n + column + x] : row + y == column + x ? 1.0 : 0.0;
  }
}
__device__ __forceinline__ void store(const Tile &near, double *__restrict__ a, int n, int row, int column) {
  for (int at = threadIdx.x; at < kTile * kTile; at += blockDim.x) {
    const int y = at / kTile, x = at % kTile;
    if (row + y < n && column + x < n) a[size_t(row + y) * n + column + x] = near[y][x];
  }
}

__global__ void __launch_bounds__(kThreads) diagonal(double *a, int n, int from) {
  __shared__ Tile near;
  load(near, a, n, from, from);
  __syncthreads();
  for (int k = 0; k < kTile - 1; ++k) {
    if (threadIdx.x > k && threadIdx.x < kTile) near[threadIdx.x][k] /= near[k][k];
    __syncthreads();
    for (int y = k + 1 + threadIdx.x / kTile; y < kTile; y += kThreads / kTile) {
      const int x = threadIdx.x % kTile;
      if (x > k) near[y][x] -= near[y][k] * near[k][x];
    }
    __syncthreads();
  }
  store(near, a, n, from, from);
}

// The first half of the blocks solve what is right of the diagonal, a thread a column; the others what is below it, a thread a row.
__global__ void __launch_bounds__(kTile * 2) perimeter(double *a, int n, int from, int tiles) {
  __shared__ Tile near, own;
  const bool is_row = blockIdx.x < tiles;
  const int at = from + kTile * (1 + blockIdx.x % tiles), row = is_row ? from : at, column = is_row ? at : from;
  load(near, a, n, from, from);
  load(own, a, n, row, column);
  __syncthreads();
  const int lane = threadIdx.x;
  if (lane < kTile) {
    if (is_row) {
      for (int y = 1; y < kTile; ++y) {
        double value = own[y][lane];
        for (int k = 0; k < y; ++k) value -= near[y][k] * own[k][lane];
        own[y][lane] = value;
      }
    } else {
      for (int x = 0; x < kTile; ++x) {
        double value = own[lane][x];
        for (int k = 0; k < x; ++k) value -= own[lane][k] * near[k][x];
        own[lane][x] = value / near[x][x];
      }
    }
  }
  __syncthreads();
  store(own, a, n, row, column);
}

__global__ void __launch_bounds__(kThreads) inside(double *a, int n, int from) {
  __shared__ Tile below, right;
  const int row = from + kTile * (1 + blockIdx.y), column = from + kTile * (1 + blockIdx.x);
  load(below, a, n, row, from);
  load(right, a, n, from, column);
  __syncthreads();
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile * 4;
  double sums[4] = {};
#pragma unroll 8
  for (int k = 0; k < kTile; ++k) {
    const double of_right = right[k][x];
#pragma unroll
    for (int q = 0; q < 4; ++q) sums[q] += below[y + q][k] * of_right;
  }
#pragma unroll
  for (int q = 0; q < 4; ++q)
    if (row + y + q < n && column + x < n) a[size_t(row + y + q) * n + column + x] -= sums[q];
}

PEER(factored) {
  double *const a = array<double>(params, 0);
  const int n = dims[0];
  for (int from = 0; from < n; from += kTile) {
    const int tiles = int(above(n - from, kTile)) - 1;
    diagonal<<<1, kThreads>>>(a, n, from);
    if (tiles == 0) break;
    perimeter<<<2 * tiles, kTile * 2>>>(a, n, from, tiles);
    inside<<<dim3(tiles, tiles), kThreads>>>(a, n, from);
  }
}
