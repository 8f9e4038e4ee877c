// Rodinia's LUD, with doubles instead of floats as HiDP's program has them. The size is a multiple of 16.
#include "peer.cuh"

#include <cstdio>
#include <cstdlib>

#define float double
#include "rodinia/cuda/lud/cuda/lud_kernel.cu"
#undef float

PEER(factored) { lud_cuda(array<double>(params, 0), int(dims[0])); }
