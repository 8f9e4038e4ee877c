// SRAD: one launch a step. A block computes the flow of its tile and of the places below and beside it in shared memory, then the tile's next values, and adds them up for the next
// step, which needs their mean and variance.
#include "peer.cuh"

constexpr int kX = 32, kY = 8, kRows = 2, kHigh = kY * kRows;

__device__ __forceinline__ void add_up(double sum, double squares, double *sums) {
  __shared__ double near[2][kX * kY / 32];
  const int thread = threadIdx.y * kX + threadIdx.x;
  for (int apart = 16; apart > 0; apart /= 2) {
    sum += __shfl_xor_sync(~0u, sum, apart);
    squares += __shfl_xor_sync(~0u, squares, apart);
  }
  if (thread % 32 == 0) near[0][thread / 32] = sum, near[1][thread / 32] = squares;
  __syncthreads();
  if (thread < 2) {
    double all = 0.0;
    for (int warp = 0; warp < kX * kY / 32; ++warp) all += near[thread][warp];
    atomicAdd(sums + thread, all);
  }
}

__global__ void __launch_bounds__(kX *kY) sum_up(const float *__restrict__ image, int64_t count, double *__restrict__ sums) {
  float sum = 0.0f, squares = 0.0f;
  for (int64_t at = int64_t(blockIdx.x) * kX * kY + threadIdx.y * kX + threadIdx.x; at < count; at += int64_t(gridDim.x) * kX * kY) {
    const float own = image[at];
    sum += own, squares += own * own;
  }
  add_up(sum, squares, sums);
}

__global__ void __launch_bounds__(kX *kY) even(const float *__restrict__ image, float *__restrict__ next, const double *__restrict__ sums, double *__restrict__ next_sums, int height, int width) {
  // Of the image with what is around the tile and its flow, of the flow with what is below and beside it.
  __shared__ float near[kHigh + 3][kX + 3], flow[kHigh + 1][kX + 1];
  const double count = double(height) * width;
  const float mean = float(sums[0] / count), squares = float(sums[1] / count);
  const float middle = (squares - mean * mean) / (mean * mean) + 0.25f;
  const float range = 1.0f / (middle * (1.0f + middle));
  const int top = blockIdx.y * kHigh, left = blockIdx.x * kX;
  for (int y = threadIdx.y; y < kHigh + 3; y += kY) {
    const int i = min(max(top + y - 1, 0), height - 1);
    for (int x = threadIdx.x; x < kX + 3; x += kX) {
      const int j = min(max(left + x - 1, 0), width - 1);
      near[y][x] = image[size_t(i) * width + j];
    }
  }
  __syncthreads();
  auto places = [&](int y, int x, float &n, float &s, float &w, float &e) {
    const float own = near[y + 1][x + 1];
    n = near[y][x + 1] - own, s = near[y + 2][x + 1] - own, w = near[y + 1][x] - own, e = near[y + 1][x + 2] - own;
    return own;
  };
  for (int y = threadIdx.y; y <= kHigh; y += kY) {
    for (int x = threadIdx.x; x <= kX; x += kX) {
      float n, s, w, e;
      const float inverse = 1.0f / places(y, x, n, s, w, e);
      const float slope = (n * n + s * s + w * w + e * e) * (inverse * inverse), bend = (n + s + w + e) * inverse;
      const float root = 1.0f + 0.25f * bend;
      const float q = (0.5f * slope - 0.0625f * bend * bend) / (root * root + 0.01f);
      flow[y][x] = fmaxf(0.0f, fminf(1.0f, 1.0f / (1.0f + fabsf(q - middle) * range)));
    }
  }
  __syncthreads();
  double sum = 0.0, all_squares = 0.0;
  for (int y = threadIdx.y; y < kHigh; y += kY) {
    const int x = threadIdx.x, i = top + y, j = left + x;
    if (i >= height || j >= width) continue;
    float n, s, w, e;
    const float own = places(y, x, n, s, w, e), c = flow[y][x];
    // At the edge of the picture a place is its own neighbour.
    const float below = i + 1 < height ? flow[y + 1][x] : c, beside = j + 1 < width ? flow[y][x + 1] : c;
    const float value = own + 0.125f * (below * s + c * n + beside * e + c * w);
    next[size_t(i) * width + j] = value;
    sum += value, all_squares += value * value;
  }
  add_up(sum, all_squares, next_sums);
}

PEER(evened) {
  const int steps = scalar<int>(params, 0), height = dims[0], width = dims[1];
  float *const image = array<float>(params, 1);
  const int64_t count = int64_t(height) * width;
  Own<float> other(count);
  Own<double> sums(2 * (steps + 1));
  cudaMemsetAsync(sums, 0, 16 * (steps + 1));
  float *from = image, *to = other;
  const dim3 threads(kX, kY);
  const unsigned blocks = above(count, kX * kY * 8);
  if (steps > 0) sum_up<<<blocks < 1056 ? blocks : 1056, threads>>>(image, count, sums);
  for (int step = 0; step < steps; ++step) {
    even<<<dim3(above(width, kX), above(height, kHigh)), threads>>>(from, to, sums + 2 * step, sums + 2 * step + 2, height, width);
    float *const old = from;
    from = to, to = old;
  }
  if (from != image) cudaMemcpyAsync(image, from, count * 4, cudaMemcpyDeviceToDevice);
}
