// Looks again and again for a short time, before a thread goes to sleep.
#pragma once

#include <atomic>
#include <stdint.h>
#include <time.h>

namespace hidp_core {

// How long a thread looks before it sleeps: far longer than waking it takes, and than the pauses of a program that calls again and again.
constexpr int64_t kSpinNanoseconds = 1'000'000;
// A thread that finds so much time gone between two looks had lost its processor: others want it. No interrupt takes that long.
constexpr int64_t kGapNanoseconds = 400'000;
// For so long nobody spins then.
constexpr int64_t kCrowdedNanoseconds = 20'000'000;

// When the machine is taken for free again.
inline std::atomic<int64_t> crowded_until{0};

class Spin {
 public:
  // Whether `done()` came true in time.
  template <class Done>
  bool until(Done done) const {
    for (int look = 0; look < kLooksAtOnce; ++look) {
      if (done()) return true;
      pause();
    }
    const int64_t start = now();
    if (start < crowded_until.load(std::memory_order_relaxed)) return false;
    for (int64_t before = start, time = start; time - start < kSpinNanoseconds; before = time) {
      for (int look = 0; look < kLooksAtOnce; ++look) {
        if (done()) return true;
        pause();
      }
      time = now();
      if (time - before < kGapNanoseconds) continue;
      crowded_until.store(time + kCrowdedNanoseconds, std::memory_order_relaxed);
      return done();
    }
    return false;
  }

 private:
  // Between two looks at the clock.
  static constexpr int kLooksAtOnce = 16;

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
  }
  static int64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
};

}  // namespace hidp_core
