// Which level of the device a segment gets, by its length. Tunables.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>

HIDP_NAMESPACE_BEGIN

// The most elements of a segment for one thread, for the 8 lanes of a sub-warp, for a warp.
constexpr int64_t kThreadSegment = 8;
constexpr int64_t kSubwarpSegment = 64;
constexpr int64_t kWarpSegment = 1024;
// A block takes a segment of up to this many elements, or of up to a fair share of all: so a block never has much more to do than
// the others together. What is longer gets the whole device: there are fewer than kFairShares of those.
constexpr int64_t kBlockSegment = int64_t{1} << 16;
constexpr int64_t kFairShares = 256;

enum SegmentBin : int { kThreadBin, kSubwarpBin, kWarpBin, kBlockBin, kGiantBin, kBins };

struct BinLimits {
  int64_t block;

  static BinLimits of(int64_t elements) {
    const int64_t share = elements / kFairShares;
    return BinLimits{share > kBlockSegment ? share : kBlockSegment};
  }
  HIDP_INLINE int bin(int64_t length) const {
    return length <= kThreadSegment    ? kThreadBin
           : length <= kSubwarpSegment ? kSubwarpBin
           : length <= kWarpSegment    ? kWarpBin
           : length <= block           ? kBlockBin
                                       : kGiantBin;
  }
};

HIDP_NAMESPACE_END
