// Gaussian elimination without pivots: one launch a step. Column k and row k are not changed in step k, so all threads may read them; what is below the diagonal is zero in the end.
#include "peer.cuh"

constexpr int kX = 32, kY = 4, kRows = 4;

__global__ void __launch_bounds__(kX *kY) eliminate(double *__restrict__ a, double *__restrict__ b, int n, int k) {
  const int j = k + blockIdx.x * kX + threadIdx.x;
  const int first = k + 1 + blockIdx.y * kY * kRows + threadIdx.y;
  if (j >= n) return;
  const double pivot = a[size_t(k) * n + k];
  // The first column of threads has the right side instead of column k.
  const double of_row = j == k ? b[k] : a[size_t(k) * n + j];
#pragma unroll
  for (int q = 0; q < kRows; ++q) {
    const int i = first + q * kY;
    if (i >= n) return;
    const double factor = a[size_t(i) * n + k] / pivot;
    double &to = j == k ? b[i] : a[size_t(i) * n + j];
    to -= factor * of_row;
  }
}

__global__ void clear(double *__restrict__ a, int n) {
  const int j = blockIdx.x * kX + threadIdx.x, i = blockIdx.y * kY + threadIdx.y;
  if (i < n && j < i) a[size_t(i) * n + j] = 0.0;
}

PEER(eliminated) {
  double *const a = array<double>(params, 0), *const b = array<double>(params, 1);
  const int n = dims[0];
  const dim3 threads(kX, kY);
  for (int k = 0; k + 1 < n; ++k) eliminate<<<dim3(above(n - k, kX), above(n - k - 1, kY * kRows)), threads>>>(a, b, n, k);
  clear<<<dim3(above(n, kX), above(n, kY)), threads>>>(a, n);
}
