// Rodinia's Pathfinder, with the 20 rows a launch that its script has. The first row is where it begins.
#include "peer.cuh"

#define main original_main
#include "rodinia/cuda/pathfinder/pathfinder.cu"
#undef main

PEER(walked) {
  const int height = int(dims[0]), width = int(dims[1]), part = 20;
  int *const wall = array<int>(params, 0), *const cost = array<int>(params, 1);
  Own<int> one(width), two(width);
  int *const results[2] = {one, two};
  cudaMemcpy(one, wall, size_t(width) * sizeof(int), cudaMemcpyDeviceToDevice);
  const int last = calc_path(wall + width, const_cast<int **>(results), height, width, part, int(above(width, BLOCK_SIZE - part * HALO * 2)), part * HALO);
  cudaMemcpy(cost, results[last], size_t(width) * sizeof(int), cudaMemcpyDeviceToDevice);
}
