// team_sort: all threads sort one segment, stably.
//
// Called by: the host function. Run by: all threads of the context. Result: in out_key (and out_val), valid when it returns
// true; false after an allocation fault at `site`. Scratch: n keys and n values from the pool. in and out are equal or do not
// overlap.
//
// Keys in order, or strictly against it, are copied or turned round; a handful of different ones are counted and written. Otherwise
// one partition by the highest bits that vary, with a histogram a thread (stable because threads own consecutive parts),
// then each bucket by one worker in its cache. A bucket too large for that is partitioned again by all.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/prim/deal_plan.hpp>
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

// Networks of keys alone may be large. With values, the fewer bits are left to sort by, the shorter are their words.
template <class U, class V>
constexpr int bucket_key_bits() {
  constexpr bool keys_only = std::is_same_v<V, NoValue>;
  if (keys_only && network_most<U>() == 0) return 0;
  if (network_most<uint32_t>() == 0) return 0;
  return keys_only ? (sizeof(U) == 4 ? 11 : 9) : 9;
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
    counts_ = host_.template alloc<int64_t>(parts_ * kMostPlaces, false, site_);
    if (facts_ == nullptr || counts_ == nullptr) return false;
    sort(in, scratch, out, n, static_cast<int>(8 * sizeof(K)), true, true);
    host_.free(counts_);
    host_.free(facts_);
    return !host_.trap.raised;
  }

 private:
  static constexpr size_t kValueBytes = std::is_same_v<V, NoValue> ? 0 : sizeof(V);
  static constexpr bool kLines = LineWriter<K>::exists && (std::is_same_v<V, NoValue> || LineWriter<V>::exists);
  // Sizes of buckets that are sorted best, as a number of bits; 0 where networks do not.
  static constexpr int kBucketKeyBits = bucket_key_bits<U, V>();

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
        if (!few.count(in.key, begin, end, counts_ + part * kMostPlaces, &many)) __atomic_store_n(&many, true, __ATOMIC_RELAXED);
      });
      if (many) return false;
      int64_t starts[kFewKeys + 1] = {};
      for (int number = 0; number < few.size(); ++number) {
        starts[number + 1] = starts[number];
        for (int64_t part = 0; part < parts_; ++part) starts[number + 1] += counts_[part * kMostPlaces + number];
      }
      on_parts(n, n / kLookWork, [&](Worker &, int64_t, int64_t begin, int64_t end) { few.write(out.key, begin, end, starts); });
      return true;
    }
    return false;
  }

  // Sorts keys that differ in their low `bits` bits only, by way of `middle`, which is `out` or the scratch buffer: `in_scratch` says
  // which; the other one is free, or `from`.
  void sort(Run from, Run middle, Run out, int64_t n, int bits, bool in_scratch, bool may_sample) {
    const KeySample<K> sample(from.key, n, flip_);
    int varying = sample.varying();
    if (sample.maybe_in_order()) {
      const KeyFacts facts = look(from, n);
      if (facts.ascending) return copy(from, out, n);
      if (facts.strictly_descending) return reverse(from, out, n);
      varying = bit_length(facts.varying);
    }
    if (count_few(from, out, n)) return;
    const Level level(host_, site_);
    if (level.failed()) return;
    DealPlan plan = planned(level, sample, from, n, varying, may_sample);
    const int found = count(from, n, plan);
    if (found > varying) {
      plan = planned(level, sample, from, n, found, may_sample);
      count(from, n, plan);
    }
    const int64_t most = prefix(level.starts, plan.places);
    // A line that fills at once is still in the store buffer when it is to leave: no gain for keys in few buckets.
    const bool streamed = kLines && n >= kStreamedSort / static_cast<int64_t>(sizeof(K)) && most <= n / 16;
    scatter(from, middle, n, plan, streamed);
    sort_buckets(middle, out, from, level.starts, plan, bits, in_scratch);
  }

  // What a partition needs until its buckets are sorted.
  struct Level {
    Level(Host &host, uint32_t site)
        : host(host), starts(host.template alloc<int64_t>(kMostPlaces + 1, false, site)), table(host.template alloc<DealTable>(1, false, site)) {}
    ~Level() {
      host.free(table);
      host.free(starts);
    }
    Level(const Level &) = delete;
    Level &operator=(const Level &) = delete;
    bool failed() const { return starts == nullptr || table == nullptr; }

    Host &host;
    int64_t *starts;
    DealTable *table;
  };

  DealPlan planned(const Level &level, const KeySample<K> &sample, Run from, int64_t n, int varying, bool may_sample) const {
    const int digit_bits = deal_bits(n);
    if (!may_sample || !sample.uneven(varying)) return digit_plan(varying, digit_bits);
    return table_plan(from.key, n, flip_, varying, digit_bits, *level.table);
  }

  // Bits by which n keys are dealt out, so that buckets are best for what sorts them.
  int deal_bits(int64_t n) const {
    if (kBucketKeyBits == 0) return kDigitBits;
    const int for_buckets = bit_length(static_cast<uint64_t>(n - 1)) - kBucketKeyBits;
    const int for_workers = bit_length(static_cast<uint64_t>(4 * parts_ - 1));
    const int wanted = for_buckets > for_workers ? for_buckets : for_workers;
    return wanted < kMostDealBits ? wanted : kMostDealBits;
  }

  // Counts the keys of each place, part by part. Gives how many low bits the keys differ in; if those are more than the plan knows
  // of, counts mean nothing.
  int count(Run from, int64_t n, const DealPlan &plan) {
    on_parts(n, kSortWork * n, [&](Worker &, int64_t part, int64_t begin, int64_t end) {
      int64_t *const counts = counts_ + part * kMostPlaces;
      for (int64_t place = 0; place < plan.places; ++place) counts[place] = 0;
      U differs = 0;
      for (int64_t done = begin; done < end;) {
        const int64_t stop = smaller(end, done + (int64_t{1} << 30));
        differs = static_cast<U>(differs | (plan.place_of == nullptr ? count_part<false>(from.key, done, stop, plan, counts)
                                                                      : count_part<true>(from.key, done, stop, plan, counts)));
        done = stop;
      }
      facts_[part].varying = differs;
    });
    uint64_t differs = 0;
    for (int64_t part = 0; part < parts_; ++part) differs |= facts_[part].varying;
    return bit_length(differs);
  }

  template <bool Mapped>
  static HIDP_INLINE unsigned place_of(const DealPlan &plan, U word) {
    const unsigned cell = plan.cell(word);
    if constexpr (Mapped) return plan.place_of[cell];
    else return cell;
  }

  template <bool Mapped>
  HIDP_KERNEL U count_part(const K *keys, int64_t begin, int64_t end, DealPlan plan, int64_t *counts) const {
    const U flip = flip_, first = radix_word(keys[0], flip);
    // Two tables, as long as both stay in the first-level cache: neighbouring equal digits do not wait for one another.
    uint32_t even[kMostPlaces];
    uint32_t *const odd = 2 * plan.places <= kMostPlaces ? even + plan.places : even;
    __builtin_memset(even, 0, sizeof even);
    U differs = 0;
    int64_t i = begin;
    for (; i + 1 < end; i += 2) {
      const U a = radix_word(keys[i], flip), b = radix_word(keys[i + 1], flip);
      differs = static_cast<U>(differs | (a ^ first) | (b ^ first));
      ++even[place_of<Mapped>(plan, a)];
      ++odd[place_of<Mapped>(plan, b)];
    }
    if (i < end) {
      const U a = radix_word(keys[i], flip);
      differs = static_cast<U>(differs | (a ^ first));
      ++even[place_of<Mapped>(plan, a)];
    }
    for (int64_t place = 0; place < plan.places; ++place) counts[place] += int64_t{even[place]} + (odd == even ? 0 : odd[place]);
    return differs;
  }

  // Turns counts into first positions, place by place and within a place part by part. Gives the size of the largest bucket.
  int64_t prefix(int64_t *starts, int64_t places) {
    int64_t sum = 0, most = 0;
    for (int64_t place = 0; place < places; ++place) {
      starts[place] = sum;
      for (int64_t part = 0; part < parts_; ++part) {
        int64_t &slot = counts_[part * kMostPlaces + place];
        const int64_t count = slot;
        slot = sum;
        sum += count;
      }
      if (sum - starts[place] > most) most = sum - starts[place];
    }
    starts[places] = sum;
    return most;
  }

  void scatter(Run from, Run to, int64_t n, const DealPlan &plan, bool streamed) {
    on_parts(n, kSortWork * n, [&](Worker &worker, int64_t part, int64_t begin, int64_t end) {
      int64_t *const next = counts_ + part * kMostPlaces;
      if (streamed && scatter_lines(worker, from, to, begin, end, plan, next)) return;
      if (plan.place_of == nullptr) scatter_part<false>(from, to, begin, end, plan, next);
      else scatter_part<true>(from, to, begin, end, plan, next);
    });
  }

  template <bool Mapped>
  HIDP_KERNEL void scatter_part(Run from, Run to, int64_t begin, int64_t end, DealPlan plan, int64_t *next) const {
    const U flip = flip_;
    for (int64_t i = begin; i < end; ++i) to.move(next[place_of<Mapped>(plan, radix_word(from.key[i], flip))]++, from, i);
  }

  // Whether there was storage for the lines.
  bool scatter_lines(Worker &worker, Run from, Run to, int64_t begin, int64_t end, const DealPlan &plan, int64_t *next) const {
    if constexpr (kLines) {
      const ScratchBlock block(worker);
      int64_t *const first = static_cast<int64_t *>(worker.scratch.take(static_cast<size_t>(plan.places) * sizeof(int64_t)));
      void *const key_lines = worker.scratch.take(LineWriter<K>::bytes(plan.places));
      void *const value_lines = kValueBytes == 0 ? key_lines : worker.scratch.take(LineWriter<K>::bytes(plan.places));
      if (first == nullptr || key_lines == nullptr || value_lines == nullptr) return false;
      __builtin_memcpy(first, next, static_cast<size_t>(plan.places) * sizeof(int64_t));
      LineWriter<K> keys(worker, key_lines, to.key, first);
      if constexpr (std::is_same_v<V, NoValue>) {
        if (plan.place_of == nullptr) put_keys<false>(keys, from, begin, end, plan, next);
        else put_keys<true>(keys, from, begin, end, plan, next);
      } else {
        LineWriter<V> values(worker, value_lines, to.val, first);
        if (plan.place_of == nullptr) put_pairs<false>(keys, values, from, begin, end, plan, next);
        else put_pairs<true>(keys, values, from, begin, end, plan, next);
        values.finish(next, plan.places);
      }
      keys.finish(next, plan.places);
      return true;
    }
    return false;
  }

  template <bool Mapped>
  HIDP_KERNEL void put_keys(LineWriter<K> keys, Run from, int64_t begin, int64_t end, DealPlan plan, int64_t *next) const {
    const U flip = flip_;
    for (int64_t i = begin; i < end; ++i) {
      const K key = from.key[i];
      const unsigned place = place_of<Mapped>(plan, radix_word(key, flip));
      keys.put(place, next[place]++, key);
    }
  }

  template <bool Mapped>
  HIDP_KERNEL void put_pairs(LineWriter<K> keys, LineWriter<V> values, Run from, int64_t begin, int64_t end, DealPlan plan,
                             int64_t *next) const {
    const U flip = flip_;
    const bool in_step = keys.kEach == values.kEach && keys.slot_of(0) == values.slot_of(0);
    for (int64_t i = begin; in_step && i < end; ++i) {
      const K key = from.key[i];
      const unsigned place = place_of<Mapped>(plan, radix_word(key, flip));
      const int64_t at = next[place]++, slot = keys.slot_of(at);
      if (slot == 0) {
        keys.flush(place, at);
        values.flush(place, at);
      }
      keys.put_into(place, slot, key);
      values.put_into(place, slot, from.val[i]);
    }
    for (int64_t i = begin; !in_step && i < end; ++i) {
      const K key = from.key[i];
      const unsigned place = place_of<Mapped>(plan, radix_word(key, flip));
      const int64_t at = next[place]++;
      keys.put(place, at, key);
      values.put(place, at, from.val[i]);
    }
  }

  void sort_buckets(Run middle, Run out, Run other, const int64_t *starts, const DealPlan &plan, int bits, bool in_scratch) {
    const int64_t total = starts[plan.places];
    // One worker must not be left with the only bucket that still has work.
    const int64_t fair = total / (2 * parts_) > kTeamSortLeast ? total / (2 * parts_) : kTeamSortLeast;
    const int64_t most = smaller(kBucketMost, fair);
    const Run scratch = in_scratch ? middle : other;
    launch_dynamic(host_, plan.places, 1, kSortWork * total, [&](Worker &worker, int64_t begin, int64_t end) {
      for (int64_t place = begin; place < end; ++place) {
        const int64_t low = starts[place], length = starts[place + 1] - low;
        if (length == 0 || length > most) continue;
        const ScratchBlock block(worker);
        sort_low_bits(middle.at(low), out.at(low), near_scratch(worker, scratch.at(low), length), length, plan.bits_left(place), flip_);
      }
    });
    for (int64_t place = 0; place < plan.places; ++place) {
      const int64_t low = starts[place], length = starts[place + 1] - low;
      if (length <= most) continue;
      const Run target = in_scratch ? out : scratch;
      // A place of a table may span as many bits as there were; one of a digit does not.
      const int left = plan.bits_left(place);
      sort(middle.at(low), target.at(low), out.at(low), length, left, !in_scratch, left < bits);
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
