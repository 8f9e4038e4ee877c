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

// Rows that are taken one block after the other: of wider elements those that fill a cache line at the target, which is further from the next one.
template <class T>
constexpr int kAcrossAtOnce = kAcrossRows<T> * (sizeof(T) < 4 ? 1 : 4);

// Columns that all rows copy before others: each has a page of its own at the target, of which a processor knows some hundreds.
constexpr int64_t kAcrossStrip = 256;

// Vectors of integers, whatever the elements are: shuffles number them.
template <int bytes>
struct AcrossNumber;
template <>
struct AcrossNumber<1> {
  typedef int8_t type;
};
template <>
struct AcrossNumber<2> {
  typedef int16_t type;
};
template <>
struct AcrossNumber<4> {
  typedef int32_t type;
};
template <>
struct AcrossNumber<8> {
  typedef int64_t type;
};
template <class T>
struct AcrossVector {
  typedef typename AcrossNumber<sizeof(T)>::type Number;
  typedef Number type __attribute__((vector_size(kAcrossBytes)));
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
  typedef typename AcrossVector<T>::Number Number;
  return __builtin_shuffle(a, b, Vector{Number(at % 2 * kAll + at / kEach * kEach + at % kEach / 2 + second * kEach / 2)...});
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
  constexpr int64_t kRows = kAcrossAtOnce<T>, kColumns = kAcrossColumns<T>;
  int64_t starts[kRows];
  const auto turn = [&](int64_t at, Columns all, int64_t stride) {
    for (int64_t row = 0; row < kRows; ++row) starts[row] = source(at + row, all.first);
    for (int64_t column = all.first;;) {
      T *const block = to + target(at, column);
      for (int64_t row = 0; row < kRows; row += kAcrossRows<T>) turn_block(block + row, stride, from, starts + row);
      if (column + kColumns >= all.past) return;
      // The last columns are once more a whole block.
      const int64_t next = column + 2 * kColumns <= all.past ? column + kColumns : all.past - kColumns;
      for (int64_t row = 0; row < kRows; ++row) starts[row] += next - column;
      column = next;
    }
  };
  for (int64_t at = first; at < past;) {
    // Rows with the same columns.
    const Columns all = columns(at);
    int64_t end = at + 1;
    for (; end < past; ++end) {
      const Columns other = columns(end);
      if (other.first != all.first || other.past != all.past) break;
    }
    const int64_t count = all.past - all.first;
    const int64_t stride = count < kColumns ? 0 : target(at, all.first + 1) - target(at, all.first);
    if (stride < kRows || end - at < kRows) {
      for (; at < end; ++at) {
        for (int64_t column = all.first; column < all.past; ++column) to[target(at, column)] = from[source(at, column)];
      }
      continue;
    }
    for (int64_t low = all.first; low < all.past; low += kAcrossStrip) {
      // The last columns and rows are once more a whole block.
      const int64_t high = low + kAcrossStrip < all.past ? low + kAcrossStrip : all.past;
      const Columns strip = {high - low < kColumns ? high - kColumns : low, high};
      for (int64_t row = at; row < end; row += kRows) turn(row + kRows <= end ? row : end - kRows, strip, stride);
    }
    at = end;
  }
}

HIDP_NAMESPACE_END
