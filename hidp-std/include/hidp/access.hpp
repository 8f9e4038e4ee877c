// Accesses to elements that other iterations may touch at the same time: relaxed, never torn.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>

HIDP_NAMESPACE_BEGIN

template <class T>
HIDP_INLINE T load_relaxed(const T *address) {
  T value;
  __atomic_load(address, &value, __ATOMIC_RELAXED);
  return value;
}
template <class T>
HIDP_INLINE void store_relaxed(T *address, T value) {
  __atomic_store(address, &value, __ATOMIC_RELAXED);
}

// Asks for the cache line of an element that is read soon. Unlike the arithmetic of pointers, it may lie outside of its array.
template <class T>
HIDP_INLINE void prefetch(const T *array, int64_t index) {
  __builtin_prefetch(reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(array) + uintptr_t(index) * sizeof(T)));
}

// An element that a lane of a loop takes from where data say, of `count`, which have 4 bytes or more and are fewer than 2^31. Compilers make
// vectors of loads of 32 bits, by indices of as many, and none of narrower ones.
template <class T>
HIDP_INLINE T gathered(const T *array, int64_t index, [[maybe_unused]] int64_t count) {
#if defined(__AVX2__)
  typedef uint32_t __attribute__((may_alias, aligned(1))) Word;
  const int32_t at = static_cast<int32_t>(index);
  const int32_t last = static_cast<int32_t>(count) - static_cast<int32_t>(sizeof(Word) / sizeof(T));
  const int32_t from = at < last ? at : last;
  return static_cast<T>(*reinterpret_cast<const Word *>(array + from) >> (8 * static_cast<int32_t>(sizeof(T)) * (at - from)));
#else
  return array[index];
#endif
}

// The same for any type, in units that hold whole fields: a struct may be a mixture of what was written, its fields are not.
template <int Bytes>
struct UnitOf;
template <>
struct UnitOf<1> {
  typedef uint8_t __attribute__((may_alias)) type;
};
template <>
struct UnitOf<2> {
  typedef uint16_t __attribute__((may_alias)) type;
};
template <>
struct UnitOf<4> {
  typedef uint32_t __attribute__((may_alias)) type;
};
template <>
struct UnitOf<8> {
  typedef uint64_t __attribute__((may_alias)) type;
};

template <class T>
HIDP_INLINE T load_shared(const T *address) {
  using Unit = typename UnitOf<alignof(T)>::type;
  T value;
  for (size_t at = 0; at < sizeof(T) / sizeof(Unit); ++at)
    reinterpret_cast<Unit *>(&value)[at] = __atomic_load_n(reinterpret_cast<const Unit *>(address) + at, __ATOMIC_RELAXED);
  return value;
}
template <class T>
HIDP_INLINE void store_shared(T *address, const T &value) {
  using Unit = typename UnitOf<alignof(T)>::type;
  for (size_t at = 0; at < sizeof(T) / sizeof(Unit); ++at)
    __atomic_store_n(reinterpret_cast<Unit *>(address) + at, reinterpret_cast<const Unit *>(&value)[at], __ATOMIC_RELAXED);
}

// *address = next(*address), indivisibly. Where that changes no bit, nothing is written.
template <class T, class Next>
HIDP_INLINE void update_relaxed(T *address, Next next) {
  T old = load_relaxed(address);
  for (;;) {
    T wanted = next(old);
    if (__builtin_memcmp(&wanted, &old, sizeof(T)) == 0) return;
    if (__atomic_compare_exchange(address, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  }
}

template <class T>
HIDP_INLINE void atomic_add(T *address, T value) {
  if constexpr (std::is_integral_v<T>) __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  else update_relaxed(address, [=](T old) { return old + value; });
}
template <class T>
HIDP_INLINE void atomic_mul(T *address, T value) {
  update_relaxed(address, [=](T old) { return mul(old, value); });
}
template <class T>
HIDP_INLINE void atomic_min(T *address, T value) {
  update_relaxed(address, [=](T old) { return min(old, value); });
}
template <class T>
HIDP_INLINE void atomic_max(T *address, T value) {
  update_relaxed(address, [=](T old) { return max(old, value); });
}
template <class T>
HIDP_INLINE void atomic_and(T *address, T value) {
  if constexpr (std::is_same_v<T, bool>) update_relaxed(address, [=](T old) { return old && value; });
  else __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <class T>
HIDP_INLINE void atomic_or(T *address, T value) {
  if constexpr (std::is_same_v<T, bool>) update_relaxed(address, [=](T old) { return old || value; });
  else __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <class T>
HIDP_INLINE void atomic_xor(T *address, T value) {
  if constexpr (std::is_same_v<T, bool>) update_relaxed(address, [=](T old) { return old != value; });
  else __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}

HIDP_NAMESPACE_END
