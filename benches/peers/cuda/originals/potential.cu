// Parboil's CP. The plane's width is a multiple of 128, its height one of 8.
#include "peer.cuh"

#include <vector>

#include "parboil/benchmarks/cp/src/cuda/cuenergy_pre8_coalesce.cu"

PEER(potential) {
  const int count = int(dims[0]), height = int(dims[1]), width = int(dims[2]);
  const float spacing = scalar<float>(params, 1), plane = scalar<float>(params, 2) + 10.0f;
  float *const energy = array<float>(params, 3);
  std::vector<float> atoms(4 * size_t(count));
  cudaMemcpy(atoms.data(), array<float>(params, 0), atoms.size() * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemset(energy, 0, size_t(height) * width * sizeof(float));
  const dim3 blocks(width / (BLOCKSIZEX * UNROLLX), height / BLOCKSIZEY), threads(BLOCKSIZEX, BLOCKSIZEY);
  for (int from = 0; from < count; from += MAXATOMS) {
    const int part = count - from < MAXATOMS ? count - from : MAXATOMS;
    copyatomstoconstbuf(atoms.data() + 4 * from, part, plane);
    cenergy<<<blocks, threads>>>(part, spacing, energy);
  }
}
