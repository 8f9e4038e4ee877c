// How a team deals keys out to places: by a digit, or by a table that a sample of the keys has filled where digits would be uneven.
//
// Called by: team_sort. Run by: one thread. Result: a plan, valid as long as its storage. Scratch: the caller's.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/prim/radix_key.hpp>

HIDP_NAMESPACE_BEGIN

// More places than that are slower to deal out to than a second time to few.
constexpr int kMostDealBits = 11;
constexpr int64_t kMostPlaces = int64_t{1} << kMostDealBits;
// A table has so many more bits of cells than of places; larger ones leave the caches.
constexpr int kCellBits = 7;
constexpr int64_t kMostCells = kMostPlaces << kCellBits;
// Keys of a sample for each place of a table.
constexpr int64_t kSampledEach = 8;
// Keys that are looked at before all are.
constexpr int64_t kFirstSample = 256;

// Word w goes to place_of[cell] or, without a table, to its cell: `bits` bits from `shift` on.
struct DealPlan {
  int shift, bits;
  int64_t places;
  const uint16_t *place_of;
  // With a table: what words of one place may differ in, as a number of low bits.
  const uint8_t *bits_of;

  template <class U>
  HIDP_INLINE unsigned cell(U word) const {
    return static_cast<unsigned>(word >> shift) & ((1u << bits) - 1);
  }
  int bits_left(int64_t place) const { return bits_of == nullptr ? shift : bits_of[place]; }
};

inline DealPlan digit_plan(int varying, int digit_bits) {
  const int bits = varying < digit_bits ? varying : digit_bits;
  return DealPlan{varying - bits, bits, int64_t{1} << bits, nullptr, nullptr};
}

// What a few keys of many, evenly spread, tell.
template <class K>
class KeySample {
 public:
  using U = RadixWord<K>;

  KeySample(const K *keys, int64_t n, U flip) {
    const U first = radix_word(keys[0], flip);
    U before = first;
    const int64_t step = n / kFirstSample;
    for (int64_t i = 0; i < kFirstSample; ++i) {
      const U word = radix_word(keys[step * i], flip);
      word_[i] = word;
      differs_ = static_cast<U>(differs_ | (word ^ first));
      if (i > 0) {
        falls_ |= word < before;
        rises_ |= word >= before;
      }
      before = word;
    }
  }

  // Whether all keys may be in order, or strictly against it.
  bool maybe_in_order() const { return !falls_ || !rises_; }
  // Keys differ in so many low bits at least.
  int varying() const { return bit_length(differs_); }
  // Whether many keys have the same highest ones of `varying` bits.
  bool uneven(int varying) const {
    constexpr int bits = 5;
    constexpr int64_t fair = kFirstSample >> bits;
    if (varying < bits) return false;
    int64_t counts[1 << bits] = {};
    for (const U word : word_)
      if (++counts[static_cast<unsigned>(word >> (varying - bits)) & ((1u << bits) - 1)] > 5 * fair) return true;
    return false;
  }

 private:
  U word_[kFirstSample];
  U differs_ = 0;
  bool falls_ = false, rises_ = false;
};

// Room for a table.
struct DealTable {
  uint32_t found[kMostCells];
  uint16_t place_of[kMostCells];
  uint8_t bits_of[kMostPlaces];
};

// Places that get about as many keys each.
template <class K>
HIDP_KERNEL DealPlan table_plan(const K *keys, int64_t n, RadixWord<K> flip, int varying, int digit_bits, DealTable &table) {
  DealPlan plan = digit_plan(varying, digit_bits + kCellBits);
  const int64_t cells = plan.places;
  plan.places = int64_t{1} << digit_bits;
  plan.place_of = table.place_of;
  plan.bits_of = table.bits_of;
  __builtin_memset(table.found, 0, static_cast<size_t>(cells) * sizeof table.found[0]);
  const int64_t sampled = kSampledEach * plan.places < n ? kSampledEach * plan.places : n, step = n / sampled;
  for (int64_t i = 0; i < sampled; ++i) ++table.found[plan.cell(radix_word(keys[step * i], flip))];
  int64_t before = 0, first = 0, place = -1;
  for (int64_t cell = 0; cell < cells; ++cell) {
    // By the middle of a cell: one of many keys is alone at its place.
    const int64_t own = (2 * before + table.found[cell]) * plan.places / (2 * sampled);
    const int64_t next = own < plan.places ? own : plan.places - 1;
    if (next != place) first = cell;
    place = next;
    before += table.found[cell];
    table.place_of[cell] = static_cast<uint16_t>(place);
    table.bits_of[place] = static_cast<uint8_t>(plan.shift + bit_length(static_cast<uint64_t>(first ^ cell)));
  }
  return plan;
}

HIDP_NAMESPACE_END
