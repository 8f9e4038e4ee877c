// How the programs by hand are called: as entries of HiDP are, with addresses of arrays in device memory and of scalars in the host's, and dimensions in the order of the header.
#pragma once

#include <array>
#include <cstdint>

#include <cuda_runtime.h>

#define PEER(name) extern "C" void name(void *const *params, const int64_t *dims)

template <class T>
T *array(void *const *params, int at) {
  return static_cast<T *>(params[at]);
}
template <class T, int Count>
std::array<T *, Count> arrays(void *const *params) {
  std::array<T *, Count> found;
  for (int at = 0; at < Count; ++at) found[at] = array<T>(params, at);
  return found;
}
// A scalar.
template <class T>
T &scalar(void *const *params, int at) {
  return *static_cast<T *>(params[at]);
}

// A quotient, rounded up.
inline unsigned above(int64_t count, int64_t part) { return static_cast<unsigned>((count + part - 1) / part); }

// Device memory of a function.
template <class T>
class Own {
 public:
  explicit Own(size_t count) { cudaMalloc(&place_, count * sizeof(T)); }
  ~Own() { cudaFree(place_); }
  Own(const Own &) = delete;
  Own &operator=(const Own &) = delete;
  operator T *() const { return place_; }

 private:
  T *place_ = nullptr;
};
