// How a team deals keys out: all threads look at the keys of one segment, count them by places, and deal them out, stably.
//
// Called by: team_sort. Run by: all threads of the context. Result: valid when a function returns. Scratch: facts of each part, and
// counts of each part and place, from the pool; lines of each place from the workers.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/prim/deal_plan.hpp>
#include <hidp/prim/line_writer.hpp>
#include <hidp/prim/radix_key.hpp>
#include <hidp/prim/sort_run.hpp>
#include <hidp/threads.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

// At least so many bytes of keys are dealt out in whole cache lines, past the caches.
constexpr int64_t kStreamedSort = int64_t{16} << 20;
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
class TeamDeal {
 protected:
  using Run = SortRun<K, V>;
  using U = RadixWord<K>;
  static constexpr size_t kValueBytes = std::is_same_v<V, NoValue> ? 0 : sizeof(V);
  static constexpr bool kLines = LineWriter<K>::exists && (std::is_same_v<V, NoValue> || LineWriter<V>::exists);

  TeamDeal(Host &host, uint32_t site, bool descending)
      : host_(host),
        site_(site),
        flip_(descending ? static_cast<U>(~U{0}) : U{0}),
        parts_(host.workers()),
        facts_(host.template alloc<KeyFacts>(parts_, false, site)),
        counts_(host.template alloc<int64_t>(parts_ * kMostPlaces, false, site)) {}
  ~TeamDeal() {
    host_.free(counts_);
    host_.free(facts_);
  }
  TeamDeal(const TeamDeal &) = delete;
  TeamDeal &operator=(const TeamDeal &) = delete;

  bool failed() const { return facts_ == nullptr || counts_ == nullptr; }

  // Whether n elements are far more than the caches hold.
  static bool may_stream(int64_t n) { return kLines && n >= kStreamedSort / static_cast<int64_t>(sizeof(K)); }

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

  Host &host_;
  const uint32_t site_;
  const U flip_;
  const int64_t parts_;
  KeyFacts *const facts_;
  int64_t *const counts_;
};

HIDP_NAMESPACE_END
