// Storage of one context: blocks of a few sizes, taken from the system once and handed out again and again.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "hidp_abi.h"

namespace hidp_core {

struct Block;

class Pool {
 public:
  Pool();
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  // Null if there is none; never for 0 bytes.
  void *take(size_t bytes);
  void give(void *data);
  // From the system, in use or not.
  size_t bytes() const;
  // See `hidp2_pool_limit`.
  void limit(size_t most, hidp_room room);

  // Around a fork.
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  static constexpr size_t kClasses = 176;

  Block *take_idle(size_t size_class);
  Block *make(size_t size_class);
  void *from_system(size_t alignment, size_t bytes);
  bool may_hold(size_t bytes) const;
  void destroy(Block *block);
  void release_idle(size_t limit);

  mutable pthread_mutex_t mutex_;
  Block *idle_[kClasses] = {};
  Block *all_ = nullptr;
  size_t held_bytes_ = 0;
  size_t idle_bytes_ = 0;
  uint32_t made_ = 0;
  size_t most_bytes_ = SIZE_MAX;
  hidp_room room_ = nullptr;
};

}  // namespace hidp_core
