// The C functions of the ABI.
#include "hidp_abi.h"

#include <atomic>
#include <new>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include "context.hpp"
#include "lock.hpp"
#include "team.hpp"

namespace {

// Processors that this process may run on.
uint32_t available_threads() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return static_cast<uint32_t>(CPU_COUNT(&set));
#endif
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<uint32_t>(online) : 1;
}

// Of the list of contexts and of the team's size. Taken before the lock of a pool.
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
hidp_context *contexts = nullptr;

// A process is forked while nobody holds a lock, so that its child finds all of them free and everything behind them whole. Only the thread
// that forks is in the child: the team has no helpers there until a context starts some.
void before_fork() {
  pthread_mutex_lock(&lock);
  for (hidp_context *context = contexts; context != nullptr; context = context->next) context->pool.lock();
}
void after_fork() {
  for (hidp_context *context = contexts; context != nullptr; context = context->next) context->pool.unlock();
  pthread_mutex_unlock(&lock);
}
void after_fork_in_child() {
  hidp_core::team.forget();
  for (hidp_context *context = contexts; context != nullptr; context = context->next) {
    __atomic_store_n(&context->started, false, __ATOMIC_RELAXED);
  }
  after_fork();
}
// Under the lock.
bool mind_forks() {
  static bool minded = false;
  if (!minded) minded = pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
  return minded;
}

// How many helpers the contexts want: each enough for itself, and those that are busy at one time as many together as there are processors.
uint32_t helpers_wanted(uint32_t processors) {
  uint64_t most = 0, all = 0;
  for (const hidp_context *context = contexts; context != nullptr; context = context->next) {
    const uint64_t own = context->threads - 1;
    all += own;
    if (own > most) most = own;
  }
  const uint64_t together = all < processors - 1 ? all : processors - 1;
  return static_cast<uint32_t>(together > most ? together : most);
}

// Constant-initialised: objects add themselves while the program starts, in any order.
std::atomic<bool> team_is_used{false};
std::atomic<hidp_device_code *> device_code{nullptr};
std::atomic<const hidp_executor *> executor{nullptr};

}  // namespace

extern "C" {

hidp_context *hidp2_context_new(uint32_t threads) {
  void *memory = malloc(sizeof(hidp_context));
  if (memory == nullptr) return nullptr;
  auto *context = new (memory) hidp_context(threads == 0 ? available_threads() : threads);
  const hidp_core::Lock locked(&lock);
  if (!mind_forks()) {
    context->~hidp_context();
    free(context);
    return nullptr;
  }
  context->next = contexts;
  if (contexts != nullptr) contexts->previous = context;
  contexts = context;
  return context;
}

void hidp2_context_free(hidp_context *context) {
  if (context == nullptr) return;
  {
    const hidp_core::Lock locked(&lock);
    if (context->previous != nullptr) context->previous->next = context->next; else contexts = context->next;
    if (context->next != nullptr) context->next->previous = context->previous;
    if (contexts == nullptr) hidp_core::team.stop();
  }
  context->~hidp_context();
  free(context);
}

uint32_t hidp2_context_threads(const hidp_context *context) { return context->threads; }

void hidp2_team_use(void) { team_is_used.store(true, std::memory_order_relaxed); }

int32_t hidp2_context_started(const hidp_context *context) {
  return __atomic_load_n(&context->started, __ATOMIC_RELAXED) || !team_is_used.load(std::memory_order_relaxed);
}

int32_t hidp2_context_start(hidp_context *context, uint32_t *available) {
  *available = context->threads;
  if (!team_is_used.load(std::memory_order_relaxed)) return 0;
  const hidp_core::Lock locked(&lock);
  const uint32_t processors = available_threads();
  // What the context itself lacks is an error; what several could use at one time is not.
  uint32_t helpers = context->threads - 1;
  const int error = hidp_core::team.start(helpers, processors);
  *available = helpers + 1;
  if (error != 0) return error;
  helpers = helpers_wanted(processors);
  hidp_core::team.start(helpers, processors);
  __atomic_store_n(&context->started, true, __ATOMIC_RELAXED);
  return 0;
}

void hidp2_team_run(hidp_context *, int64_t wanted, int32_t brief, hidp_team_body body, void *state) {
  if (wanted > 1) hidp_core::team.run(wanted, brief != 0, body, state);
  else body(state, 0);
}

uint32_t hidp2_threads_ran(uint32_t from) { return hidp_core::exchange_threads(from); }

void hidp2_threads_came(uint32_t threads) { hidp_core::note_threads(threads); }

void *hidp2_pool_take(hidp_context *context, size_t bytes) { return context->pool.take(bytes); }

void hidp2_pool_give(hidp_context *context, void *block) { context->pool.give(block); }

size_t hidp2_pool_bytes(const hidp_context *context) { return context->pool.bytes(); }

void hidp2_pool_limit(hidp_context *context, size_t most, hidp_room room) { context->pool.limit(most, room); }

void hidp2_device_code_add(hidp_device_code *code) {
  code->next = device_code.load(std::memory_order_relaxed);
  while (!device_code.compare_exchange_weak(code->next, code, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

const hidp_device_code *hidp2_device_code_first(void) { return device_code.load(std::memory_order_acquire); }

void hidp2_executor_set(const hidp_executor *found) { executor.store(found, std::memory_order_release); }

const hidp_executor *hidp2_executor(void) { return executor.load(std::memory_order_acquire); }

}
