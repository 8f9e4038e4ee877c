// Keys of which there are only few different ones: they are counted and written anew rather than moved.
//
// Called by: team_sort. Run by: a worker. Result: counts, and then sorted keys in out. Scratch: none.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/prim/radix_key.hpp>
#include <hidp/prim/vector.hpp>

HIDP_NAMESPACE_BEGIN

// So many comparisons of vectors cost less than moving keys.
constexpr int kFewKeys = 16;
// Keys that are looked at before all are.
constexpr int64_t kSampled = 64;
// Keys that stay in the first-level cache while they are compared.
constexpr int64_t kCountedAtOnce = 2048;

template <class K>
class FewKeys {
 public:
  using U = RadixWord<K>;

  int size() const { return size_; }

  // Whether there is room for the key.
  bool add(K key) {
    U word;
    __builtin_memcpy(&word, &key, sizeof word);
    for (int number = 0; number < size_; ++number)
      if (words_[number] == word) return true;
    if (size_ == kFewKeys) return false;
    words_[size_++] = word;
    return true;
  }

  // Puts the keys into order. Keys of equal order have equal bits.
  void sort(RadixWord<K> flip) {
    for (int i = 1; i < size_; ++i)
      for (int j = i; j > 0 && image(j, flip) < image(j - 1, flip); --j) {
        const U word = words_[j];
        words_[j] = words_[j - 1];
        words_[j - 1] = word;
      }
  }

  // Occurrences of each in keys[begin, end); false if there is another one, or `*given_up`.
  HIDP_KERNEL bool count(const K *keys, int64_t begin, int64_t end, int64_t *counts, const bool *given_up) const {
    for (int number = 0; number < size_; ++number) counts[number] = 0;
    for (int64_t at = begin; at < end; at += kCountedAtOnce) {
      const int64_t length = end - at < kCountedAtOnce ? end - at : kCountedAtOnce;
      int64_t found = 0;
      for (int number = 0; number < size_; ++number) {
        const int64_t here = occurrences(keys + at, length, words_[number]);
        counts[number] += here;
        found += here;
      }
      if (found != length || __atomic_load_n(given_up, __ATOMIC_RELAXED)) return false;
    }
    return true;
  }

  // out[begin, end) of the sorted keys; number i starts at starts[i].
  void write(K *out, int64_t begin, int64_t end, const int64_t *starts) const {
    for (int number = 0; number < size_; ++number) {
      const int64_t low = starts[number] > begin ? starts[number] : begin;
      const int64_t past = starts[number + 1] < end ? starts[number + 1] : end;
      K key;
      __builtin_memcpy(&key, &words_[number], sizeof key);
      for (int64_t i = low; i < past; ++i) out[i] = key;
    }
  }

 private:
  U image(int number, RadixWord<K> flip) const {
    K key;
    __builtin_memcpy(&key, &words_[number], sizeof key);
    return radix_word(key, flip);
  }

  static HIDP_INLINE int64_t occurrences(const K *keys, int64_t n, U wanted) {
    constexpr int64_t lanes = kLanes<U>;
    const Vector<U> same = broadcast(wanted);
    Vector<U> sums = {};
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      Vector<U> words;
      __builtin_memcpy(&words, keys + i, sizeof words);
      sums -= (Vector<U>)(words == same);
    }
    int64_t sum = 0;
    for (int64_t lane = 0; lane < lanes; ++lane) sum += static_cast<int64_t>(sums[lane]);
    for (; i < n; ++i) {
      U word;
      __builtin_memcpy(&word, keys + i, sizeof word);
      sum += word == wanted;
    }
    return sum;
  }

  int size_ = 0;
  U words_[kFewKeys];
};

HIDP_NAMESPACE_END
