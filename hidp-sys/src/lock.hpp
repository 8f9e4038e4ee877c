// A lock that is held until the end of a block.
#pragma once

#include <pthread.h>

namespace hidp_core {

class Lock {
 public:
  explicit Lock(pthread_mutex_t *mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
  ~Lock() { pthread_mutex_unlock(mutex_); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

 private:
  pthread_mutex_t *mutex_;
};

}  // namespace hidp_core
