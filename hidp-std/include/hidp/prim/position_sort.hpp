// position_sort: one worker sorts the keys of one short segment with their values, stably, in vector lanes.
//
// Called by: a worker. Run by: that worker alone. Result: in out, valid when it returns. Scratch: n values, given by the caller,
// and two buffers on the stack. in is out, or scratch, or overlaps neither.
//
// A network sorts words of those bits of the keys that may differ, with the position below them: words of equal keys are in the
// order of their positions, so the sort is stable, and values are fetched once, from where the position says.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/prim/radix_key.hpp>
#include <hidp/prim/sort_network.hpp>
#include <hidp/prim/sort_run.hpp>
#include <hidp/prim/vector.hpp>

HIDP_NAMESPACE_BEGIN

// Whether `n` keys that may differ in their low `bits` bits fit into words W with their positions.
template <class W>
HIDP_INLINE bool positions_fit(int64_t n, int bits) {
  return n <= network_most<W>() && bits + bit_length(static_cast<uint64_t>(n - 1)) <= static_cast<int>(8 * sizeof(W));
}

// 0 < n, 0 < bits, and they fit.
template <class W, class K, class V>
HIDP_KERNEL void position_sort(SortRun<K, V> in, SortRun<K, V> out, SortRun<K, V> scratch, int64_t n, int bits, RadixWord<K> flip) {
  using U = RadixWord<K>;
  constexpr int64_t most = network_most<W>();
  static_assert(most > 0, "position_sort is for words that have networks");
  alignas(64) W words[most], sorted[most];
  const int below = bit_length(static_cast<uint64_t>(n - 1));
  const U differing = static_cast<U>(static_cast<U>(~U{0}) >> (static_cast<int>(8 * sizeof(U)) - bits));
  const U common = static_cast<U>(radix_word(in.key[0], flip) & static_cast<U>(~differing));
  for (int64_t i = 0; i < n; ++i)
    words[i] = static_cast<W>(static_cast<W>(static_cast<W>(radix_word(in.key[i], flip) & differing) << below) | static_cast<W>(i));
  const int64_t rows = (n + kLanes<W> - 1) / kLanes<W>, room = power_of_two_up(rows) * kLanes<W>;
  __builtin_memset(words + n, 0xff, static_cast<size_t>(room - n) * sizeof(W));
  sort_rows(words, sorted, rows);
  const V *from = in.val;
  if (in.val == out.val) {
    for (int64_t i = 0; i < n; ++i) scratch.val[i] = in.val[i];
    from = scratch.val;
  }
  const W positions = static_cast<W>((W{1} << below) - 1);
  for (int64_t i = 0; i < n; ++i) out.key[i] = radix_key<K>(static_cast<U>(common | static_cast<U>(sorted[i] >> below)), flip);
  for (int64_t i = 0; i < n; ++i) out.val[i] = from[sorted[i] & positions];
}

HIDP_NAMESPACE_END
