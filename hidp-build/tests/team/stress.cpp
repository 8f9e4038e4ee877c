// Launches of the team where its threads are delayed between the steps of their protocol: `HIDP_STEP` is called before each of a thread's
// looks at a word that threads sleep on. A wake-up that is lost is a launch that never ends, for which the alarm is set.
//
// Everything runs on at most two processors, so that helpers sleep as soon as they have nothing to do, but for the first.
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include <hidp/launch.hpp>
#include <hidp/ops.hpp>
#include <hidp/prim/team_scan.hpp>

namespace {

#define CHECK(holds) \
  do { \
    if (!(holds)) fprintf(stderr, "line %d: %s\n", __LINE__, #holds), abort(); \
  } while (false)

struct Random {
  uint64_t state;
  uint64_t below(uint64_t end) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % end;
  }
};

// Each thread's own.
Random &random_here() {
  static uint64_t threads = 0;
  thread_local Random random{0x9e3779b97f4a7c15 * (1 + __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED))};
  return random;
}

void sleep_for(int64_t microseconds) {
  const timespec time{0, microseconds * 1000};
  nanosleep(&time, nullptr);
}

void run_on_two_processors() {
  cpu_set_t allowed, two;
  CPU_ZERO(&two);
  CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  for (int number = 0; number < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++number) {
    if (CPU_ISSET(number, &allowed)) CPU_SET(number, &two);
  }
  CHECK(sched_setaffinity(0, sizeof two, &two) == 0);
}

class Context {
 public:
  explicit Context(uint32_t threads) : raw_(hidp2_context_new(threads)) {
    uint32_t available = 0;
    CHECK(raw_ != nullptr && hidp2_context_start(raw_, &available) == 0 && available == threads);
  }
  ~Context() { hidp2_context_free(raw_); }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  hidp_context *raw() const { return raw_; }

 private:
  hidp_context *raw_;
};

// All of them come, and none leaves before: whoever sleeps is woken. Helpers that work while the caller is done are waited for.
void everybody_comes(int launches) {
  const Context context(4);
  for (int launch = 0; launch < launches; ++launch) {
    int here = 0;
    hidp::on_threads(context.raw(), 4, false, [&](int64_t member) {
      __atomic_fetch_add(&here, 1, __ATOMIC_SEQ_CST);
      while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < 4) sched_yield();
      if (member > 1 && launch % 16 == 0) sleep_for(1500);
    });
    if (launch % 4 == 0) sleep_for(static_cast<int64_t>(random_here().below(200)));
  }
}

// Every iteration is done once, whatever the schedule, and whether sleepers are woken for it or not.
void launch_all_kinds(hidp::Host &host, int64_t extent) {
  std::vector<int32_t> done(static_cast<size_t>(extent), 0);
  const auto body = [&](hidp::Worker &, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++done[static_cast<size_t>(i)];
  };
  const int64_t work = random_here().below(3) == 0 ? hidp::kPartWork : extent << 20;
  CHECK(hidp::is_brief(work) == (work == hidp::kPartWork));
  CHECK(hidp::launch_static(host, extent, 1, work, body));
  CHECK(hidp::launch_dynamic(host, extent, 3, work, body));
  CHECK(hidp::launch_ordered(host, extent, 5, work, body));
  for (const int32_t count : done) CHECK(count == 3);
}

// Parts differ by a grain at most, and so do equally many neighbours, wherever the first of them is.
void parts_are_even() {
  for (int64_t grains = 0; grains < 70; ++grains) {
    for (int64_t parts = 1; parts <= 18; ++parts) {
      for (int64_t together = 1; together <= parts; ++together) {
        for (int64_t first = 0; first + together <= parts; ++first) {
          const int64_t begin = hidp::Part(grains * 3, 3, first, parts).begin / 3;
          const int64_t past = hidp::Part(grains * 3, 3, first + together - 1, parts).end / 3;
          const int64_t fair = grains * together / parts;
          CHECK(past - begin >= fair && past - begin <= fair + 1);
          CHECK(first > 0 || begin == 0);
          CHECK(first + together < parts || past == grains);
        }
      }
    }
  }
}

// What a part does first is done once per thread where there is little more to do.
void parts_are_large_enough() {
  const Context context(2);
  hidp_call call{};
  call.context = context.raw();
  hidp::Host host(&call);
  std::atomic<int> parts{0};
  const auto body = [&](hidp::Worker &, int64_t begin, int64_t end) {
    CHECK(end - begin == 8);
    ++parts;
  };
  CHECK(hidp::launch_static<8>(host, 16, 1, int64_t{1} << 40, body));
  CHECK(parts == 2);
}

// Work that seems to be little: one thread begins, and others join where it takes long. Every iteration is done once, and the first fault is
// the one that is reported, whoever meets it.
void others_join_what_takes_long() {
  const Context context(2);
  hidp_call call{};
  call.context = context.raw();
  constexpr int64_t kExtent = 301;
  for (const int64_t fault : {int64_t{0}, int64_t{3}, int64_t{200}, kExtent}) {
    hidp::Host host(&call);
    std::vector<int32_t> done(kExtent, 0);
    const auto body = [&](hidp::Worker &worker, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        worker.trap.raised = i >= fault;
        worker.trap.fault.values[0] = i;
        if (worker.trap.raised) return;
        sleep_for(20);
        ++done[static_cast<size_t>(i)];
      }
    };
    // A thread that is woken may come when all is done.
    const auto has_as_many = [&] {
      const uint32_t ran = hidp2_threads_ran(1);
      return ran == 1 || (ran == 2 && fault >= 200);
    };
    hidp2_threads_ran(1);
    const bool even = hidp::launch_static_joined<8>(host, kExtent, 3, 1, body);
    CHECK(even == (fault == kExtent) && (even || host.trap.fault.values[0] == fault));
    CHECK(has_as_many());
    host.trap.raised = false;
    const bool in_turn = hidp::launch_dynamic_joined(host, kExtent, 3, 1, body);
    CHECK(in_turn == even && (in_turn || host.trap.fault.values[0] == fault));
    CHECK(has_as_many());
    host.trap.raised = false;
    const bool in_order = hidp::launch_ordered_joined(host, kExtent, 3, 1, body);
    CHECK(in_order == even && (in_order || host.trap.fault.values[0] == fault));
    CHECK(has_as_many());
    for (int64_t i = 0; i < fault; ++i) CHECK(done[static_cast<size_t>(i)] == 3);
  }
  // One comes at last, and what is left is in one part per grain then.
  hidp::Host both(&call);
  bool came = false;
  for (int launch = 0; launch < 100 && !came; ++launch) {
    std::atomic<int> parts{0};
    const auto body = [&](hidp::Worker &, int64_t begin, int64_t end) {
      sleep_for(20 * (end - begin));
      parts += end - begin == 3;
    };
    CHECK(hidp::launch_dynamic_joined(both, kExtent - 1, 3, 1, body));
    came = hidp2_threads_ran(1) == 2;
    CHECK(!came || parts > 50);
  }
  CHECK(came);
  // What is done at once is nothing for a second one, unless this one loses its processor in between.
  hidp::Host host(&call);
  int alone = 0;
  for (int launch = 0; launch < 100; ++launch) {
    CHECK(hidp::launch_static_joined(host, kExtent, 1, 1, [](hidp::Worker &, int64_t, int64_t) {}));
    alone += hidp2_threads_ran(1) == 1;
  }
  CHECK(alone > 50);
}

// In place, which lets workers read what others are about to overwrite.
void scan(hidp::Host &host, int64_t n) {
  std::vector<int32_t> values(static_cast<size_t>(n), 1);
  using Plus = hidp::Add<int32_t>;
  CHECK((hidp::team_scan<int32_t, Plus>(host, 0, values.data(), values.data(), n, 0, true, false)));
  for (int64_t i = 0; i < n; ++i) CHECK(values[static_cast<size_t>(i)] == i + 1);
}

// Of several contexts, some of which come and go.
void callers(int calls) {
  const Context contexts[] = {Context(2), Context(3), Context(6)};
  std::vector<std::thread> threads;
  for (int caller = 0; caller < 3; ++caller) {
    threads.emplace_back([&] {
      Random &random = random_here();
      for (int number = 0; number < calls; ++number) {
        const Context passing(1 + static_cast<uint32_t>(random.below(5)));
        const uint64_t which = random.below(4);
        hidp_call call{};
        call.context = (which < 3 ? contexts[which] : passing).raw();
        hidp::Host host(&call);
        launch_all_kinds(host, 1 + static_cast<int64_t>(random.below(40)));
        if (number % 8 == 0) scan(host, 400000);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

}  // namespace

// What HIDP_STEP names.
void step_of_team();
void step_of_team() {
  Random &random = random_here();
  if (random.below(8) == 0) sleep_for(static_cast<int64_t>(random.below(60)));
}

int main() {
  alarm(120);
  run_on_two_processors();
  everybody_comes(300);
  callers(24);
  parts_are_even();
  parts_are_large_enough();
  others_join_what_takes_long();
  puts("all launches ended");
}
