// Collects what is dealt out to many places at a time until a cache line is full, which goes past the caches.
//
// Called by: a worker. Run by: that worker alone. Scratch: a line for each place, inside.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/stream.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

// Elements of `to`, put at positions that grow one by one from `first[place]` on for each place.
template <class T, int Places>
class LineWriter {
 public:
  static constexpr int64_t kEach = 64 / static_cast<int64_t>(sizeof(T));
  static constexpr bool exists = kStreamBytes > 0 && sizeof(T) * kEach == 64;

  LineWriter(Worker &worker, T *to, const int64_t *first) : worker_(worker), to_(to), first_(first) {
    ahead_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) / sizeof(T)) & (kEach - 1);
  }

  HIDP_INLINE void put(unsigned place, int64_t position, const T &value) {
    T *const line = lines_[place];
    const int64_t slot = (position + ahead_) & (kEach - 1);
    line[slot] = value;
    if (slot == kEach - 1) flush(place, position + 1);
  }

  // Writes what is left; past[place] is the position behind the last one.
  void finish(const int64_t *past) {
    for (unsigned place = 0; place < Places; ++place) copy_tail(place, past[place]);
    fence_streams(worker_);
  }

 private:
  HIDP_INLINE void flush(unsigned place, int64_t past) {
    if (HIDP_UNLIKELY(past - kEach < first_[place])) return copy_tail(place, past);
    worker_.streamed = true;
    char *const target = reinterpret_cast<char *>(to_ + (past - kEach));
    const char *const source = reinterpret_cast<const char *>(lines_[place]);
    for (size_t at = 0; at < 64; at += kStreamBytes) stream_vector(target + at, source + at);
  }
  // What the last line holds below `past`, if that is not a whole one.
  void copy_tail(unsigned place, int64_t past) {
    const int64_t line = past - 1 - ((past - 1 + ahead_) & (kEach - 1));
    for (int64_t at = line < first_[place] ? first_[place] : line; at < past; ++at) to_[at] = lines_[place][at - line];
  }

  Worker &worker_;
  T *to_;
  const int64_t *first_;
  int64_t ahead_;
  alignas(64) T lines_[Places][kEach];
};

HIDP_NAMESPACE_END
