// Pathfinder: a block takes several rows of a part in shared memory; what is beside it is computed by its neighbours, too.
#include "peer.cuh"

constexpr int kThreads = 256, kRows = 20, kOwn = kThreads - 2 * kRows;

__global__ void __launch_bounds__(kThreads) walk(const int *__restrict__ wall, const int *__restrict__ cost, int *__restrict__ next, int64_t width, int rows, bool is_first) {
  __shared__ int near[2][kThreads + 2];
  const int64_t j = int64_t(blockIdx.x) * kOwn + threadIdx.x - kRows;
  const bool is_there = j >= 0 && j < width;
  const int at = threadIdx.x + 1, none = 0x7fffffff;
  if (threadIdx.x < 2) near[threadIdx.x][0] = near[threadIdx.x][kThreads + 1] = none;
  near[0][at] = is_there ? (is_first ? 0 : cost[j]) : none;
  near[1][at] = none;
  __syncthreads();
  int own = near[0][at];
  for (int row = 0; row < rows; ++row) {
    const int *const old = near[row % 2];
    if (is_there) own = min(own, min(old[at - 1], old[at + 1])) + __ldg(wall + row * width + j);
    near[(row + 1) % 2][at] = own;
    __syncthreads();
  }
  if (is_there && threadIdx.x >= kRows && threadIdx.x < kThreads - kRows) next[j] = own;
}

PEER(walked) {
  const int *wall = array<const int>(params, 0);
  int *const cost = array<int>(params, 1);
  const int64_t rows = dims[0], width = dims[1];
  Own<int> other(width);
  int *from = other, *to = cost;
  const int64_t launches = (rows + kRows - 1) / kRows;
  // So that the last one writes the result.
  if (launches % 2 == 0) from = cost, to = other;
  if (launches == 0) cudaMemsetAsync(cost, 0, width * 4);
  for (int64_t row = 0; row < rows; row += kRows) {
    const int part = int(rows - row < kRows ? rows - row : kRows);
    walk<<<above(width, kOwn), kThreads>>>(wall + row * width, from, to, width, part, row == 0);
    int *const old = from;
    from = to, to = old;
  }
}
