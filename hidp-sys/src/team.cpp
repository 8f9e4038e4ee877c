#include "team.hpp"

#include <errno.h>
#include <new>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "helper.hpp"

namespace hidp_core {

Team team;

namespace {

thread_local uint32_t most_threads = 0;

// Kernels keep tiles on the stack. Some systems give new threads half a megabyte or less.
constexpr size_t kLeastStack = size_t{4} << 20;
// How many helpers one thread wakes before it starts to work itself.
constexpr uint32_t kWakesEach = 4;
// No helper has this number.
constexpr uint16_t kNone = kMostHelpers;

void *helper_main(void *helper) {
  static_cast<Helper *>(helper)->run();
  return nullptr;
}

// Signals go to the program's own threads, except those that a thread raises itself, and profilers'.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    constexpr int kOwn[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    for (const int own : kOwn) sigdelset(&blocked, own);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

 private:
  sigset_t before_;
};

int start_thread(Helper &helper, uint32_t number) {
  pthread_attr_t attributes;
  if (const int error = pthread_attr_init(&attributes)) return error;
  size_t stack = 0;
  if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < kLeastStack) pthread_attr_setstacksize(&attributes, kLeastStack);
  const SignalsBlocked blocked;
  const int error = pthread_create(&helper.thread, &attributes, helper_main, &helper);
  pthread_attr_destroy(&attributes);
#if defined(__linux__)
  if (error == 0) {
    char name[16];
    snprintf(name, sizeof name, "hidp-%u", number + 1);
    pthread_setname_np(helper.thread, name);
  }
#else
  (void)number;
#endif
  return error;
}

}  // namespace

// The helpers that a launch invited, as members 1, 2, ….
struct Team::Invited {
  uint32_t count = 0;
  uint32_t asleep = 0;
  uint16_t number[kMostHelpers];
};

int Team::start_one(uint32_t number, uint32_t processors) {
  void *memory = helper_[number];
  if (memory == nullptr && posix_memalign(&memory, alignof(Helper), sizeof(Helper)) != 0) return ENOMEM;
  helper_[number] = new (memory) Helper;
  helper_[number]->spins = number + 1 < processors;
  return start_thread(*helper_[number], number);
}

int Team::start(uint32_t &wanted, uint32_t processors) {
  if (wanted > kMostHelpers) wanted = kMostHelpers;
  const uint32_t running = running_.load(std::memory_order_relaxed);
  for (uint32_t number = running; number < wanted; ++number) {
    const int error = start_one(number, processors);
    if (error == 0) continue;
    stop_from(running, number);
    wanted = number;
    return error;
  }
  // Only now can others invite them.
  if (wanted > running) running_.store(wanted, std::memory_order_release);
  return 0;
}

void Team::stop_from(uint32_t first, uint32_t end) {
  for (uint32_t number = first; number < end; ++number) {
    helper_[number]->invite(kStop);
    helper_[number]->wake();
  }
  for (uint32_t number = first; number < end; ++number) pthread_join(helper_[number]->thread, nullptr);
}

void Team::stop() {
  stop_from(0, running_.exchange(0, std::memory_order_acq_rel));
  for (Helper *&helper : helper_) {
    free(helper);
    helper = nullptr;
  }
}

void Team::forget() { running_.store(0, std::memory_order_relaxed); }

void Team::invite_one(Job &job, uint32_t number, Invited &invited) {
  Helper &helper = *helper_[number];
  if (!helper.invite(job.invitation(invited.count + 1))) return;
  invited.number[invited.count++] = static_cast<uint16_t>(number);
  if (helper.sleeps()) job.sleepers[invited.asleep++] = static_cast<uint16_t>(number);
}

// Idle helpers, from the first on: so a member is the same thread as in the previous launch, whose caches may hold its data. If there are
// not enough, also busy ones, which come when they have finished their work.
void Team::invite(Job &job, uint32_t members, bool brief, Invited &invited) {
  const uint32_t running = running_.load(std::memory_order_acquire);
  // Waking a helper takes three times as long as a brief launch, and a woken helper spins for a while. So a single brief launch wakes none.
  bool leaves_sleepers = brief, known = !brief;
  for (uint32_t number = 0; number < running && invited.count + 1 < members; ++number) {
    const Helper &helper = *helper_[number];
    if (!helper.is_idle()) continue;
    if (leaves_sleepers && helper.sleeps()) {
      if (!known) leaves_sleepers = !one_follows_another(), known = true;
      if (leaves_sleepers) continue;
    }
    invite_one(job, number, invited);
  }
  for (uint32_t number = 0; number < running && invited.count + 1 < members; ++number) {
    if (!helper_[number]->is_idle()) invite_one(job, number, invited);
  }
  job.sleeping.store(invited.asleep, std::memory_order_release);
}

// Whether another brief launch met a sleeping helper shortly before this one.
bool Team::one_follows_another() {
  const int64_t time = now();
  return time - met_sleeper_.exchange(time, std::memory_order_relaxed) < kSpinNanoseconds;
}

void Team::run(int64_t wanted, bool brief, hidp_team_body body, void *state) {
  Job job(body, state);
  Invited invited;
  invite(job, wanted > int64_t{kMostMembers} ? kMostMembers : static_cast<uint32_t>(wanted), brief, invited);
  job.wake_more();
  body(state, 0);
  // A helper that came from now on would find nothing to do.
  uint32_t came = 1;
  for (uint32_t at = 0; at < invited.count; ++at) {
    if (helper_[invited.number[at]]->take_back(job.invitation(at + 1))) invited.number[at] = kNone;
    else ++came;
  }
  note_threads(came);
  for (uint32_t at = 0; at < invited.count; ++at) {
    if (invited.number[at] != kNone) helper_[invited.number[at]]->wait_until_left(job.invitation(at + 1));
  }
}

void note_threads(uint32_t came) {
  if (came > most_threads) most_threads = came;
}

uint32_t exchange_threads(uint32_t from) {
  const uint32_t most = most_threads;
  most_threads = from;
  return most;
}

void Team::wake(uint16_t number) { helper_[number]->wake(); }

void Job::wake_more() {
  const uint32_t listed = sleeping.load(std::memory_order_acquire);
  for (uint32_t woke = 0; woke < kWakesEach && listed > 0; ++woke) {
    const uint32_t at = woken.fetch_add(1, std::memory_order_relaxed);
    if (at >= listed) return;
    team.wake(sleepers[at]);
  }
}

}  // namespace hidp_core
