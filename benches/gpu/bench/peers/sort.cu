// CUB's radix sorts, with memory for a second copy as they like it, and Thrust's.
#include "peers.h"

#include <cub/device/device_radix_sort.cuh>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

extern "C" {

// Sorts `keys` into `sorted`.
int peer_cub_sort_u32(cudaStream_t stream, address keys, address sorted, int64_t n) {
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(block, bytes, at<const uint32_t>(keys), at<uint32_t>(sorted), n, 0, 32, stream);
  });
}

int peer_cub_sort_f32(cudaStream_t stream, address keys, address sorted, int64_t n) {
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(block, bytes, at<const float>(keys), at<float>(sorted), n, 0, 32, stream);
  });
}

int peer_cub_sort_pairs(cudaStream_t stream, address keys, address sorted, address values, address moved, int64_t n) {
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceRadixSort::SortPairs(block, bytes, at<const uint32_t>(keys), at<uint32_t>(sorted),
                                           at<const uint32_t>(values), at<uint32_t>(moved), n, 0, 32, stream);
  });
}

// In place.
int peer_thrust_sort_u32(cudaStream_t stream, address keys, int64_t n) {
  thrust::sort(thrust::cuda::par_nosync.on(stream), at<uint32_t>(keys), at<uint32_t>(keys) + n);
  return cudaGetLastError();
}

}  // extern "C"
