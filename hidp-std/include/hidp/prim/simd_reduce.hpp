// simd_reduce: one worker folds one segment, lanes inside.
//
// Called by: a worker. Run by: that worker alone, in vector lanes where the operator is built in, in order otherwise.
// Result: returned. Scratch: none. The segment must not be empty: callers know the neutral element, or report the fault.
//
// The tree is fixed by the length alone: blocks of kFoldBlock elements, in lanes; blocks combine pairwise. For sums of n floats
// the error grows with log n rather than n (Higham, The accuracy of floating point summation, SIAM J. Sci. Comput. 14, 1993).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>
#include <utility>

#include <hidp/abi.hpp>
#include <hidp/cast.hpp>
#include <hidp/ops.hpp>
#include <hidp/prim/lane_ops.hpp>
#include <hidp/prim/radix_key.hpp>
#include <hidp/prim/vector.hpp>

HIDP_NAMESPACE_BEGIN

constexpr int64_t kFoldBlock = 4096;

// Combines results of consecutive blocks pairwise, like carries of a binary counter.
template <class T>
class PairwiseFold {
 public:
  template <class Op>
  HIDP_INLINE void push(const Op &op, T value) {
    for (uint64_t carry = count_; carry & 1; carry >>= 1) value = op(levels_[--used_], value);
    levels_[used_++] = value;
    ++count_;
  }
  template <class Op>
  T finish(const Op &op) {
    T value = levels_[--used_];
    while (used_ > 0) value = op(levels_[--used_], value);
    return value;
  }

 private:
  T levels_[64];
  int used_ = 0;
  uint64_t count_ = 0;
};

template <class T, class In, class Op>
inline T fold_in_order(const Op &op, const In *in, int64_t n) {
  T sum = cast<T>(in[0]);
  for (int64_t i = 1; i < n; ++i) sum = op(sum, cast<T>(in[i]));
  return sum;
}

// Every lane's neighbour `Width` lanes further on.
template <int Width, class T, size_t... Lane>
HIDP_INLINE Vector<T> rotate_lanes(Vector<T> vector, std::index_sequence<Lane...>) {
#if defined(__clang__)
  return __builtin_shufflevector(vector, vector, ((Lane + Width) % sizeof...(Lane))...);
#else
  using Index = typename VectorOf<std::make_signed_t<typename UnsignedOf<sizeof(T)>::type>>::type;
  return __builtin_shuffle(vector, Index{((Lane + Width) % sizeof...(Lane))...});
#endif
}

// The lanes of a vector, halves on halves.
template <class T, int Width = kLanes<T> / 2, class Op>
HIDP_INLINE T fold_lanes(const Op &op, Vector<T> vector) {
  if constexpr (Width == 0) {
    return vector[0];
  } else {
    const Vector<T> other = rotate_lanes<Width, T>(vector, std::make_index_sequence<kLanes<T>>());
    return fold_lanes<T, Width / 2>(op, LaneOp<Op>::apply(vector, other));
  }
}

// The folds of the lanes of as many vectors as there are lanes, each by the tree of fold_lanes: halves of two vectors share one.
template <class T, size_t Group, bool High, size_t... Lane>
HIDP_INLINE Vector<T> gather_halves(Vector<T> a, Vector<T> b, std::index_sequence<Lane...>) {
  constexpr size_t half = Group / 2;
#if defined(__clang__)
  return __builtin_shufflevector(a, b, static_cast<int>(Lane / half * Group + Lane % half + (High ? half : 0))...);
#else
  using Index = typename VectorOf<std::make_signed_t<typename UnsignedOf<sizeof(T)>::type>>::type;
  return __builtin_shuffle(a, b, Index{static_cast<std::make_signed_t<typename UnsignedOf<sizeof(T)>::type>>(Lane / half * Group + Lane % half + (High ? half : 0))...});
#endif
}
template <class T, class Op, size_t Count, size_t... Pair>
HIDP_INLINE Vector<T> fold_each(Vector<T> *vectors, std::index_sequence<Pair...>) {
  constexpr auto lanes = std::make_index_sequence<kLanes<T>>();
  ((vectors[Pair] = LaneOp<Op>::apply(gather_halves<T, Count, false>(vectors[2 * Pair], vectors[2 * Pair + 1], lanes),
                                      gather_halves<T, Count, true>(vectors[2 * Pair], vectors[2 * Pair + 1], lanes))),
   ...);
  if constexpr (Count == 2) return vectors[0];
  else return fold_each<T, Op, Count / 2>(vectors, std::make_index_sequence<Count / 4>());
}
template <class T, class Op>
HIDP_INLINE Vector<T> fold_each(Vector<T> *vectors) {
  return fold_each<T, Op, kLanes<T>>(vectors, std::make_index_sequence<kLanes<T> / 2>());
}

// n is a multiple of the lanes and not 0.
template <class T, class Op>
HIDP_INLINE Vector<T> fold_few_vectors(const T *in, int64_t n) {
  Vector<T> sum = load_vector(in);
  for (int64_t i = kLanes<T>; i < n; i += kLanes<T>) sum = LaneOp<Op>::apply(sum, load_vector(in + i));
  return sum;
}

// n is a multiple of four vectors' lanes and not 0.
template <class T, class Op>
HIDP_INLINE Vector<T> fold_four_vectors(const T *in, int64_t n) {
  using Lane = LaneOp<Op>;
  constexpr int64_t lanes = kLanes<T>;
  Vector<T> a = load_vector(in), b = load_vector(in + lanes), c = load_vector(in + 2 * lanes), d = load_vector(in + 3 * lanes);
  for (int64_t i = 4 * lanes; i < n; i += 4 * lanes) {
    a = Lane::apply(a, load_vector(in + i));
    b = Lane::apply(b, load_vector(in + i + lanes));
    c = Lane::apply(c, load_vector(in + i + 2 * lanes));
    d = Lane::apply(d, load_vector(in + i + 3 * lanes));
  }
  return Lane::apply(Lane::apply(a, b), Lane::apply(c, d));
}

// n is a multiple of the lanes and not 0.
template <class T, class Op>
HIDP_INLINE Vector<T> fold_vectors(const T *in, int64_t n) {
  return n % (4 * kLanes<T>) == 0 ? fold_four_vectors<T, Op>(in, n) : fold_few_vectors<T, Op>(in, n);
}

// What changes no fold of a segment that begins with `first`, not even the sign of its zero.
template <class T, class Op>
HIDP_INLINE T unchanging(T first) {
  if constexpr (std::is_same_v<Op, Min<T>> || std::is_same_v<Op, Max<T>>) return first;
  else if constexpr (std::is_same_v<Op, Add<T>> && std::is_floating_point_v<T>) return -T{0};
  else return Op::neutral();
}

// Vectors that are folded without a look at how many of them there are.
constexpr int64_t kFewVectors = 4;
// Whether elements behind a segment, up to kFewVectors vectors, are there to be read.
enum class Behind { unknown, there };

template <Behind behind, class T>
HIDP_INLINE Vector<T> part_of_segment(const T *in, int64_t n, T other) {
  if constexpr (behind == Behind::there) return load_whole_part(in, n, other);
  else return load_part(in, n, other);
}

// Folds a segment of at most so many vectors to one, lane by lane; 0 < n.
template <class T, class Op, int64_t Vectors, Behind behind>
HIDP_INLINE Vector<T> fold_parts(const T *in, int64_t n) {
  constexpr int64_t lanes = kLanes<T>;
  const T other = unchanging<T, Op>(in[0]);
  Vector<T> sum = part_of_segment<behind>(in, n, other);
#pragma GCC unroll 4
  for (int64_t at = lanes; at < Vectors * lanes; at += lanes) sum = LaneOp<Op>::apply(sum, part_of_segment<behind>(in + at, n - at, other));
  return sum;
}

// Folds a segment to one vector, lane by lane; 0 < n.
template <class T, class Op, Behind behind>
HIDP_INLINE Vector<T> fold_to_vector(const T *in, int64_t n) {
  constexpr int64_t lanes = kLanes<T>;
  if (n < kFewVectors * lanes) return fold_parts<T, Op, kFewVectors, behind>(in, n);
  const int64_t whole = n / lanes * lanes;
  const Vector<T> sum = fold_vectors<T, Op>(in, whole);
  return LaneOp<Op>::apply(sum, part_of_segment<behind>(in + whole, n - whole, unchanging<T, Op>(in[0])));
}

template <class T, class In, class Op>
inline T fold_block(const Op &op, const In *in, int64_t n) {
  if constexpr (LaneOp<Op>::exists && std::is_same_v<T, In>) {
    constexpr int64_t lanes = kLanes<T>;
    if constexpr (kLoadsParts<T>) return fold_lanes<T>(op, fold_to_vector<T, Op, Behind::unknown>(in, n));
    if (n < lanes) return fold_in_order<T>(op, in, n);
    const int64_t whole = n / lanes * lanes;
    T sum = fold_lanes<T>(op, fold_vectors<T, Op>(in, whole));
    for (int64_t i = whole; i < n; ++i) sum = op(sum, in[i]);
    return sum;
  } else {
    return fold_in_order<T>(op, in, n);
  }
}

template <class T, class In, class Op>
HIDP_KERNEL T fold_blocks(const Op &op, const In *in, int64_t n) {
  PairwiseFold<T> blocks;
  for (int64_t at = 0; at < n; at += kFoldBlock)
    blocks.push(op, fold_block<T>(op, in + at, n - at < kFoldBlock ? n - at : kFoldBlock));
  return blocks.finish(op);
}

// Folds in[0, n) in type T; n > 0.
template <class T, class In, class Op>
inline T simd_reduce(const Op &op, const In *in, int64_t n) {
  return n <= kFoldBlock ? fold_block<T>(op, in, n) : fold_blocks<T>(op, in, n);
}

// Whether as many segments as a vector has lanes can share the end of their folds.
template <class T, class In, class Op>
constexpr bool folds_together() {
  if constexpr (LaneOp<Op>::exists && std::is_same_v<T, In>) return kLoadsParts<T>;
  else return false;
}

// Folds as many segments as a vector has lanes, each as simd_reduce does. Segment i has length(i) elements from low(i) on, at most Vectors
// vectors; 0 stands for any number up to a block. Behind each are kFewVectors vectors. For an empty one it gives anything.
template <class T, class Op, int64_t Vectors, class Low, class Length>
HIDP_INLINE void simd_reduce_together(const T *in, T *out, const Low &low, const Length &length) {
  Vector<T> folds[kLanes<T>];
#pragma GCC unroll 4
  for (int64_t i = 0; i < kLanes<T>; ++i) {
    if constexpr (Vectors == 0) folds[i] = fold_to_vector<T, Op, Behind::there>(in + low(i), length(i));
    else folds[i] = fold_parts<T, Op, Vectors, Behind::there>(in + low(i), length(i));
  }
  store_vector(out, fold_each<T, Op>(folds));
}

// The same for segments of exactly so many vectors.
template <class T, class Op, int64_t Vectors, class Low>
HIDP_INLINE void simd_reduce_vectors(const T *in, T *out, const Low &low) {
  Vector<T> folds[kLanes<T>];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kLanes<T>; ++i) {
    const T *const from = in + low(i);
    folds[i] = load_vector(from);
    for (int64_t at = kLanes<T>; at < Vectors * kLanes<T>; at += kLanes<T>) folds[i] = LaneOp<Op>::apply(folds[i], load_vector(from + at));
  }
  store_vector(out, fold_each<T, Op>(folds));
}

HIDP_NAMESPACE_END
