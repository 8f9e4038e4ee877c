// simd_scan: one worker scans one segment, lanes inside.
//
// Called by: a worker. Run by: that worker alone, in vector lanes for built-in operators on 4- and 8-byte types, in order
// otherwise. Result: in out; returns the fold of the carry and the whole segment. Scratch: none. in and out are equal or do not
// overlap.
//
// Within a vector prefixes form in log2(lanes) steps (Hillis and Steele, Data Parallel Algorithms, CACM 29, 1986).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>
#include <utility>

#include <hidp/abi.hpp>
#include <hidp/cast.hpp>
#include <hidp/prim/lane_ops.hpp>
#include <hidp/prim/vector.hpp>

HIDP_NAMESPACE_BEGIN

template <class T, class Op>
inline constexpr bool kScansInLanes = LaneOp<Op>::exists && sizeof(T) >= 4;

// Lane i of the result is lane i - Distance of `vector`, and lane i of `filler` where there is none.
template <int Distance, class T, size_t... Lane>
HIDP_INLINE Vector<T> shift_lanes(Vector<T> filler, Vector<T> vector, std::index_sequence<Lane...>) {
#if defined(__clang__)
  return __builtin_shufflevector(filler, vector, (Lane >= Distance ? sizeof...(Lane) + Lane - Distance : Lane)...);
#else
  using Index = typename VectorOf<std::conditional_t<sizeof(T) == 8, int64_t, int32_t>>::type;
  return __builtin_shuffle(filler, vector, Index{(Lane >= Distance ? sizeof...(Lane) + Lane - Distance : Lane)...});
#endif
}
template <int Distance, class T>
HIDP_INLINE Vector<T> shift_lanes(Vector<T> filler, Vector<T> vector) {
  return shift_lanes<Distance, T>(filler, vector, std::make_index_sequence<kLanes<T>>());
}

template <class T, class Op, int Distance = 1>
HIDP_INLINE Vector<T> prefixes_in_vector(Vector<T> vector) {
  if constexpr (Distance < kLanes<T>) {
    const Vector<T> shifted = shift_lanes<Distance, T>(broadcast(Op::neutral()), vector);
    return prefixes_in_vector<T, Op, 2 * Distance>(LaneOp<Op>::apply(shifted, vector));
  } else {
    return vector;
  }
}

// The last lane in every lane.
template <class T, size_t... Lane>
HIDP_INLINE Vector<T> broadcast_last(Vector<T> vector, std::index_sequence<Lane...>) {
#if defined(__clang__)
  return __builtin_shufflevector(vector, vector, (Lane * 0 + sizeof...(Lane) - 1)...);
#else
  using Index = typename VectorOf<std::conditional_t<sizeof(T) == 8, int64_t, int32_t>>::type;
  return __builtin_shuffle(vector, Index{(Lane * 0 + sizeof...(Lane) - 1)...});
#endif
}

// Inclusive, from whole vectors; gives the new carry.
template <class T, class Op>
HIDP_KERNEL T scan_vectors(const T *in, T *out, int64_t n, T carry, bool exclusive) {
  constexpr int lanes = kLanes<T>;
  Vector<T> before = broadcast(carry);
  for (int64_t i = 0; i < n; i += lanes) {
    const Vector<T> within = prefixes_in_vector<T, Op>(load_vector(in + i));
    const Vector<T> inclusive = LaneOp<Op>::apply(before, within);
    store_vector(out + i, exclusive ? shift_lanes<1, T>(before, inclusive) : inclusive);
    before = LaneOp<Op>::apply(before, broadcast_last<T>(within, std::make_index_sequence<lanes>()));
  }
  return before[0];
}

// out[i] = carry op in[0] op … op in[i], or without in[i] if exclusive.
template <class T, class Op, class In>
HIDP_KERNEL T scan_in_order(const Op &op, const In *in, T *out, int64_t n, T carry, bool exclusive) {
  for (int64_t i = 0; i < n; ++i) {
    const T sum = op(carry, cast<T>(in[i]));
    out[i] = exclusive ? carry : sum;
    carry = sum;
  }
  return carry;
}

template <class T, class Op, class In>
inline T simd_scan(const Op &op, const In *in, T *out, int64_t n, T carry, bool exclusive) {
  if constexpr (kScansInLanes<T, Op> && std::is_same_v<T, In>) {
    const int64_t whole = n / kLanes<T> * kLanes<T>;
    carry = exclusive ? scan_vectors<T, Op>(in, out, whole, carry, true) : scan_vectors<T, Op>(in, out, whole, carry, false);
    return scan_in_order<T>(op, in + whole, out + whole, n - whole, carry, exclusive);
  } else {
    return scan_in_order<T>(op, in, out, n, carry, exclusive);
  }
}

// Without a carry: inclusive only, n > 0. For operators that have no neutral element.
template <class T, class Op, class In>
inline T simd_scan_first(const Op &op, const In *in, T *out, int64_t n) {
  const T first = cast<T>(in[0]);
  out[0] = first;
  return simd_scan<T>(op, in + 1, out + 1, n - 1, first, false);
}

HIDP_NAMESPACE_END
