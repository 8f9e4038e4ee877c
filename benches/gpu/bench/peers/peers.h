// What all peers share. Addresses are of device memory; every function works in the stream and gives CUDA's number of an error.
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

typedef uint64_t address;

template <class T>
T *at(address a) {
  return reinterpret_cast<T *>(a);
}

// Temporary memory, kept until a larger one is asked for: nothing is allocated while something is measured.
inline int scratch(size_t bytes, void **block) {
  static void *held = nullptr;
  static size_t size = 0;
  if (bytes > size) {
    cudaDeviceSynchronize();
    if (held != nullptr) cudaFree(held);
    held = nullptr;
    size = 0;
    cudaError_t error = cudaMalloc(&held, bytes);
    if (error != cudaSuccess) return error;
    size = bytes;
  }
  *block = held;
  return cudaSuccess;
}

// Runs a function of CUB's: first for the size of its memory, then in earnest.
template <class Call>
int with_scratch(Call call) {
  size_t bytes = 0;
  int error = call(nullptr, bytes);
  if (error != cudaSuccess) return error;
  void *block = nullptr;
  error = scratch(bytes == 0 ? 1 : bytes, &block);
  return error != cudaSuccess ? error : call(block, bytes);
}
