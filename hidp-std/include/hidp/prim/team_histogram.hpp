// team_histogram: all threads fold values into bins, or count keys.
//
// Called by: the host function. Run by: all threads of the context. Result: in bins, combined with what they held, when it
// returns true; false after an allocation fault at `site`, a fault of the operator, or a key outside [0, bin_count): a fault at
// `key_site` with the key and the number of bins, the first in order. Scratch: private bins, from the pool.
//
// Elements are shared out in a number of parts that the sizes fix, each with bins of its own, which combine in order: the same
// bits for every number of threads. Operators need a neutral element for that; without one, or with more bins than elements,
// one worker folds in order.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/prim/thread_histogram.hpp>

HIDP_NAMESPACE_BEGIN

constexpr int64_t kHistogramParts = 16;
// Private bins must cost little beside the elements of a part.
constexpr int64_t kElementsPerBin = 4;

// Values are an address, or `Ones`.
template <class T, class Op, class K, class Values>
class TeamHistogram {
 public:
  TeamHistogram(Host &host, uint32_t key_site, const K *keys, Values values, T *bins, int64_t n, int64_t bin_count)
      : host_(host), key_site_(key_site), keys_(keys), values_(values), bins_(bins), n_(n), bin_count_(bin_count) {}

  bool in_order() {
    return launch_serial(host_, 1, [this](Worker &worker, int64_t, int64_t) { fold(worker, bins_, 0, n_); });
  }

  bool in_parts(uint32_t site, T neutral) {
    T *own = host_.template alloc<T>(kHistogramParts * bin_count_, false, site);
    if (own == nullptr) return false;
    bool done = launch_static(host_, kHistogramParts, 1, n_, [=](Worker &worker, int64_t begin, int64_t end) {
      for (int64_t number = begin; number < end && !worker.trap.raised; ++number) {
        T *bins = own + number * bin_count_;
        for (int64_t bin = 0; bin < bin_count_; ++bin) bins[bin] = neutral;
        const Part part(n_, 1, number, kHistogramParts);
        fold(worker, bins, part.begin, part.end);
      }
    });
    if (done) done = combine(own);
    host_.free(own);
    return done;
  }

 private:
  void fold(Worker &worker, T *bins, int64_t begin, int64_t end) {
    const int64_t length = end - begin;
    const int64_t stop =
        thread_histogram<T>(Op(worker.trap), keys_ + begin, values_ + begin, bins, length, bin_count_);
    if (stop < length) worker.trap.raise(key_site_, 2, static_cast<int64_t>(keys_[begin + stop]), bin_count_);
  }

  bool combine(const T *own) {
    return launch_static(host_, bin_count_, 64, bin_count_ * kHistogramParts, [=](Worker &worker, int64_t begin, int64_t end) {
      const Op op(worker.trap);
      for (int64_t part = 0; part < kHistogramParts; ++part)
        for (int64_t bin = begin; bin < end; ++bin) bins_[bin] = op(bins_[bin], own[part * bin_count_ + bin]);
    });
  }

  Host &host_;
  uint32_t key_site_;
  const K *keys_;
  Values values_;
  T *bins_;
  int64_t n_, bin_count_;
};

template <class T, class Op, class K, class Values>
inline bool team_histogram(Host &host, uint32_t site, uint32_t key_site, const K *keys, Values values, T *bins, int64_t n,
                           int64_t bin_count, T neutral, bool has_neutral) {
  TeamHistogram<T, Op, K, Values> work(host, key_site, keys, values, bins, n, bin_count);
  const bool worth_it = has_neutral && n / kHistogramParts >= kElementsPerBin * bin_count && n >= kWorkPerThread;
  return worth_it ? work.in_parts(site, neutral) : work.in_order();
}

HIDP_NAMESPACE_END
