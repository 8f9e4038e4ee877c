// Device memory under nvcc: see target.cuh. Places are pointers.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>
#include <hidp/cast.hpp>
#include <hidp/cuda/machine.cuh>

#define HIDP_FIELD(place, path) (&(*(place))path)

HIDP_NAMESPACE_BEGIN

template <class T>
using In = const T *__restrict__;
template <class T>
using Out = T *__restrict__;
template <class T>
using Any = T *;

template <class To, class From>
HIDP_INLINE auto place_as(From *place) {
  static_assert(sizeof(To) == sizeof(From), "two names of one type");
  using Kept = std::conditional_t<std::is_const<From>::value, const To, To>;
  return reinterpret_cast<Kept *>(place);
}

template <class T>
HIDP_DEVICE T &at(T *place, int64_t index) {
  return place[index];
}
template <class T>
HIDP_DEVICE std::remove_const_t<T> load(T *place) {
  return *place;
}
template <class T>
HIDP_DEVICE void store(T *place, std::common_type_t<T> value) {
  *place = value;
}

// What one instruction moves.
template <class T, int Count>
struct alignas(sizeof(T) * Count) Several {
  T parts[Count];
};
template <int Count, class T>
HIDP_DEVICE void load_several(std::remove_const_t<T> *own, T *place) {
  using All = Several<std::remove_const_t<T>, Count>;
  const All all = *reinterpret_cast<const All *>(place);
#pragma unroll
  for (int at = 0; at < Count; ++at) own[at] = all.parts[at];
}
template <int Count, class T>
HIDP_DEVICE void store_several(T *place, const T *own) {
  using All = Several<T, Count>;
  All all;
#pragma unroll
  for (int at = 0; at < Count; ++at) all.parts[at] = own[at];
  *reinterpret_cast<All *>(place) = all;
}

template <int Bytes, class T>
HIDP_DEVICE bool is_aligned(T *place) {
  return reinterpret_cast<uintptr_t>(place) % Bytes == 0;
}

// nvcc has functions for it from 12.8 on. Before, volatile accesses of up to 8 bytes are what it makes into indivisible ones.
template <class T>
HIDP_DEVICE std::remove_const_t<T> load_relaxed(T *place) {
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208
  std::remove_const_t<T> value;
  __nv_atomic_load(place, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  return value;
#else
  return *static_cast<const volatile T *>(place);
#endif
}
template <class T>
HIDP_DEVICE void store_relaxed(T *place, std::common_type_t<T> value) {
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208
  __nv_atomic_store(place, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
#else
  *static_cast<volatile T *>(place) = value;
#endif
}

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
HIDP_DEVICE std::remove_const_t<T> load_shared(T *place) {
  using Unit = typename UnitOf<alignof(T)>::type;
  constexpr int kUnits = sizeof(T) / sizeof(Unit);
  Unit units[kUnits];
#pragma unroll
  for (int at = 0; at < kUnits; ++at) units[at] = load_relaxed(reinterpret_cast<const Unit *>(place) + at);
  std::remove_const_t<T> value;
  memcpy(&value, units, sizeof(T));
  return value;
}
template <class T>
HIDP_DEVICE void store_shared(T *place, const std::common_type_t<T> &value) {
  using Unit = typename UnitOf<alignof(T)>::type;
  constexpr int kUnits = sizeof(T) / sizeof(Unit);
  Unit units[kUnits];
  memcpy(units, &value, sizeof(T));
#pragma unroll
  for (int at = 0; at < kUnits; ++at) store_relaxed<Unit>(reinterpret_cast<Unit *>(place) + at, units[at]);
}

HIDP_DEVICE void fence() { __threadfence(); }

// Numbers go round: which one is behind the other follows from their difference.
HIDP_DEVICE void grid_barrier(uint32_t *arrived, uint32_t goal, uint32_t threads) {
  block_barrier(threads);
  if (thread_rank() == 0) {
    fence();
    atomicAdd(arrived, 1);
    do __nanosleep(20);
    while (static_cast<int32_t>(load_relaxed(arrived) - goal) < 0);
    fence();
  }
  block_barrier(threads);
}

// Words that the hardware exchanges.
template <class T>
using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

template <class T>
HIDP_DEVICE Word<T> *word_at(T *place) {
  static_assert(sizeof(T) == sizeof(Word<T>), "the hardware exchanges words");
  return reinterpret_cast<Word<T> *>(place);
}
template <class T>
HIDP_DEVICE T compare_exchange(T *place, std::common_type_t<T> old, std::common_type_t<T> wanted) {
  return bit_cast<T>(atomicCAS(word_at(place), bit_cast<Word<T>>(old), bit_cast<Word<T>>(wanted)));
}
template <class T>
HIDP_DEVICE T exchange(T *place, std::common_type_t<T> wanted) {
  return bit_cast<T>(atomicExch(word_at(place), bit_cast<Word<T>>(wanted)));
}
template <class T>
HIDP_DEVICE T fetch_add(T *place, std::common_type_t<T> value) {
  static_assert(std::is_integral_v<T>, "a word of bits is added to");
  return static_cast<T>(atomicAdd(word_at(place), static_cast<Word<T>>(value)));
}

// *place = next(*place), indivisibly. Where that changes no bit, nothing is written.
template <class T, class Next>
HIDP_DEVICE void update_relaxed(T *place, Next next) {
  Word<T> found = bit_cast<Word<T>>(load_relaxed(place));
  for (;;) {
    const Word<T> wanted = bit_cast<Word<T>>(next(bit_cast<T>(found)));
    if (wanted == found) return;
    const Word<T> now = atomicCAS(word_at(place), found, wanted);
    if (now == found) return;
    found = now;
  }
}

template <class T>
inline constexpr bool kIsWord = std::is_integral_v<T> && sizeof(T) >= 4;

// The hardware's minimum and maximum know signs.
template <class T>
using SignedWord = std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>,
                                      std::conditional_t<std::is_signed_v<T>, int, unsigned>>;

// Adding floats: the GPU's own addition, which takes subnormal numbers of 32 bits in global memory for zeros.
template <class T>
HIDP_DEVICE void atomic_add(T *place, std::common_type_t<T> value) {
  if constexpr (kIsWord<T>) atomicAdd(word_at(place), static_cast<Word<T>>(value));
  else if constexpr (std::is_floating_point_v<T>) atomicAdd(place, value);
  else update_relaxed(place, [=](T old) { return add<T>(old, value); });
}
template <class T>
HIDP_DEVICE void atomic_mul(T *place, std::common_type_t<T> value) {
  update_relaxed(place, [=](T old) { return mul<T>(old, value); });
}
template <class T>
HIDP_DEVICE void atomic_min(T *place, std::common_type_t<T> value) {
  if constexpr (kIsWord<T>) atomicMin(reinterpret_cast<SignedWord<T> *>(place), static_cast<SignedWord<T>>(value));
  else update_relaxed(place, [=](T old) { return min<T>(old, value); });
}
template <class T>
HIDP_DEVICE void atomic_max(T *place, std::common_type_t<T> value) {
  if constexpr (kIsWord<T>) atomicMax(reinterpret_cast<SignedWord<T> *>(place), static_cast<SignedWord<T>>(value));
  else update_relaxed(place, [=](T old) { return max<T>(old, value); });
}
template <class T>
HIDP_DEVICE void atomic_and(T *place, std::common_type_t<T> value) {
  atomicAnd(word_at(place), static_cast<Word<T>>(value));
}
template <class T>
HIDP_DEVICE void atomic_or(T *place, std::common_type_t<T> value) {
  atomicOr(word_at(place), static_cast<Word<T>>(value));
}
template <class T>
HIDP_DEVICE void atomic_xor(T *place, std::common_type_t<T> value) {
  atomicXor(word_at(place), static_cast<Word<T>>(value));
}

HIDP_NAMESPACE_END
