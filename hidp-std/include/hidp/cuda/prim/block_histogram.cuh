// block_histogram: a block folds values into bins of its own, which it then folds into those of all.
//
// Called by: all threads of a block, with the same arguments. Run by: these. Result: in bins, combined with what they held, when
// all blocks have ended. Shared memory: `Bins` elements. Keys are known to lie in [0, bin_count), bin_count <= Bins. Only for
// operators and types for which any order gives the same bits: integers under built-in operators, of 4 or 8 bytes.
//
// Blocks come in any number: each takes the elements of its part.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/rows.cuh>
#include <hidp/cuda/update.cuh>

HIDP_NAMESPACE_BEGIN

template <class T, class Op, int Bins, class W, class Keys, class Values, class Out>
HIDP_DEVICE void block_histogram(W &worker, Keys keys, Values values, Out bins, int64_t n, int64_t bin_count) {
  const Op op(worker.trap);
  const int64_t thread = lane<Block>(worker);
  HIDP_SHARED(T, own, Bins);
  sync<Block>(worker);
  for (int64_t bin = thread; bin < bin_count; bin += kWidth<Block, W>) store(own + bin, Op::neutral());
  sync<Block>(worker);
  for (int64_t i = thread; i < n; i += kWidth<Block, W>) fold_into(op, own + static_cast<int64_t>(load(keys + i)), cast<T>(load(values + i)));
  sync<Block>(worker);
  for (int64_t bin = thread; bin < bin_count; bin += kWidth<Block, W>) {
    const T value = load(own + bin);
    if (value != Op::neutral()) fold_into(op, bins + bin, value);
  }
}

HIDP_NAMESPACE_END
