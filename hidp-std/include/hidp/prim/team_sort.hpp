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
#include <hidp/prim/deal_keys.hpp>
#include <hidp/prim/deal_plan.hpp>
#include <hidp/prim/few_keys.hpp>
#include <hidp/prim/radix_key.hpp>
#include <hidp/prim/sort_run.hpp>
#include <hidp/prim/thread_sort.hpp>
#include <hidp/threads.hpp>

HIDP_NAMESPACE_BEGIN

// Below this one worker is faster than starting several.
constexpr int64_t kTeamSortLeast = 1 << 14;
// Buckets of more elements are partitioned by all threads; also the most that 32-bit counts of a worker allow.
constexpr int64_t kBucketMost = 1 << 19;
// Scratch of a worker that stays in its second-level cache.
constexpr size_t kNearBytes = size_t{3} << 18;
// Sizes of buckets that are sorted best, as a number of bits; 0 where there are no networks for them. With values, the fewer bits
// are left to sort by, the shorter are the networks' words.
template <class U, class V>
constexpr int bucket_key_bits() {
  constexpr bool keys_only = std::is_same_v<V, NoValue>;
  if (network_most<U>() == 0 && (keys_only || sizeof(U) > 4 || network_most<uint32_t>() == 0)) return 0;
  return keys_only ? 10 : 9;
}

template <class K, class V>
class TeamSort : TeamDeal<K, V> {
 public:
  using typename TeamDeal<K, V>::Run;
  using typename TeamDeal<K, V>::U;

  TeamSort(Host &host, uint32_t site, bool descending) : TeamDeal<K, V>(host, site, descending) {}

  bool run(Run in, Run out, Run scratch, int64_t n) {
    if (this->failed()) return false;
    sort(in, scratch, out, n, static_cast<int>(8 * sizeof(K)), true, true);
    return !host_.trap.raised;
  }

 private:
  using Deal = TeamDeal<K, V>;
  using Deal::counts_, Deal::facts_, Deal::flip_, Deal::host_, Deal::kValueBytes, Deal::parts_, Deal::site_;
  using Deal::count, Deal::look, Deal::may_stream, Deal::on_parts, Deal::prefix, Deal::scatter;

  static constexpr int kBucketKeyBits = bucket_key_bits<U, V>();

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
    Level level(host_, site_);
    if (level.starts == nullptr) return;
    DealPlan plan = planned(level, sample, from, n, varying, may_sample);
    if (host_.trap.raised) return;
    const int found = count(from, n, plan);
    if (found > varying) {
      plan = planned(level, sample, from, n, found, may_sample);
      count(from, n, plan);
    }
    const int64_t most = prefix(level.starts, plan.places);
    // A line that fills at once is still in the store buffer when it is to leave: no gain for keys in few buckets.
    const bool streamed = may_stream(n) && most <= n / 16;
    scatter(from, middle, n, plan, streamed);
    sort_buckets(middle, out, from, level.starts, plan, bits, in_scratch);
  }

  // What a partition needs until its buckets are sorted. A table only where it is used.
  struct Level {
    Level(Host &of, uint32_t site) : host(of), starts(of.template alloc<int64_t>(kMostPlaces + 1, false, site)) {}
    ~Level() {
      host.free(table);
      host.free(starts);
    }
    Level(const Level &) = delete;
    Level &operator=(const Level &) = delete;

    Host &host;
    int64_t *starts;
    DealTable *table = nullptr;
  };

  DealPlan planned(Level &level, const KeySample<K> &sample, Run from, int64_t n, int varying, bool may_sample) const {
    const int digit_bits = deal_bits(n);
    if (!may_sample || !sample.uneven(varying)) return digit_plan(varying, digit_bits);
    if (level.table == nullptr) level.table = host_.template alloc<DealTable>(1, false, site_);
    if (level.table == nullptr) return digit_plan(varying, digit_bits);
    return table_plan(from.key, n, flip_, varying, digit_bits, *level.table);
  }

  // Bits by which n keys are dealt out, so that buckets are best for what sorts them.
  int deal_bits(int64_t n) const {
    if (kBucketKeyBits == 0) return kDigitBits;
    const int for_buckets = bit_length(static_cast<uint64_t>(n - 1)) - kBucketKeyBits;
    const int for_workers = bit_length(static_cast<uint64_t>(4 * parts_ - 1));
    const int wanted = for_buckets > for_workers ? for_buckets : for_workers;
    const int most = may_stream(n) ? kDigitBits : kMostDealBits;
    return wanted < most ? wanted : most;
  }

  void sort_buckets(Run middle, Run out, Run other, const int64_t *starts, const DealPlan &plan, int bits, bool in_scratch) {
    const int64_t total = starts[plan.places];
    // One worker must not be left with the only bucket that still has work.
    const int64_t fair = total / (2 * parts_) > kTeamSortLeast ? total / (2 * parts_) : kTeamSortLeast;
    const int64_t most = smaller(kBucketMost, fair);
    const Run scratch = in_scratch ? middle : other;
    const bool streamed = may_stream(total);
    launch_dynamic(host_, plan.places, 1, kSortWork * total, [&](Worker &worker, int64_t begin, int64_t end) {
      for (int64_t place = begin; place < end; ++place) {
        const int64_t low = starts[place], length = starts[place + 1] - low;
        if (length == 0 || length > most) continue;
        const ScratchBlock block(worker);
        const Run near = near_scratch(worker, scratch.at(low), length);
        const Run near_out = streamed ? near_scratch(worker, out.at(low), length) : out.at(low);
        sort_low_bits(middle.at(low), near_out, near, length, plan.bits_left(place), flip_);
        if (near_out.key != out.at(low).key) {
          stream_out(worker, out.key + low, near_out.key, length);
          if constexpr (!std::is_same_v<V, NoValue>) stream_out(worker, out.val + low, near_out.val, length);
        }
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
