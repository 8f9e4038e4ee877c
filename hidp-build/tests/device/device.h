// The device of the tests of primitives: one that the executor plays, or a GPU with CUDA's plain functions.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <hidp/cuda/core.cuh>

namespace {

#if defined(HIDP_SIMT)

hidp_device *device_new(uint64_t seed) { return hidp_simt_new(seed, 3); }
void device_free(hidp_device *device) { hidp_simt_free(device); }
int32_t device_call(hidp_device *device, int32_t (*entry)(hidp_call *), hidp_call *call) { return hidp_simt_call(device, entry, call); }
void device_copy_in(hidp_device *device, void *to, const void *from, size_t bytes) { hidp_simt_copy_in(device, to, from, bytes); }
void device_copy_out(hidp_device *device, void *to, const void *from, size_t bytes) { hidp_simt_copy_out(device, to, from, bytes); }

// What went wrong that no test asked for, or nothing.
std::string device_reports(hidp_device *device, int32_t result) {
  return result == HIDP_SIMT_REPORTS ? hidp_simt_reports(device) : "";
}

#else

// After most errors a GPU does nothing more for this process.
void device_needs(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

cudaStream_t stream_of(void *state) { return static_cast<cudaStream_t>(state); }

// What is taken holds odd values: nobody may count on zeros.
void *device_take(void *state, size_t bytes) {
  void *block = nullptr;
  if (cudaMallocAsync(&block, bytes == 0 ? 1 : bytes, stream_of(state)) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  device_needs(cudaMemsetAsync(block, 0xc7, bytes, stream_of(state)), "fill");
  return block;
}
void device_give(void *state, void *block) { device_needs(cudaFreeAsync(block, stream_of(state)), "give"); }
void *device_take_pinned(void *, size_t bytes) {
  void *block = nullptr;
  return cudaMallocHost(&block, bytes) == cudaSuccess ? block : nullptr;
}
void device_give_pinned(void *state, void *block) {
  device_needs(cudaStreamSynchronize(stream_of(state)), "wait");
  device_needs(cudaFreeHost(block), "give page-locked memory");
}

// The GPU whose number the environment says; the seed is for what the tests make up.
hidp_device *device_new(uint64_t) {
  const char *const number = std::getenv("HIDP_CHECK_GPU");
  const int ordinal = number == nullptr ? 0 : std::atoi(number);
  device_needs(cudaSetDevice(ordinal), "choose");
  static cudaStream_t stream = nullptr;
  if (stream == nullptr) device_needs(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  int processors = 0, threads = 0;
  device_needs(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ordinal), "ask");
  device_needs(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, ordinal), "ask");
  return new hidp_device{stream, stream, ordinal, processors, threads, device_take, device_give, device_take_pinned, device_give_pinned};
}
void device_free(hidp_device *device) { delete device; }
int32_t device_call(hidp_device *device, int32_t (*entry)(hidp_call *), hidp_call *call) {
  const int32_t result = entry(call);
  device_needs(cudaStreamSynchronize(stream_of(device->state)), "a kernel");
  return result;
}
void device_copy_in(hidp_device *device, void *to, const void *from, size_t bytes) {
  device_needs(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_of(device->state)), "copy");
  device_needs(cudaStreamSynchronize(stream_of(device->state)), "copy");
}
void device_copy_out(hidp_device *device, void *to, const void *from, size_t bytes) {
  device_needs(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_of(device->state)), "copy");
  device_needs(cudaStreamSynchronize(stream_of(device->state)), "copy");
}

// Errors that a call has are those of memory that is not there, which tests ask for.
std::string device_reports(hidp_device *, int32_t) { return ""; }

#endif

}  // namespace
