// NN: distances and the least of them. Threads take two places at a time; the least goes through shuffles and shared memory, then one update a block: distances are not negative, so
// their bits rise as they do.
#include "peer.cuh"

constexpr int kThreads = 256, kBlocks = 132 * 8;

__global__ void __launch_bounds__(kThreads) nearest(const float2 *__restrict__ places, float latitude, float longitude, float *__restrict__ distance, int *__restrict__ least, int64_t count) {
  __shared__ float near[kThreads / 32];
  float own = __int_as_float(0x7f800000);
  const int64_t step = int64_t(gridDim.x) * kThreads, first = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  auto of = [&](float x, float y) {
    x -= latitude, y -= longitude;
    const float d = sqrtf(x * x + y * y);
    own = fminf(own, d);
    return d;
  };
#pragma unroll 4
  for (int64_t at = first; at < count / 2; at += step) {
    const float4 two = __ldg(reinterpret_cast<const float4 *>(places) + at);
    reinterpret_cast<float2 *>(distance)[at] = make_float2(of(two.x, two.y), of(two.z, two.w));
  }
  if (first == 0 && count % 2 == 1) distance[count - 1] = of(places[count - 1].x, places[count - 1].y);
  for (int apart = 16; apart > 0; apart /= 2) own = fminf(own, __shfl_xor_sync(~0u, own, apart));
  if (threadIdx.x % 32 == 0) near[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kThreads / 32; ++warp) own = fminf(own, near[warp]);
  atomicMin(least, __float_as_int(own));
}

PEER(nearest) {
  Own<int> least(1);
  // Larger than any finite distance that is of interest.
  cudaMemsetAsync(least, 0x7f, 4);
  const unsigned blocks = above(dims[0], kThreads * 2);
  nearest<<<blocks < kBlocks ? blocks : kBlocks, kThreads>>>(array<const float2>(params, 0), scalar<float>(params, 1), scalar<float>(params, 2), array<float>(params, 3), least, dims[0]);
  cudaMemcpy(&scalar<float>(params, 4), least, 4, cudaMemcpyDeviceToHost);
}
