// Spins for a short time before a thread goes to sleep.
#pragma once

#include <atomic>
#include <stdint.h>
#include <time.h>

namespace hidp_core {

// How long a thread spins before it sleeps: far longer than waking it takes, and than the pauses of a program that calls repeatedly.
constexpr int64_t kSpinNanoseconds = 1'000'000;
// A thread that finds more time than this between two polls was preempted: other threads want its processor. No interrupt takes that long.
constexpr int64_t kGapNanoseconds = 400'000;
// How long no thread spins after that: doubled each time it happens again within the longest pause. The work of the kernel and of the
// virtual machine interrupts occasionally; other programs that compute do so all the time.
constexpr int64_t kShortestPause = 1'000'000;
constexpr int64_t kLongestPause = 20'000'000;

// Whether others want the processors. What several threads find at one time may count as once.
class Crowd {
 public:
  bool holds(int64_t time) const { return time < until_.load(std::memory_order_relaxed); }
  void found(int64_t time) {
    const int64_t doubled = 2 * pause_.load(std::memory_order_relaxed);
    const bool again = time < until_.load(std::memory_order_relaxed) + kLongestPause;
    const int64_t pause = !again ? kShortestPause : doubled < kLongestPause ? doubled : kLongestPause;
    pause_.store(pause, std::memory_order_relaxed);
    until_.store(time + pause, std::memory_order_relaxed);
  }

 private:
  std::atomic<int64_t> until_{-kLongestPause}, pause_{kShortestPause};
};

inline Crowd crowd;

inline int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

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
    if (crowd.holds(start)) return false;
    for (int64_t before = start, time = start; time - start < kSpinNanoseconds; before = time) {
      for (int look = 0; look < kLooksAtOnce; ++look) {
        if (done()) return true;
        pause();
      }
      time = now();
      if (time - before < kGapNanoseconds) continue;
      crowd.found(time);
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
};

}  // namespace hidp_core
