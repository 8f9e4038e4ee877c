// block_last: whether a block's item is the last one of its launch, of so many, for which this is called.
//
// Called by: all threads of a block, with the same arguments, once for each item. Run by: these. Result: 1 or 0 in *last of every lane; where it is
// 1, all lanes see what the first lane of each other block stored before it called. The ticket is 0 before the first item and after the last one.
#pragma once

#include <stdint.h>

#include <hidp/cuda/core.cuh>

HIDP_NAMESPACE_BEGIN

template <class W, class P>
HIDP_DEVICE void block_last(W &worker, P ticket, int64_t items, int64_t *last) {
  uint32_t is_last = 0;
  if (is_first<Block>(worker)) {
    fence();
    is_last = fetch_add(ticket, 1u) + 1 == static_cast<uint32_t>(items) ? 1 : 0;
    if (is_last != 0) {
      store_relaxed(ticket, 0u);
      fence();
    }
  }
  *last = broadcast<Block>(worker, is_last);
}

HIDP_NAMESPACE_END
