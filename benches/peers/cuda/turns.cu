// Mandelbrot's set: warps take patches of 8 by 4 places, whose turns are alike. Squares are kept from one turn to the next.
#include "peer.cuh"

constexpr int kX = 8, kY = 16;

__global__ void __launch_bounds__(kX *kY) turn(float left, float top, float step, int most, int *__restrict__ turns, int height, int width) {
  const int i = blockIdx.y * kY + threadIdx.y, j = blockIdx.x * kX + threadIdx.x;
  if (i >= height || j >= width) return;
  const float cx = left + float(j) * step, cy = top + float(i) * step;
  float x = 0.0f, y = 0.0f, xx = 0.0f, yy = 0.0f;
  int k = 0;
  while (k < most && xx + yy <= 4.0f) {
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
    xx = x * x;
    yy = y * y;
    ++k;
  }
  turns[size_t(i) * width + j] = k;
}

PEER(turns) {
  const int height = dims[0], width = dims[1];
  turn<<<dim3(above(width, kX), above(height, kY)), dim3(kX, kY)>>>(scalar<float>(params, 0), scalar<float>(params, 1), scalar<float>(params, 2), scalar<int>(params, 3),
                                                                    array<int>(params, 4), height, width);
}
