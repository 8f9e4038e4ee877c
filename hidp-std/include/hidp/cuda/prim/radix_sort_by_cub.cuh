// CUB's radix sort for all keys of the language, under nvcc.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include <cub/device/device_radix_sort.cuh>

#include <hidp/cuda/prim/items.cuh>
#include <hidp/cuda/prim/kernel_copy.cuh>
#include <hidp/cuda/prim/rows.cuh>
#include <hidp/prim/radix_key.hpp>

HIDP_NAMESPACE_BEGIN

// The bits of a float. CUB takes -0.0 and 0.0 of a type that it knows as floating-point for equal, while in the total order the
// negative one goes first; so it is told of a type of its own and how to bring that in order, as it does for floats.
template <class Bits>
struct BitsOfFloat {
  Bits bits;
};

template <class Bits>
struct TotalOrder {
  using UnsignedBits = Bits;
  static constexpr Bits HIGH_BIT = Bits{1} << (8 * sizeof(Bits) - 1);
  static constexpr Bits LOWEST_KEY = ~Bits{0};
  static constexpr Bits MAX_KEY = LOWEST_KEY ^ HIGH_BIT;
  static constexpr bool is_primitive = true;
  static HIDP_INLINE Bits TwiddleIn(Bits key) { return key ^ ((key & HIGH_BIT) != 0 ? ~Bits{0} : HIGH_BIT); }
  static HIDP_INLINE Bits TwiddleOut(Bits key) { return key ^ ((key & HIGH_BIT) != 0 ? HIGH_BIT : ~Bits{0}); }
};

HIDP_NAMESPACE_END

CUB_NAMESPACE_BEGIN
template <>
struct NumericTraits<hidp::BitsOfFloat<unsigned>> : hidp::TotalOrder<unsigned> {};
template <>
struct NumericTraits<hidp::BitsOfFloat<unsigned long long>> : hidp::TotalOrder<unsigned long long> {};
CUB_NAMESPACE_END

HIDP_NAMESPACE_BEGIN

// What CUB is told a key is.
template <class K>
using CubKey = std::conditional_t<std::is_same_v<K, float>, BitsOfFloat<unsigned>,
                                  std::conditional_t<std::is_same_v<K, double>, BitsOfFloat<unsigned long long>, K>>;

template <class K>
inline CubKey<K> *for_cub(K *keys) {
  return reinterpret_cast<CubKey<K> *>(keys);
}
template <class K>
inline const CubKey<K> *for_cub(const K *keys) {
  return reinterpret_cast<const CubKey<K> *>(keys);
}

// call(scratch, bytes) is made twice: without scratch memory it says how much it wants.
template <class Call>
inline bool with_scratch(Host &host, uint32_t memory, const Call &call) {
  size_t bytes = 0;
  if (host.failed() || !host.went_well(taken(call(nullptr, bytes)))) return false;
  const Any<char> scratch = host.alloc<char>(static_cast<int64_t>(bytes), false, memory);
  if (host.failed()) return false;
  const bool done = host.went_well(taken(call(address_of(scratch), bytes)));
  host.free(scratch);
  return done;
}

template <class K>
inline bool radix_sort_by_cub(Host &host, uint32_t memory, const K *in, K *out, int64_t n, bool descending) {
  const cudaStream_t stream = static_cast<cudaStream_t>(host.stream());
  if (in != out) {
    const auto *from = for_cub(in);
    auto *to = for_cub(out);
    return with_scratch(host, memory, [&](void *scratch, size_t &bytes) {
      if (descending) return cub::DeviceRadixSort::SortKeysDescending(scratch, bytes, from, to, n, 0, 8 * int{sizeof(K)}, stream);
      return cub::DeviceRadixSort::SortKeys(scratch, bytes, from, to, n, 0, 8 * int{sizeof(K)}, stream);
    });
  }
  const Any<K> other = host.alloc<K>(n, false, memory);
  if (host.failed()) return false;
  cub::DoubleBuffer<CubKey<K>> keys(for_cub(out), for_cub(other));
  const bool done = with_scratch(host, memory, [&](void *scratch, size_t &bytes) {
    if (descending) return cub::DeviceRadixSort::SortKeysDescending(scratch, bytes, keys, n, 0, 8 * int{sizeof(K)}, stream);
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, keys, n, 0, 8 * int{sizeof(K)}, stream);
  });
  if (done && keys.Current() != for_cub(out)) kernel_copy(host, other, out, n);
  host.free(other);
  return done && !host.failed();
}

// Keys and values may alias on their own: what is sorted in place goes through copies.
template <class K, class V>
inline bool radix_sort_by_cub(Host &host, uint32_t memory, const K *in_key, K *out_key, const V *in_val, V *out_val, int64_t n, bool descending) {
  const cudaStream_t stream = static_cast<cudaStream_t>(host.stream());
  K *copied_keys = nullptr;
  V *copied_vals = nullptr;
  if (in_key == out_key) copied_keys = host.alloc<K>(n, false, memory);
  if (in_val == out_val) copied_vals = host.alloc<V>(n, false, memory);
  if (host.failed()) return false;
  if (copied_keys != nullptr) kernel_copy(host, in_key, copied_keys, n);
  if (copied_vals != nullptr) kernel_copy(host, in_val, copied_vals, n);
  const auto *from = for_cub(copied_keys != nullptr ? static_cast<const K *>(copied_keys) : in_key);
  const V *from_val = copied_vals != nullptr ? copied_vals : in_val;
  auto *to = for_cub(out_key);
  const bool done = with_scratch(host, memory, [&](void *scratch, size_t &bytes) {
    if (descending)
      return cub::DeviceRadixSort::SortPairsDescending(scratch, bytes, from, to, from_val, out_val, n, 0, 8 * int{sizeof(K)}, stream);
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, from, to, from_val, out_val, n, 0, 8 * int{sizeof(K)}, stream);
  });
  if (copied_vals != nullptr) host.free(copied_vals);
  if (copied_keys != nullptr) host.free(copied_keys);
  return done;
}

HIDP_NAMESPACE_END
