// CUB's and Thrust's segmented algorithms. `cut` has the bounds of segments: one more than there are.
#include "peers.h"

#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_segmented_sort.cuh>

extern "C" {

int peer_cub_segmented_sum(cudaStream_t stream, address x, address cut, address sums, int64_t segments) {
  const int32_t *cuts = at<const int32_t>(cut);
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceSegmentedReduce::Sum(block, bytes, at<const uint32_t>(x), at<uint32_t>(sums), segments, cuts, cuts + 1, stream);
  });
}

int peer_cub_segmented_sum_f32(cudaStream_t stream, address x, address cut, address sums, int64_t segments) {
  const int32_t *cuts = at<const int32_t>(cut);
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceSegmentedReduce::Sum(block, bytes, at<const float>(x), at<float>(sums), segments, cuts, cuts + 1, stream);
  });
}

int peer_cub_segmented_sort(cudaStream_t stream, address keys, address sorted, address cut, int64_t n, int64_t segments) {
  const int32_t *cuts = at<const int32_t>(cut);
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceSegmentedSort::SortKeys(block, bytes, at<const uint32_t>(keys), at<uint32_t>(sorted), n, segments, cuts,
                                              cuts + 1, stream);
  });
}

int peer_cub_segmented_radix_sort(cudaStream_t stream, address keys, address sorted, address cut, int64_t n, int64_t segments) {
  const int32_t *cuts = at<const int32_t>(cut);
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceSegmentedRadixSort::SortKeys(block, bytes, at<const uint32_t>(keys), at<uint32_t>(sorted), (int)n,
                                                   (int)segments, cuts, cuts + 1, 0, 32, stream);
  });
}

// CUB has no segmented scan over bounds: the nearest is a scan by key, which reads the number of its segment for each element.
int peer_cub_scan_by_key(cudaStream_t stream, address keys, address x, address y, int64_t n) {
  return with_scratch([&](void *block, size_t &bytes) {
    return cub::DeviceScan::InclusiveSumByKey(block, bytes, at<const uint32_t>(keys), at<const uint32_t>(x), at<uint32_t>(y),
                                              (int)n, ::cuda::std::equal_to<>(), stream);
  });
}

}  // extern "C"
