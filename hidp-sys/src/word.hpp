// A word that threads sleep on until another one changes it: a futex on Linux, elsewhere a condition variable.
#pragma once

#include <atomic>
#include <stdint.h>
#if defined(__linux__)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <pthread.h>
#endif

// A test delays threads where their order matters.
#ifdef HIDP_STEP
void HIDP_STEP();
#else
#define HIDP_STEP() static_cast<void>(0)
#endif

namespace hidp_core {

class Word {
 public:
  uint32_t load() const {
    HIDP_STEP();
    return value_.load(std::memory_order_seq_cst);
  }
  uint32_t exchange(uint32_t value) {
    HIDP_STEP();
    return value_.exchange(value, std::memory_order_seq_cst);
  }
  void add(uint32_t more) {
    HIDP_STEP();
    value_.fetch_add(more, std::memory_order_seq_cst);
  }

#if defined(__linux__)
  // Sleeps if the word is `expected`. May return early.
  void wait(uint32_t expected) { syscall(SYS_futex, address(), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0); }
  // Wakes all who sleep. The word was changed before.
  void wake() { syscall(SYS_futex, address(), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }
#else
  void wait(uint32_t expected) {
    pthread_mutex_lock(&mutex_);
    while (load() == expected) pthread_cond_wait(&changed_, &mutex_);
    pthread_mutex_unlock(&mutex_);
  }
  void wake() {
    // Whoever saw the old value under the lock sleeps by now.
    pthread_mutex_lock(&mutex_);
    pthread_cond_broadcast(&changed_);
    pthread_mutex_unlock(&mutex_);
  }
#endif

 private:
  std::atomic<uint32_t> value_{0};
#if defined(__linux__)
  static_assert(sizeof(std::atomic<uint32_t>) == 4, "the kernel looks at four bytes");
  uint32_t *address() { return reinterpret_cast<uint32_t *>(&value_); }
#else
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
#endif
};

}  // namespace hidp_core
