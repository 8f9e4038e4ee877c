// Rodinia's Gaussian elimination, with doubles instead of floats as HiDP's program has them, and blocks as its host program has them.
#include "peer.cuh"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

// CUDA 13 has these no more; nothing here calls what names them.
#define cudaThreadSynchronize cudaDeviceSynchronize
#define clockRate major
#define deviceOverlap minor
#define float double
#define main original_main
#include "rodinia/cuda/gaussian/gaussian.cu"
#undef main
#undef float
#undef clockRate
#undef deviceOverlap
#undef cudaThreadSynchronize

PEER(eliminated) {
  const int n = int(dims[0]);
  double *const a = array<double>(params, 0), *const b = array<double>(params, 1);
  Own<double> factors(size_t(n) * n);
  cudaMemset(factors, 0, size_t(n) * n * sizeof(double));
  const dim3 blocks(above(n, BLOCK_SIZE_XY), above(n, BLOCK_SIZE_XY)), threads(BLOCK_SIZE_XY, BLOCK_SIZE_XY);
  for (int t = 0; t < n - 1; ++t) {
    Fan1<<<above(n, MAXBLOCKSIZE), MAXBLOCKSIZE>>>(factors, a, n, t);
    Fan2<<<blocks, threads>>>(factors, a, b, n, n - t, t);
  }
}
