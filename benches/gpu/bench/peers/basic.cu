// The machine's limits, streaming kernels by hand, and CUB's and Thrust's folds and prefixes.
#include "peers.h"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/scan.h>
#include <thrust/tuple.h>

namespace {

__global__ void copy_kernel(float4 *to, const float4 *from, long count) {
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (long)blockDim.x) to[i] = from[i];
}

__global__ void triad_kernel(float4 *a, const float4 *b, const float4 *c, float s, long count) {
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (long)blockDim.x) {
    float4 x = b[i], y = c[i];
    a[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
  }
}

// Eight chains that do not depend on one another.
__global__ void fma_kernel(float *out, int turns) {
  float v[8];
  float x = threadIdx.x * 1e-9f;
#pragma unroll
  for (int j = 0; j < 8; ++j) v[j] = x + j;
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = fmaf(v[j], 0.999f, x);
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum += v[j];
  if (sum == -1.0f) out[0] = sum;
}

int processors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

__global__ void differences_kernel(const uint32_t *a, const uint32_t *b, long words, unsigned long long *count) {
  unsigned long long own = 0;
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < words; i += gridDim.x * (long)blockDim.x) own += a[i] != b[i];
  if (own != 0) atomicAdd(count, own);
}

struct Multiply {
  __host__ __device__ float operator()(const thrust::tuple<float, float> &pair) const {
    return thrust::get<0>(pair) * thrust::get<1>(pair);
  }
};

}  // namespace

extern "C" {

// `count` floats, a multiple of 4.
int peer_copy(cudaStream_t stream, address to, address from, int64_t count) {
  copy_kernel<<<processors() * 16, 512, 0, stream>>>(at<float4>(to), at<float4>(from), count / 4);
  return cudaGetLastError();
}

int peer_memcpy(cudaStream_t stream, address to, address from, int64_t count) {
  return cudaMemcpyAsync(at<void>(to), at<void>(from), count * 4, cudaMemcpyDeviceToDevice, stream);
}

int peer_triad(cudaStream_t stream, address a, address b, address c, float s, int64_t count) {
  triad_kernel<<<processors() * 16, 512, 0, stream>>>(at<float4>(a), at<float4>(b), at<float4>(c), s, count / 4);
  return cudaGetLastError();
}

// 16 operations a turn of each of `threads` threads: 16 blocks of 256 a multiprocessor.
int peer_fma(cudaStream_t stream, address out, int32_t turns) {
  fma_kernel<<<processors() * 16, 256, 0, stream>>>(at<float>(out), turns);
  return cudaGetLastError();
}

int peer_fma_threads(cudaStream_t, int64_t *threads) {
  *threads = processors() * 16L * 256L;
  return cudaSuccess;
}

// How many of so many words differ.
int peer_differences(cudaStream_t stream, address a, address b, int64_t words, int64_t *count) {
  void *block = nullptr;
  unsigned long long found = 0;
  int error = scratch(sizeof found, &block);
  if (error == cudaSuccess) error = cudaMemsetAsync(block, 0, sizeof found, stream);
  if (error != cudaSuccess) return error;
  differences_kernel<<<processors() * 16, 256, 0, stream>>>(at<uint32_t>(a), at<uint32_t>(b), words,
                                                            static_cast<unsigned long long *>(block));
  error = cudaMemcpyAsync(&found, block, sizeof found, cudaMemcpyDeviceToHost, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  *count = static_cast<int64_t>(found);
  return error;
}

int peer_cub_sum(cudaStream_t stream, address x, address out, int64_t n) {
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceReduce::Sum(block, bytes, at<const float>(x), at<float>(out), n, stream);
  });
}

int peer_cub_dot(cudaStream_t stream, address x, address y, address out, int64_t n) {
  auto pairs = thrust::make_zip_iterator(thrust::make_tuple(at<const float>(x), at<const float>(y)));
  auto products = thrust::make_transform_iterator(pairs, Multiply());
  return with_scratch(
      [&](void *block, size_t &bytes) { return cub::DeviceReduce::Sum(block, bytes, products, at<float>(out), n, stream); });
}

int peer_thrust_dot(cudaStream_t stream, address x, address y, float *out, int64_t n) {
  *out = thrust::inner_product(thrust::cuda::par.on(stream), at<const float>(x), at<const float>(x) + n, at<const float>(y), 0.0f);
  return cudaGetLastError();
}

int peer_cub_scan(cudaStream_t stream, address x, address y, int64_t n) {
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceScan::InclusiveSum(block, bytes, at<const int32_t>(x), at<int32_t>(y), n, stream);
  });
}

int peer_thrust_scan(cudaStream_t stream, address x, address y, int64_t n) {
  thrust::inclusive_scan(thrust::cuda::par_nosync.on(stream), at<const int32_t>(x), at<const int32_t>(x) + n, at<int32_t>(y));
  return cudaGetLastError();
}

}  // extern "C"
