// team_sort: all threads sort one segment, stably.
//
// Called by: the host function. Run by: all threads of the context. Result: in out_key (and out_val), valid when it returns
// true; false after an allocation fault at `site`. Scratch: n keys and n values from the pool. in and out are equal or do not
// overlap.
//
// Keys in order, or strictly against it, are copied or turned round; a handful of different ones are counted and written. Otherwise
// one partition by the highest digit that varies, with a histogram a thread (stable because threads own consecutive parts),
// then each bucket by one worker in its cache with thread_sort's passes. A bucket too large for that is partitioned again by all.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/prim/few_keys.hpp>
#include <hidp/prim/line_writer.hpp>
#include <hidp/prim/radix_key.hpp>
#include <hidp/prim/thread_sort.hpp>
#include <hidp/threads.hpp>

HIDP_NAMESPACE_BEGIN

// Below this one worker is faster than starting several.
constexpr int64_t kTeamSortLeast = 1 << 14;
// Buckets of more elements are partitioned by all threads; also the most that 32-bit counts of a worker allow.
constexpr int64_t kBucketMost = 1 << 19;
// Partitions of at least this many bytes write whole cache lines past the caches.
constexpr int64_t kStreamedSort = int64_t{16} << 20;
// Scratch of a worker that stays in its second-level cache.
constexpr size_t kNearBytes = size_t{3} << 18;
// What dealing a key out costs, in element operations; of looking at keys or copying them one operation does several.
constexpr int64_t kSortWork = 2, kLookWork = 2;

// What a look at all keys tells.
struct KeyFacts {
  uint64_t varying;
  bool ascending;           // none is smaller than the one before
  bool strictly_descending; // each is smaller than the one before
};

template <class K>
inline KeyFacts key_facts(const K *__restrict keys, int64_t begin, int64_t end, RadixWord<K> flip) {
  using U = RadixWord<K>;
  const U first = radix_word(keys[0], flip);
  U differs = 0, falls = 0, rises = 0;
  if (begin == 0 && end > 0) begin = 1;
  for (int64_t i = begin; i < end; ++i) {
    const U word = radix_word(keys[i], flip), before = radix_word(keys[i - 1], flip);
    differs = static_cast<U>(differs | (word ^ first));
    falls = static_cast<U>(falls | (word < before));
    rises = static_cast<U>(rises | (word >= before));
  }
  return KeyFacts{differs, falls == 0, rises == 0};
}

template <class K, class V>
class TeamSort {
 public:
  using Run = SortRun<K, V>;
  using U = RadixWord<K>;

  TeamSort(Host &host, uint32_t site, bool descending)
      : host_(host), site_(site), flip_(descending ? static_cast<U>(~U{0}) : U{0}), parts_(host.workers()) {}

  bool run(Run in, Run out, Run scratch, int64_t n) {
    facts_ = host_.template alloc<KeyFacts>(parts_, false, site_);
    const int64_t counters = parts_ * kDigits;
    counts_ = host_.template alloc<int64_t>(counters, false, site_);
    if (facts_ == nullptr || counts_ == nullptr) return false;
    const KeyFacts facts = look(in, n);
    if (facts.ascending) copy(in, out, n);
    else if (facts.strictly_descending) reverse(in, out, n);
    else if (!count_few(in, out, n)) partition(in, scratch, out, n, bit_length(facts.varying), true);
    host_.free(counts_);
    host_.free(facts_);
    return !host_.trap.raised;
  }

 private:
  static constexpr size_t kValueBytes = std::is_same_v<V, NoValue> ? 0 : sizeof(V);
  static constexpr bool kLines = LineWriter<K, kDigits>::exists && (std::is_same_v<V, NoValue> || LineWriter<V, kDigits>::exists);

  template <class Body>
  void on_parts(int64_t n, int64_t work, Body body) {
    launch_static(host_, parts_, 1, work, [&](Worker &worker, int64_t begin, int64_t end) {
      for (int64_t number = begin; number < end; ++number) {
        const Part part(n, 1024, number, parts_);
        body(worker, number, part.begin, part.end);
      }
    });
  }

  KeyFacts look(Run in, int64_t n) {
    on_parts(n, n / kLookWork, [&](Worker &, int64_t part, int64_t begin, int64_t end) { facts_[part] = key_facts(in.key, begin, end, flip_); });
    KeyFacts all{0, true, true};
    for (int64_t part = 0; part < parts_; ++part) {
      all.varying |= facts_[part].varying;
      all.ascending &= facts_[part].ascending;
      all.strictly_descending &= facts_[part].strictly_descending;
    }
    return all;
  }

  void copy(Run in, Run out, int64_t n) {
    on_parts(n, n / kLookWork, [&](Worker &, int64_t, int64_t begin, int64_t end) { copy_run(out.at(begin), in.at(begin), end - begin); });
  }
  void reverse(Run in, Run out, int64_t n) {
    if (in.key != out.key) {
      on_parts(n, n / kLookWork, [&](Worker &, int64_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out.move(i, in, n - 1 - i);
      });
      return;
    }
    on_parts(n / 2, n / kLookWork, [&](Worker &, int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out.exchange(i, n - 1 - i);
    });
  }

  // If there are only few different keys, writes as many of each as there are. Whether there are.
  bool count_few(Run in, Run out, int64_t n) {
    if constexpr (std::is_same_v<V, NoValue> && sizeof(K) >= 4) {
      FewKeys<K> few;
      for (int64_t i = 0; i < kSampled; ++i) {
        if (!few.add(in.key[n / kSampled * i])) return false;
      }
      few.sort(flip_);
      // The counts of digits are not in use yet.
      bool many = false;
      on_parts(n, n / kLookWork, [&](Worker &, int64_t part, int64_t begin, int64_t end) {
        if (!few.count(in.key, begin, end, counts_ + part * kDigits, &many)) __atomic_store_n(&many, true, __ATOMIC_RELAXED);
      });
      if (many) return false;
      int64_t starts[kFewKeys + 1] = {};
      for (int number = 0; number < few.size(); ++number) {
        starts[number + 1] = starts[number];
        for (int64_t part = 0; part < parts_; ++part) starts[number + 1] += counts_[part * kDigits + number];
      }
      on_parts(n, n / kLookWork, [&](Worker &, int64_t, int64_t begin, int64_t end) { few.write(out.key, begin, end, starts); });
      return true;
    }
    return false;
  }

  // Partitions `from` into `middle` by the highest of `bits` bits, then sorts the buckets into `out`. `middle` is `out` or the
  // scratch buffer: `in_scratch` says which; the other one is free.
  void partition(Run from, Run middle, Run out, int64_t n, int bits, bool in_scratch) {
    const int shift = bits > kDigitBits ? bits - kDigitBits : 0;
    count(from, n, shift);
    int64_t starts[kDigits + 1];
    const int64_t most = prefix(starts);
    // A line that fills at once is still in the store buffer when it is to leave: no gain for keys in few buckets.
    const bool streamed = kLines && n >= kStreamedSort / static_cast<int64_t>(sizeof(K)) && most <= n / 16;
    scatter(from, middle, n, shift, streamed);
    sort_buckets(middle, out, from, starts, shift, in_scratch);
  }

  void count(Run from, int64_t n, int shift) {
    on_parts(n, kSortWork * n, [&](Worker &, int64_t part, int64_t begin, int64_t end) {
      int64_t *counts = counts_ + part * kDigits;
      // Two tables: neighbouring equal digits do not wait for one another.
      uint32_t even[kDigits] = {}, odd[kDigits] = {};
      int64_t done = begin;
      for (int digit = 0; digit < kDigits; ++digit) counts[digit] = 0;
      while (done < end) {
        const int64_t stop = smaller(end, done + (int64_t{1} << 30));
        int64_t i = done;
        for (; i + 1 < stop; i += 2) {
          ++even[radix_digit(radix_word(from.key[i], flip_), shift)];
          ++odd[radix_digit(radix_word(from.key[i + 1], flip_), shift)];
        }
        if (i < stop) ++even[radix_digit(radix_word(from.key[i], flip_), shift)];
        for (int digit = 0; digit < kDigits; ++digit) {
          counts[digit] += int64_t{even[digit]} + odd[digit];
          even[digit] = odd[digit] = 0;
        }
        done = stop;
      }
    });
  }

  // Turns counts into first positions, digit by digit and within a digit part by part. Gives the size of the largest bucket.
  int64_t prefix(int64_t *starts) {
    int64_t sum = 0, most = 0;
    for (int digit = 0; digit < kDigits; ++digit) {
      starts[digit] = sum;
      for (int64_t part = 0; part < parts_; ++part) {
        int64_t &slot = counts_[part * kDigits + digit];
        const int64_t count = slot;
        slot = sum;
        sum += count;
      }
      if (sum - starts[digit] > most) most = sum - starts[digit];
    }
    starts[kDigits] = sum;
    return most;
  }

  void scatter(Run from, Run to, int64_t n, int shift, bool streamed) {
    on_parts(n, kSortWork * n, [&](Worker &worker, int64_t part, int64_t begin, int64_t end) {
      int64_t *next = counts_ + part * kDigits;
      if constexpr (kLines) {
        if (streamed) return scatter_lines(worker, from, to, begin, end, shift, next);
      }
      for (int64_t i = begin; i < end; ++i) to.move(next[radix_digit(radix_word(from.key[i], flip_), shift)]++, from, i);
    });
  }

  void scatter_lines(Worker &worker, Run from, Run to, int64_t begin, int64_t end, int shift, int64_t *next) {
    const U flip = flip_;
    int64_t first[kDigits], position[kDigits];
    __builtin_memcpy(first, next, sizeof first);
    __builtin_memcpy(position, next, sizeof position);
    LineWriter<K, kDigits> keys(worker, to.key, first);
    if constexpr (std::is_same_v<V, NoValue>) {
      for (int64_t i = begin; i < end; ++i) {
        const K key = from.key[i];
        const unsigned digit = radix_digit(radix_word(key, flip), shift);
        keys.put(digit, position[digit]++, key);
      }
    } else {
      LineWriter<V, kDigits> values(worker, to.val, first);
      if (keys.slot_of(0) == values.slot_of(0) && keys.kEach == values.kEach) {
        for (int64_t i = begin; i < end; ++i) {
          const K key = from.key[i];
          const unsigned digit = radix_digit(radix_word(key, flip), shift);
          const int64_t at = position[digit]++, slot = keys.slot_of(at);
          if (slot == 0) {
            keys.flush(digit, at);
            values.flush(digit, at);
          }
          keys.put_into(digit, slot, key);
          values.put_into(digit, slot, from.val[i]);
        }
      } else {
        for (int64_t i = begin; i < end; ++i) {
          const K key = from.key[i];
          const unsigned digit = radix_digit(radix_word(key, flip), shift);
          const int64_t at = position[digit]++;
          keys.put(digit, at, key);
          values.put(digit, at, from.val[i]);
        }
      }
      values.finish(position);
    }
    keys.finish(position);
  }

  void sort_buckets(Run middle, Run out, Run other, const int64_t *starts, int bits, bool in_scratch) {
    const int64_t total = starts[kDigits];
    // One worker must not be left with the only bucket that still has work.
    const int64_t fair = total / (2 * parts_) > kTeamSortLeast ? total / (2 * parts_) : kTeamSortLeast;
    const int64_t most = smaller(kBucketMost, fair);
    const Run scratch = in_scratch ? middle : other;
    launch_dynamic(host_, kDigits, 1, kSortWork * total, [&](Worker &worker, int64_t begin, int64_t end) {
      for (int64_t digit = begin; digit < end; ++digit) {
        const int64_t low = starts[digit], length = starts[digit + 1] - low;
        if (length > most) continue;
        const ScratchBlock block(worker);
        sort_low_bits(middle.at(low), out.at(low), near_scratch(worker, scratch.at(low), length), length, bits, flip_);
      }
    });
    for (int digit = 0; digit < kDigits; ++digit) {
      const int64_t low = starts[digit], length = starts[digit + 1] - low;
      if (length > most) sort_large(middle.at(low), out.at(low), scratch.at(low), length, bits, in_scratch);
    }
  }

  // Scratch that the worker's cache holds from the bucket before. What is not in the cache is slow to deal out to.
  static Run near_scratch(Worker &worker, Run scratch, int64_t length) {
    const size_t bytes = static_cast<size_t>(length) * (sizeof(K) + kValueBytes);
    if (bytes > kNearBytes) return scratch;
    void *const keys = worker.scratch.take(static_cast<size_t>(length) * sizeof(K));
    if (keys == nullptr) return scratch;
    if constexpr (std::is_same_v<V, NoValue>) {
      return Run{static_cast<K *>(keys)};
    } else {
      void *const values = worker.scratch.take(static_cast<size_t>(length) * sizeof(V));
      return values == nullptr ? scratch : Run{static_cast<K *>(keys), static_cast<V *>(values)};
    }
  }

  void sort_large(Run middle, Run out, Run scratch, int64_t n, int bits, bool in_scratch) {
    const KeyFacts facts = look(middle, n);
    if (facts.ascending) return copy(middle, out, n);
    const Run target = in_scratch ? out : scratch;
    partition(middle, target, out, n, smaller(bits, bit_length(facts.varying)), !in_scratch);
  }

  Host &host_;
  uint32_t site_;
  U flip_;
  int64_t parts_;
  KeyFacts *facts_ = nullptr;
  int64_t *counts_ = nullptr;
};

// Keys only.
template <class K>
inline bool team_sort(Host &host, uint32_t site, const K *in_key, K *out_key, int64_t n, bool descending) {
  if (n <= 0) return true;
  K *scratch = host.alloc<K>(n, false, site);
  if (scratch == nullptr) return false;
  bool done = true;
  if (n < kTeamSortLeast) thread_sort(in_key, out_key, n, descending, scratch);
  else {
    using Run = SortRun<K, NoValue>;
    done = TeamSort<K, NoValue>(host, site, descending).run(Run{const_cast<K *>(in_key)}, Run{out_key}, Run{scratch}, n);
  }
  host.free(scratch);
  return done;
}

// Keys with values.
template <class K, class V>
inline bool team_sort(Host &host, uint32_t site, const K *in_key, K *out_key, const V *in_val, V *out_val, int64_t n,
                      bool descending) {
  if (n <= 0) return true;
  K *scratch_key = host.alloc<K>(n, false, site);
  V *scratch_val = host.alloc<V>(n, false, site);
  if (scratch_key == nullptr || scratch_val == nullptr) return false;
  bool done = true;
  if (n < kTeamSortLeast) thread_sort(in_key, out_key, in_val, out_val, n, descending, scratch_key, scratch_val);
  else {
    using Run = SortRun<K, V>;
    done = TeamSort<K, V>(host, site, descending)
               .run(Run{const_cast<K *>(in_key), const_cast<V *>(in_val)}, Run{out_key, out_val}, Run{scratch_key, scratch_val}, n);
  }
  host.free(scratch_val);
  host.free(scratch_key);
  return done;
}

HIDP_NAMESPACE_END
