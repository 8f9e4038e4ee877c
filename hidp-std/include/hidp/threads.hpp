// Runs a function on several threads: those of the run time's team, or OpenMP's.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <hidp/abi.hpp>

// Whose threads launches run on.
#define HIDP_THREADS_OF_NOBODY 0
#define HIDP_THREADS_OF_TEAM 1
#define HIDP_THREADS_OF_OPENMP 2
#ifndef HIDP_THREADS_OF
#define HIDP_THREADS_OF HIDP_THREADS_OF_TEAM
#endif

#if HIDP_THREADS_OF == HIDP_THREADS_OF_OPENMP
#include <omp.h>
#endif

HIDP_NAMESPACE_BEGIN

#if HIDP_THREADS_OF == HIDP_THREADS_OF_TEAM
__attribute__((constructor)) static void use_team() { hidp2_team_use(); }
#endif

// body(member) on the calling thread, which is member 0, and on others, which are members below `wanted`. They may come late, or not at
// all: a body claims what there is to do, part by part, and leaves when nothing is left. It never waits for a part that nobody has claimed.
// Threads that sleep are not woken for what is brief, unless more of it follows soon.
template <class Body>
inline void on_threads(hidp_context *context, int64_t wanted, bool brief, const Body &body) {
#if HIDP_THREADS_OF == HIDP_THREADS_OF_TEAM
  if (wanted > 1) {
    const auto call = [](void *state, int64_t member) { (*static_cast<const Body *>(state))(member); };
    hidp2_team_run(context, wanted, brief, call, const_cast<void *>(static_cast<const void *>(&body)));
    return;
  }
#elif HIDP_THREADS_OF == HIDP_THREADS_OF_OPENMP
  if (wanted > 1) {
    uint32_t came = 1;
#pragma omp parallel num_threads(static_cast<int>(wanted))
    {
      if (omp_get_thread_num() == 0) came = static_cast<uint32_t>(omp_get_num_threads());
      body(static_cast<int64_t>(omp_get_thread_num()));
    }
    hidp2_threads_came(came);
    return;
  }
#endif
  (void)context, (void)wanted, (void)brief;
  body(int64_t{0});
}

inline int64_t nanoseconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("isb" ::: "memory");
#endif
}

// Waits for what another thread is about to do: looks for a short time, then sleeps between looks, so that it gets the processor.
template <class Holds>
inline void wait_until(const Holds &holds) {
  constexpr int kLooks = 256;
  for (int looks = 0; !holds(); ++looks) {
    if (looks < kLooks) {
      pause_briefly();
      continue;
    }
    const timespec moment{0, 50000};
    nanosleep(&moment, nullptr);
  }
}

// A lock that is held for some instructions, by whoever is in the block. A thread that finds it taken for longer sleeps.
class Locked {
 public:
  explicit Locked(bool &taken) : taken_(taken) {
    while (__atomic_test_and_set(&taken_, __ATOMIC_ACQUIRE)) {
      wait_until([&] { return !__atomic_load_n(&taken_, __ATOMIC_RELAXED); });
    }
  }
  ~Locked() { __atomic_clear(&taken_, __ATOMIC_RELEASE); }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;

 private:
  bool &taken_;
};

// [begin, end) of part `part` of `parts` nearly equal parts of [0, extent); each but the last a multiple of `grain`. Those with a grain more
// lie as far apart as they can, so that as many neighbours hold as much wherever they are.
struct Part {
  Part(int64_t extent, int64_t grain, int64_t part, int64_t parts) {
    const int64_t grains = extent / grain + (extent % grain != 0);
    const int64_t each = grains / parts, more = grains % parts;
    const auto before = [=](int64_t number) { return number * each + number * more / parts; };
    const int64_t first = before(part), past = before(part + 1);
    begin = first == grains ? extent : first * grain;
    end = past == grains ? extent : past * grain;
  }
  int64_t begin;
  int64_t end;
};

// Claims numbers below `count`, each once, in order.
class Claims {
 public:
  explicit Claims(int64_t count) : count_(count) {}
  // -1 when there are no more.
  int64_t next() {
    const int64_t number = __atomic_fetch_add(&next_, 1, __ATOMIC_RELAXED);
    return number < count_ ? number : -1;
  }

 private:
  const int64_t count_;
  int64_t next_ = 0;
};

inline void parallel_zero(hidp_context *context, void *block, size_t bytes, int64_t threads) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  const int64_t extent = static_cast<int64_t>(bytes), pieces = extent / kPiece + (extent % kPiece != 0);
  Claims claims(pieces);
  on_threads(context, threads < pieces ? threads : pieces, false, [&](int64_t) {
    for (int64_t number; (number = claims.next()) >= 0;) {
      const Part part(extent, 4096, number, pieces);
      __builtin_memset(static_cast<char *>(block) + part.begin, 0, static_cast<size_t>(part.end - part.begin));
    }
  });
}

HIDP_NAMESPACE_END
