// Rodinia's NN: the host looks for the least distance, as it does there.
#include "peer.cuh"

#include <cstdio>
#include <sys/time.h>
#include <vector>

// CUDA 13 has it no more.
#define cudaThreadSynchronize cudaDeviceSynchronize
#define main original_main
#include "rodinia/cuda/nn/nn_cuda.cu"
#undef main
#undef cudaThreadSynchronize
#undef min

PEER(nearest) {
  const int count = int(dims[0]);
  float *const distance = array<float>(params, 3);
  euclid<<<above(count, DEFAULT_THREADS_PER_BLOCK), DEFAULT_THREADS_PER_BLOCK>>>(array<LatLong>(params, 0), distance, count, scalar<float>(params, 1), scalar<float>(params, 2));
  std::vector<float> all(count);
  cudaMemcpy(all.data(), distance, all.size() * sizeof(float), cudaMemcpyDeviceToHost);
  float &least = scalar<float>(params, 4);
  least = all[0];
  for (const float one : all) least = one < least ? one : least;
}
