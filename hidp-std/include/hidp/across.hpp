// Rows that are stored across an array: what one iteration copies in order goes to places a row apart, and beside those of the next
// iteration. Blocks of rows are turned in registers, so that both sides are vectors.
#pragma once

#include <stdint.h>

#include <utility>

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

// What one iteration copies.
struct Columns {
  int64_t first, past;
};

// A block has as many rows as 16 bytes have elements, and columns for a vector. Wider ones would take instructions that fewer units have.
#if defined(__AVX2__)
constexpr int kAcrossBytes = 32;
#else
constexpr int kAcrossBytes = 16;
#endif
template <class T>
constexpr int kAcrossRows = 16 / static_cast<int>(sizeof(T));
template <class T>
constexpr int kAcrossColumns = kAcrossBytes / static_cast<int>(sizeof(T));

template <class T>
struct AcrossVector {
  typedef T type __attribute__((vector_size(kAcrossBytes)));
};

// The elements of two vectors in turns: of the first halves of each 16 bytes, or of the second ones.
template <class T, bool second, int... at>
HIDP_INLINE typename AcrossVector<T>::type interleaved(typename AcrossVector<T>::type a, typename AcrossVector<T>::type b,
                                                       std::integer_sequence<int, at...>) {
  constexpr int kEach = kAcrossRows<T>, kAll = kAcrossColumns<T>;
#if defined(__clang__)
  return __builtin_shufflevector(a, b, (at % 2 * kAll + at / kEach * kEach + at % kEach / 2 + second * kEach / 2)...);
#else
  typedef typename AcrossVector<T>::type Vector;
  return __builtin_shuffle(a, b, Vector{T(at % 2 * kAll + at / kEach * kEach + at % kEach / 2 + second * kEach / 2)...});
#endif
}

// Copies a vector of each row, the one at `starts`; columns are `stride` apart at `to`. A function of its own: in a loop over columns,
// compilers would compute all addresses before it, and have no registers for them.
template <class T>
__attribute__((noinline)) void turn_block(T *__restrict to, int64_t stride, const T *__restrict from, const int64_t *starts) {
  typedef typename AcrossVector<T>::type Vector;
  constexpr int kRows = kAcrossRows<T>, kColumns = kAcrossColumns<T>;
  constexpr std::make_integer_sequence<int, kColumns> kAll{};
  Vector block[kRows], turned[kRows];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) __builtin_memcpy(&block[row], from + starts[row], sizeof(Vector));
  Vector *now = block, *next = turned;
#pragma GCC unroll 4
  for (int size = 1; size < kRows; size *= 2) {
#pragma GCC unroll 8
    for (int row = 0; row < kRows / 2; ++row) {
      next[2 * row] = interleaved<T, false>(now[row], now[row + kRows / 2], kAll);
      next[2 * row + 1] = interleaved<T, true>(now[row], now[row + kRows / 2], kAll);
    }
    Vector *const before = now;
    now = next, next = before;
  }
  // Each 16 bytes hold a column; columns of the same vector are kRows apart.
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int part = 0; part < kColumns / kRows; ++part) {
      __builtin_memcpy(to + (row + part * kRows) * stride, reinterpret_cast<const char *>(&now[row]) + 16 * part, 16);
    }
  }
}

// The iterations in [first, past): each copies its `columns` from where `source` says to where `target` does, for an iteration and a
// column. In order of columns the source moves by one, and the target by as much for all; in order of iterations the target moves by
// one. Nothing that is read is written.
template <class T, class Range, class Source, class Target>
inline void across(T *__restrict to, const T *__restrict from, int64_t first, int64_t past, Range columns, Source source,
                   Target target) {
  constexpr int64_t kRows = kAcrossRows<T>, kColumns = kAcrossColumns<T>;
  int64_t starts[kRows];
  const auto turn = [&](int64_t at, Columns all, int64_t stride) {
    for (int64_t column = all.first;;) {
      turn_block(to + target(at, column), stride, from, starts);
      if (column + kColumns >= all.past) return;
      // The last columns are once more a whole block.
      const int64_t next = column + 2 * kColumns <= all.past ? column + kColumns : all.past - kColumns;
      for (int64_t row = 0; row < kRows; ++row) starts[row] += next - column;
      column = next;
    }
  };
  for (int64_t at = first; at < past;) {
    const Columns all = columns(at);
    const auto is_same = [&](Columns other) { return other.first == all.first && other.past == all.past; };
    const int64_t count = all.past - all.first, begin = at;
    const int64_t stride = count < kColumns ? 0 : target(at, all.first + 1) - target(at, all.first);
    if (stride < kRows) {
      for (int64_t column = all.first; column < all.past; ++column) to[target(at, column)] = from[source(at, column)];
      ++at;
      continue;
    }
    // Blocks of rows with the same columns.
    int64_t waiting = 0;
    for (; at < past && is_same(columns(at)); ++at) {
      starts[waiting++] = source(at, all.first);
      if (waiting == kRows) {
        turn(at - (kRows - 1), all, stride);
        waiting = 0;
      }
    }
    if (waiting > 0 && at - begin >= kRows) {
      // The last rows are once more a whole block.
      for (int64_t row = 0; row < kRows; ++row) starts[row] = source(at - kRows + row, all.first);
      turn(at - kRows, all, stride);
    } else {
      for (int64_t row = at - waiting; row < at; ++row) {
        for (int64_t column = all.first; column < all.past; ++column) to[target(row, column)] = from[source(row, column)];
      }
    }
  }
}

HIDP_NAMESPACE_END
