// Rows of an array, one per lane, whose elements in the same column become neighbours.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/across.hpp>
#include <hidp/lanes.hpp>

HIDP_NAMESPACE_BEGIN

// Rows that have a vector at least, of all lanes. Not inline: the loops around it have no registers to spare.
template <class W, class T>
__attribute__((noinline)) void pack_blocks(W *tile, const T *from, int64_t length) {
  constexpr int64_t kRows = kAcrossRows<T>, kColumns = kAcrossColumns<T>;
  int64_t starts[kRows];
  for (int64_t row = 0; row < W::kLanes; row += kRows) {
    for (int64_t column = 0;;) {
      for (int64_t at = 0; at < kRows; ++at) starts[at] = (row + at) * length + column;
      turn_block(reinterpret_cast<T *>(tile + column) + row, W::kLanes, from, starts);
      if (column + kColumns >= length) break;
      // The last columns are once more a whole block.
      column = column + 2 * kColumns <= length ? column + kColumns : length - kColumns;
    }
  }
}
// Copies the `length` elements of each lane's row to a vector per column; rows are `length` apart, the first lane's is at `from`. Lanes that
// are not in the mask read nothing.
template <class T, int B, int G>
HIDP_INLINE void wide_pack(Wide<T, B, G> *tile, const Mask<B, G> &mask, const T *from, int64_t length) {
  if constexpr (!std::is_same_v<T, bool> && Wide<T, B, G>::kLanes % kAcrossRows<T> == 0) {
    if (length >= kAcrossColumns<T> && wide_all(mask)) return pack_blocks(tile, from, length);
  }
  for (int64_t at = 0; at < length; ++at) tile[at] = wide_load_every(mask, from + at, length);
}

HIDP_NAMESPACE_END
