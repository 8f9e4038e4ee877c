// The host's side of the GPU: see target.cuh.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

#include <hidp/abi.hpp>
#include <hidp/cuda/memory.cuh>

HIDP_NAMESPACE_BEGIN

// The run time asks what a program's device code was built for before it chooses a device. nvcc lists it.
static const int32_t architectures[] = {__CUDA_ARCH_LIST__};
static hidp_device_code device_code = {architectures, sizeof architectures / sizeof *architectures, CUDART_VERSION, nullptr};
__attribute__((constructor)) static void add_device_code() { hidp2_device_code_add(&device_code); }

template <class T>
inline Any<T> place_at(void *address) {
  return static_cast<T *>(address);
}
template <class T>
inline void *address_of(T *place) {
  return const_cast<std::remove_const_t<T> *>(place);
}

// An error stays with the thread until somebody asks for it.
inline int taken(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return static_cast<int>(error);
}

template <class T>
inline int copy_to_host(void *stream, T *to, const T *place, int64_t count) {
  const size_t bytes = static_cast<size_t>(count) * sizeof(T);
  return taken(cudaMemcpyAsync(to, place, bytes, cudaMemcpyDeviceToHost, static_cast<cudaStream_t>(stream)));
}
template <class T>
inline int set_zero(void *stream, T *place, int64_t count) {
  return taken(cudaMemsetAsync(place, 0, static_cast<size_t>(count) * sizeof(T), static_cast<cudaStream_t>(stream)));
}
inline int wait(void *stream) { return taken(cudaStreamSynchronize(static_cast<cudaStream_t>(stream))); }

template <auto Kernel>
inline void announce() {}
template <class... Params>
inline int blocks_at_a_time(void (*kernel)(Params...), int threads, int *blocks) {
  return taken(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void *>(kernel), threads, 0));
}

template <class... Params>
inline int blocks_together(void (*kernel)(Params...), int threads, int *blocks) {
  int device = 0, can = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, device);
  *blocks = 0;
  return error != cudaSuccess || can == 0 ? taken(error) : blocks_at_a_time(kernel, threads, blocks);
}

template <class... Params>
inline int start(void (*kernel)(Params...), uint32_t x, uint32_t y, uint32_t z, int threads, void *stream, std::common_type_t<Params>... args) {
  void *addresses[] = {const_cast<void *>(static_cast<const void *>(&args))...};
  return taken(cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(x, y, z), dim3(static_cast<unsigned>(threads)),
                                addresses, 0, static_cast<cudaStream_t>(stream)));
}

template <class Param>
inline int start_together(void (*kernel)(Param), uint32_t blocks, int threads, void *stream, const std::common_type_t<Param> &arg) {
  void *addresses[] = {const_cast<void *>(static_cast<const void *>(&arg))};
  return taken(cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(kernel), dim3(blocks), dim3(static_cast<unsigned>(threads)),
                                           addresses, 0, static_cast<cudaStream_t>(stream)));
}

HIDP_NAMESPACE_END
