// Hotspot: a block makes several steps of a tile in shared memory; what is around it is computed by its neighbours, too.
#include "peer.cuh"

constexpr int kTile = 32, kSteps = 4, kSide = kTile + 2 * kSteps, kX = 32, kY = 8;

__global__ void __launch_bounds__(kX *kY) heat_up(const float *__restrict__ power, const float *__restrict__ heat, float *__restrict__ next, int height, int width, int steps) {
  __shared__ float near[2][kSide][kSide + 1], near_power[kSide][kSide + 1];
  const int top = int(blockIdx.y) * kTile - kSteps, left = int(blockIdx.x) * kTile - kSteps;
  for (int y = threadIdx.y; y < kSide; y += kY) {
    for (int x = threadIdx.x; x < kSide; x += kX) {
      const int i = top + y, j = left + x;
      const bool is_there = i >= 0 && i < height && j >= 0 && j < width;
      near[0][y][x] = is_there ? heat[size_t(i) * width + j] : 0.0f;
      near_power[y][x] = is_there ? power[size_t(i) * width + j] : 0.0f;
    }
  }
  __syncthreads();
  for (int step = 0; step < steps; ++step) {
    const auto &old = near[step % 2];
    for (int y = threadIdx.y + step + 1; y < kSide - step - 1; y += kY) {
      for (int x = threadIdx.x + step + 1; x < kSide - step - 1; x += kX) {
        const int i = top + y, j = left + x;
        if (i < 0 || i >= height || j < 0 || j >= width) continue;
        const float own = old[y][x];
        const float over = i > 0 ? old[y - 1][x] : own, under = i < height - 1 ? old[y + 1][x] : own;
        const float west = j > 0 ? old[y][x - 1] : own, east = j < width - 1 ? old[y][x + 1] : own;
        near[(step + 1) % 2][y][x] = own + 0.125f * (near_power[y][x] + (over + under - 2.0f * own) + (west + east - 2.0f * own) + 0.5f * (1.0f - own));
      }
    }
    __syncthreads();
  }
  for (int y = threadIdx.y; y < kTile; y += kY) {
    const int i = int(blockIdx.y) * kTile + y, j = int(blockIdx.x) * kTile + int(threadIdx.x);
    if (i < height && j < width) next[size_t(i) * width + j] = near[steps % 2][y + kSteps][threadIdx.x + kSteps];
  }
}

PEER(heated) {
  const float *const power = array<const float>(params, 0);
  int steps = scalar<int>(params, 1);
  float *const heat = array<float>(params, 2);
  const int height = dims[0], width = dims[1];
  Own<float> other(size_t(height) * width);
  float *from = heat, *to = other;
  const dim3 blocks(above(width, kTile), above(height, kTile)), threads(kX, kY);
  for (; steps > 0; steps -= kSteps) {
    heat_up<<<blocks, threads>>>(power, from, to, height, width, steps < kSteps ? steps : kSteps);
    float *const old = from;
    from = to, to = old;
  }
  if (from != heat) cudaMemcpyAsync(heat, from, size_t(height) * width * 4, cudaMemcpyDeviceToDevice);
}
