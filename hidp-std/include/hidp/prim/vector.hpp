// Vectors as wide as the instruction set's registers, by the compiler's vector extension (GCC and Clang).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
HIDP_INLINE Vector<T> load_vector(const T *from) {
  Vector<T> vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}
template <class T>
HIDP_INLINE void store_vector(T *to, Vector<T> vector) {
  __builtin_memcpy(to, &vector, sizeof vector);
}
template <class T>
HIDP_INLINE Vector<T> broadcast(T value) {
  return value - Vector<T>{};
}

HIDP_NAMESPACE_END
