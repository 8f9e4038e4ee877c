// sort_network: a group up to a warp sorts what its lanes have in registers.
//
// Called by: all lanes of the group, which are a power of two, each with `Rows` images, also a power of two. Run by: these. Result:
// in the same registers, lane after lane: place p is in row p % Rows of lane p / Rows. Equal images have to be the same. Shared
// memory: none.
//
// Batcher's bitonic network, with all comparisons in one direction (Batcher, Sorting Networks and their Applications, AFIPS 1968).
// Neighbours are in one lane, so most steps are two instructions an element and exchange nothing.
#pragma once

#include <stdint.h>

#include <hidp/cuda/prim/rows.cuh>
#include <hidp/prim/radix_key.hpp>

HIDP_NAMESPACE_BEGIN

// A key's image and its number, where the image alone has no place for both. Of equal keys that of the lower number goes first.
struct NumberedWord {
  uint64_t word;
  uint32_t number;
};
HIDP_DEVICE bool goes_first(uint32_t a, uint32_t b) { return a < b; }
HIDP_DEVICE bool goes_first(uint64_t a, uint64_t b) { return a < b; }
HIDP_DEVICE bool goes_first(const NumberedWord &a, const NumberedWord &b) {
  return a.word < b.word || (a.word == b.word && a.number < b.number);
}

template <class Image>
HIDP_DEVICE void bring_in_order(Image &a, Image &b) {
  const bool turn = goes_first(b, a);
  const Image first = turn ? b : a, second = turn ? a : b;
  a = first;
  b = second;
}

// What a lane keeps of its own and another's: the first one, or the one that goes last.
template <class Image>
HIDP_DEVICE Image kept(const Image &own, const Image &other, bool last) {
  return goes_first(other, own) != last ? other : own;
}

// Rows that are `apart`, and again half as far, are brought in order.
template <int Rows, class Image>
HIDP_DEVICE void merge_rows(Image (&image)[Rows], int widest) {
  HIDP_UNROLL_ALL
  for (int apart = widest; apart > 0; apart /= 2) {
    HIDP_UNROLL_ALL
    for (int row = 0; row < Rows; ++row)
      if ((row & apart) == 0) bring_in_order(image[row], image[row + apart]);
  }
}

template <int Rows, class Image>
HIDP_DEVICE void sort_rows(Image (&image)[Rows]) {
  HIDP_UNROLL_ALL
  for (int size = 2; size <= Rows; size *= 2) {
    // Of two sorted halves the second one is met from its end.
    HIDP_UNROLL_ALL
    for (int row = 0; row < Rows; ++row)
      if ((row & (size / 2)) == 0) bring_in_order(image[row], image[row ^ (size - 1)]);
    merge_rows(image, size / 4);
  }
}

template <class Group, int Rows, class Image, class W>
HIDP_DEVICE void sort_network(W &worker, Image (&image)[Rows]) {
  constexpr uint32_t width = kWidth<Group, W>;
  const uint32_t own = lane<Group>(worker);
  sort_rows(image);
#pragma unroll 1
  for (uint32_t lanes = 2; lanes <= width; lanes *= 2) {
    const bool upper = (own & (lanes / 2)) != 0;
    HIDP_UNROLL_ALL
    for (int row = 0; row < (Rows + 1) / 2; ++row) {
      const int turned = Rows - 1 - row;
      const Image a = shuffle_xor<Group>(worker, image[turned], lanes - 1);
      if (turned != row) {
        const Image b = shuffle_xor<Group>(worker, image[row], lanes - 1);
        image[turned] = kept(image[turned], b, upper);
      }
      image[row] = kept(image[row], a, upper);
    }
#pragma unroll 1
    for (uint32_t apart = lanes / 4; apart > 0; apart /= 2) {
      const bool is_last = (own & apart) != 0;
      HIDP_UNROLL_ALL
      for (int row = 0; row < Rows; ++row) image[row] = kept(image[row], shuffle_xor<Group>(worker, image[row], apart), is_last);
    }
    merge_rows(image, Rows / 2);
  }
}

// How many bits of a place's row and lane change sides, so that lanes side by side have places side by side. Where lanes have only a
// few places that costs more than it saves.
template <class Group, int Rows, class W>
inline constexpr int kTurnedBy = Rows < 8 ? 1 : Rows < kWidth<Group, W> ? Rows : kWidth<Group, W>;

// Rows and lanes change sides; afterwards turned_place() says which place a lane has in a row.
template <class Group, int Rows, class Image, class W>
HIDP_DEVICE void turn_rows(W &worker, Image (&image)[Rows]) {
  const uint32_t own = lane<Group>(worker);
  HIDP_UNROLL_ALL
  for (int bit = 1; bit < kTurnedBy<Group, Rows, W>; bit *= 2) {
    const bool upper = (own & static_cast<uint32_t>(bit)) != 0;
    HIDP_UNROLL_ALL
    for (int row = 0; row < Rows; ++row) {
      if ((row & bit) != 0) continue;
      // Values, not places: a choice between places would put them all into memory.
      const Image first = image[row], second = image[row + bit];
      const Image given = upper ? first : second;
      const Image other = shuffle_xor<Group>(worker, given, static_cast<uint32_t>(bit));
      image[row] = upper ? other : first;
      image[row + bit] = upper ? second : other;
    }
  }
}
template <class Group, int Rows, class W>
HIDP_DEVICE int turned_place(const W &worker, int row) {
  constexpr int low = kTurnedBy<Group, Rows, W> - 1;
  const int own = static_cast<int>(lane<Group>(worker));
  return ((own & ~low) | (row & low)) * Rows + ((row & ~low) | (own & low));
}

HIDP_NAMESPACE_END
