// Launches: a kernel over [0, extent), shared out among the context's threads.
//
// A part runs in order and stops at its first fault. Of several parts' faults that of the lowest part is reported, so what the
// caller sees is the first in iteration order, however the threads ran.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/stream.hpp>
#include <hidp/threads.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

// Starting threads costs some microseconds: each should have this many element operations to do. Tests set it to 1.
#ifndef HIDP_WORK_PER_THREAD
#define HIDP_WORK_PER_THREAD 65536
#endif
constexpr int64_t kWorkPerThread = HIDP_WORK_PER_THREAD;

// A part of a launch should have this many, or it is not worth claiming; a thread has at most so many parts.
constexpr int64_t kPartWork = 4 * kWorkPerThread;
constexpr int64_t kMostPartsEach = 8;

// After so many iterations a part looks whether a lower one has failed: calls end soon after a fault. Tests lower it.
#ifndef HIDP_TURN
#define HIDP_TURN 4194304
#endif
constexpr int64_t kTurn = HIDP_TURN;

// After so many nanoseconds of work whose amount is a guess, and with as many to come, others join: longer than it takes to wake them.
constexpr int64_t kJoinAfter = 20000;

class FirstFault {
 public:
  // Whether a fault of `part` could still be the first.
  bool matters(int64_t part) const { return part < __atomic_load_n(&lowest_, __ATOMIC_RELAXED); }
  HIDP_COLD void report(int64_t part, const hidp_fault &fault) {
    const Locked locked(locked_);
    if (part >= lowest_) return;
    __atomic_store_n(&lowest_, part, __ATOMIC_RELAXED);
    fault_ = fault;
  }
  // After all threads have ended. Whether there was none.
  bool finish(Trap &trap) const {
    if (lowest_ == INT64_MAX) return true;
    trap.raised = true;
    trap.fault = fault_;
    return false;
  }

 private:
  int64_t lowest_ = INT64_MAX;
  bool locked_ = false;
  hidp_fault fault_ = {};
};

// What a part does, as an address: all launches of a file share one copy of what follows.
class PartBody {
 public:
  template <class Body>
  explicit PartBody(const Body &body)
      : body_(&body), call_([](const void *body, Worker &worker, int64_t begin, int64_t end) {
          (*static_cast<const Body *>(body))(worker, begin, end);
        }) {}
  void operator()(Worker &worker, int64_t begin, int64_t end) const { call_(body_, worker, begin, end); }

 private:
  const void *body_;
  void (*call_)(const void *, Worker &, int64_t, int64_t);
};

inline void run_part(Worker &worker, FirstFault &first, int64_t part, int64_t begin, int64_t end, PartBody body) {
  worker.trap.raised = false;
  while (begin < end && first.matters(part) && !worker.trap.raised) {
    const int64_t stop = end - begin > kTurn ? begin + kTurn : end;
    body(worker, begin, stop);
    begin = stop;
  }
  fence_streams(worker);
  if (HIDP_UNLIKELY(worker.trap.raised)) first.report(part, worker.trap.fault);
}

// Whether one thread is done with it sooner than another one is woken.
inline bool is_brief(int64_t work) { return work <= kPartWork; }

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// No bound of its own for the threads of a launch.
constexpr int64_t kAllThreads = INT64_MAX;

inline int64_t work_per_thread(const Host &host) {
  const int64_t each = host.tunables.thread_work;
  return each > 0 ? each : kWorkPerThread;
}

// Whether it is certainly not worth a second thread: known without the quotients that say how many threads it is worth.
inline bool is_for_one(const Host &host, int64_t work) { return work / 2 < work_per_thread(host); }

inline int64_t threads_worth(const Host &host, int64_t parts, int64_t work, int64_t most) {
  const int64_t worth = work / work_per_thread(host);
  const int64_t threads = smaller(smaller(smaller(host.workers(), most), parts), worth);
  return threads < 1 ? 1 : threads;
}

HIDP_KERNEL bool serial_parts(Host &host, int64_t extent, PartBody body) {
  Worker worker(host.context);
  for (int64_t begin = 0; begin < extent && !worker.trap.raised;) {
    const int64_t stop = extent - begin > kTurn ? begin + kTurn : extent;
    body(worker, begin, stop);
    begin = stop;
  }
  fence_streams(worker);
  if (HIDP_UNLIKELY(worker.trap.raised)) host.trap = worker.trap;
  return !worker.trap.raised;
}

// Parts in turn for several threads: each begins with neighbouring ones of its own, which a later call finds in its caches again,
// and then helps the others. Nobody takes the first part of a thread that is about to come: what it does is in its caches.
class Turns {
  struct alignas(128) Queue {
    int64_t next, end, begin;
    int64_t look() const { return __atomic_load_n(&next, __ATOMIC_RELAXED); }
  };

 public:
  static constexpr int64_t kMostQueues = 64;

  Turns(int64_t parts, int64_t threads) : queues_(smaller(threads, kMostQueues)) {
    for (int64_t i = 0; i < queues_; ++i) {
      const Part part(parts, 1, i, queues_);
      queue_[i] = Queue{part.begin, part.end, part.begin};
    }
  }

  // How one thread goes through the queues.
  class Walk {
   public:
    Walk(Turns &turns, int64_t thread) : turns_(turns), thread_(thread) {}
    // The next part, -1 after the last.
    int64_t next() {
      for (; helped_ < turns_.queues_; ++helped_) {
        Queue &queue = turns_.queue_[(thread_ + helped_) % turns_.queues_];
        // Its own it takes from without a look, which would ask for the line twice.
        if (helped_ > 0) {
          if (!waited_) wait_a_moment(queue);
          // Empty queues are not counted on.
          if (queue.look() >= queue.end) continue;
        }
        const int64_t part = __atomic_fetch_add(&queue.next, 1, __ATOMIC_RELAXED);
        if (part < queue.end) return part;
      }
      return -1;
    }

   private:
    // Some times what a thread that does not sleep needs to begin. Those who sleep take longer.
    static constexpr int64_t kMoment = 500;

    // For the thread whose queue it is, if it has not begun.
    void wait_a_moment(const Queue &queue) {
      if (queue.look() != queue.begin) return;
      waited_ = true;
      const int64_t end = nanoseconds() + kMoment;
      while (queue.look() == queue.begin && nanoseconds() < end) pause_briefly();
    }

    Turns &turns_;
    const int64_t thread_;
    int64_t helped_ = 0;
    bool waited_ = false;
  };

 private:
  int64_t queues_;
  Queue queue_[kMostQueues];
};

// Nearly equal parts, in turn. A thread that loses its processor keeps back no more than one of them.
HIDP_KERNEL bool parts_in_turn(Host &host, int64_t extent, int64_t grain, int64_t parts, int64_t threads, int64_t work, PartBody body) {
  if (threads == 1) return serial_parts(host, extent, body);
  FirstFault first;
  Turns turns(parts, threads);
  on_threads(host.context, threads, is_brief(work), [&](int64_t thread) {
    Worker worker(host.context);
    worker.index = thread;
    Turns::Walk walk(turns, thread);
    for (int64_t number; (number = walk.next()) >= 0;) {
      if (!first.matters(number)) continue;
      const Part part(extent, grain, number, parts);
      run_part(worker, first, number, part.begin, part.end, body);
    }
  });
  return first.finish(host.trap);
}

// No part starts before those below it have: parts may wait for lower ones.
HIDP_KERNEL bool ordered_parts(Host &host, int64_t extent, int64_t grain, int64_t most, int64_t work, PartBody body) {
  const int64_t parts = extent / grain + (extent % grain != 0);
  const int64_t threads = threads_worth(host, parts, work, most);
  if (threads == 1) return serial_parts(host, extent, body);
  FirstFault first;
  Claims claims(parts);
  on_threads(host.context, threads, is_brief(work), [&](int64_t thread) {
    Worker worker(host.context);
    worker.index = thread;
    for (int64_t number; (number = claims.next()) >= 0 && first.matters(number);) {
      const Part part(extent, grain, number, parts);
      run_part(worker, first, number, part.begin, part.end, body);
    }
  });
  return first.finish(host.trap);
}

// What others that join a launch do: some parts each, one per grain in turn, or one per grain in order.
enum class Rest { kEven, kInTurn, kInOrder };

// What a guess takes for less than two threads' work. One begins, piece by piece, and looks at the clock between them. The rest is for all.
HIDP_KERNEL bool joined_parts(Host &host, int64_t extent, int64_t grain, int64_t least, int64_t most, Rest how, PartBody body) {
  // A look costs as much as some small iterations, so there are at most four.
  constexpr int64_t kFirst = 64, kGrows = 4;
  const int64_t grains = extent / grain + (extent % grain != 0);
  const int64_t threads = smaller(smaller(host.workers(), most), grains / least);
  if (threads <= 1) return serial_parts(host, extent, body);
  const int64_t start = nanoseconds();
  int64_t done = 0;
  {
    FirstFault first;
    Worker worker(host.context);
    for (int64_t piece = grains / kFirst + 1;; piece *= kGrows) {
      const int64_t next = grains - done > piece ? done + piece : grains;
      run_part(worker, first, 0, done * grain, next == grains ? extent : next * grain, body);
      if (worker.trap.raised) return first.finish(host.trap);
      done = next;
      if (done == grains) return true;
      const double taken = static_cast<double>(nanoseconds() - start);
      if (taken >= kJoinAfter && taken * static_cast<double>(grains - done) >= kJoinAfter * static_cast<double>(done)) break;
    }
  }
  const int64_t begin = done * grain, left = grains - done;
  const auto rest = [=](Worker &worker, int64_t from, int64_t to) { body(worker, begin + from, begin + to); };
  if (how == Rest::kInOrder) return ordered_parts(host, extent - begin, grain, threads, INT64_MAX, PartBody(rest));
  const int64_t even = smaller(threads * kMostPartsEach, left / least < 1 ? 1 : left / least);
  const int64_t parts = how == Rest::kInTurn ? left : even;
  return parts_in_turn(host, extent - begin, grain, parts, smaller(threads, parts), INT64_MAX, PartBody(rest));
}

// Some parts for each thread, if they have `least` grains.
HIDP_KERNEL bool static_parts(Host &host, int64_t extent, int64_t grain, int64_t least, int64_t most, int64_t work, PartBody body) {
  if (is_for_one(host, work)) return serial_parts(host, extent, body);
  const int64_t grains = extent / grain + (extent % grain != 0);
  const int64_t threads = threads_worth(host, grains, work, most);
  const int64_t worth = smaller(smaller(work / kPartWork, grains / least) / threads, kMostPartsEach);
  const int64_t parts = smaller(threads * (worth < 1 ? 1 : worth), grains);
  return parts_in_turn(host, extent, grain, parts, threads, work, body);
}

// As many parts as there are grains.
HIDP_KERNEL bool dynamic_parts(Host &host, int64_t extent, int64_t grain, int64_t most, int64_t work, PartBody body) {
  if (is_for_one(host, work)) return serial_parts(host, extent, body);
  const int64_t parts = extent / grain + (extent % grain != 0);
  return parts_in_turn(host, extent, grain, parts, threads_worth(host, parts, work, most), work, body);
}

// All of these: body(worker, begin, end), on `kMost` threads at most; false after a fault. With `_joined` their work is a guess.

template <class Body>
inline bool launch_serial(Host &host, int64_t extent, const Body &body) {
  return extent <= 0 || serial_parts(host, extent, PartBody(body));
}

template <int64_t kLeast = 1, int64_t kMost = kAllThreads, class Body>
inline bool launch_static(Host &host, int64_t extent, int64_t grain, int64_t work, const Body &body) {
  return extent <= 0 || static_parts(host, extent, grain, kLeast, kMost, work, PartBody(body));
}

template <int64_t kMost = kAllThreads, class Body>
inline bool launch_dynamic(Host &host, int64_t extent, int64_t grain, int64_t work, const Body &body) {
  return extent <= 0 || dynamic_parts(host, extent, grain, kMost, work, PartBody(body));
}

template <int64_t kLeast = 1, int64_t kMost = kAllThreads, class Body>
inline bool launch_static_joined(Host &host, int64_t extent, int64_t grain, int64_t work, const Body &body) {
  if (extent > 0 && is_for_one(host, work)) return joined_parts(host, extent, grain, kLeast, kMost, Rest::kEven, PartBody(body));
  return launch_static<kLeast, kMost>(host, extent, grain, work, body);
}

template <int64_t kMost = kAllThreads, class Body>
inline bool launch_dynamic_joined(Host &host, int64_t extent, int64_t grain, int64_t work, const Body &body) {
  if (extent > 0 && is_for_one(host, work)) return joined_parts(host, extent, grain, 1, kMost, Rest::kInTurn, PartBody(body));
  return launch_dynamic<kMost>(host, extent, grain, work, body);
}

template <int64_t kMost = kAllThreads, class Body>
inline bool launch_ordered(Host &host, int64_t extent, int64_t grain, int64_t work, const Body &body) {
  return extent <= 0 || ordered_parts(host, extent, grain, kMost, work, PartBody(body));
}

template <int64_t kMost = kAllThreads, class Body>
inline bool launch_ordered_joined(Host &host, int64_t extent, int64_t grain, int64_t work, const Body &body) {
  if (extent > 0 && is_for_one(host, work)) return joined_parts(host, extent, grain, 1, kMost, Rest::kInOrder, PartBody(body));
  return launch_ordered<kMost>(host, extent, grain, work, body);
}

HIDP_NAMESPACE_END
