// Collects what is dealt out to many places at a time until some cache lines are full, which go past the caches.
//
// Called by: a worker. Run by: that worker alone. Scratch: lines for each place, given by the caller.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/stream.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

// Elements of `to`, put at positions that grow one by one from `first[place]` on for each place.
template <class T>
class LineWriter {
 public:
  // Several lines leave at once: when they do is hard to foresee for a processor.
  static constexpr size_t kBytes = 256;
  static constexpr int64_t kEach = static_cast<int64_t>(kBytes / sizeof(T));
  static constexpr bool exists = kStreamBytes > 0 && kBytes % sizeof(T) == 0 && 64 % sizeof(T) == 0;

  // What `lines` has room for, aligned to a line.
  static constexpr size_t bytes(int64_t places) { return static_cast<size_t>(places) * kBytes; }

  LineWriter(Worker &worker, void *lines, T *to, const int64_t *first) : to_(to), first_(first), lines_(static_cast<T *>(lines)) {
    worker.streamed = true;
    ahead_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) / sizeof(T)) & (kEach - 1);
  }

  HIDP_INLINE void put(unsigned place, int64_t position, const T &value) {
    const int64_t slot = slot_of(position);
    if (slot == 0) flush(place, position);
    put_into(place, slot, value);
  }

  // The same in steps, for two writers whose lines fill at once: those whose slots are the same.
  HIDP_INLINE int64_t slot_of(int64_t position) const { return (position + ahead_) & (kEach - 1); }
  HIDP_INLINE void put_into(unsigned place, int64_t slot, const T &value) { lines_[static_cast<int64_t>(place) * kEach + slot] = value; }
  // To be called when slot 0 of a place is next: by now what is in the line before has left the store buffer, where no vector
  // could be read.
  HIDP_INLINE void flush(unsigned place, int64_t past) {
    if (HIDP_UNLIKELY(past - kEach < first_[place])) return copy_tail(place, past);
    char *const target = reinterpret_cast<char *>(to_ + (past - kEach));
    const char *const source = reinterpret_cast<const char *>(lines_ + static_cast<int64_t>(place) * kEach);
    for (size_t at = 0; at < kBytes; at += kStreamBytes) stream_vector(target + at, source + at);
  }

  // Writes what is left; past[place] is the position behind the last one.
  void finish(const int64_t *past, int64_t places) {
    for (int64_t place = 0; place < places; ++place) copy_tail(static_cast<unsigned>(place), past[place]);
  }

 private:
  // What is held below `past`, if lines are not whole.
  void copy_tail(unsigned place, int64_t past) {
    const int64_t line = past - 1 - ((past - 1 + ahead_) & (kEach - 1));
    const T *const held = lines_ + static_cast<int64_t>(place) * kEach;
    for (int64_t at = line < first_[place] ? first_[place] : line; at < past; ++at) to_[at] = held[at - line];
  }

  T *to_;
  const int64_t *first_;
  T *lines_;
  int64_t ahead_;
};

HIDP_NAMESPACE_END
