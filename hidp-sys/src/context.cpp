// The C functions of the ABI.
#include "hidp_abi.h"

#include <atomic>
#include <new>
#include <stdlib.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include "pool.hpp"

struct hidp_context {
  uint32_t threads;
  hidp_core::Pool pool;
};

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

// Constant-initialised: objects add themselves while the program starts, in any order.
std::atomic<hidp_device_code *> device_code{nullptr};
std::atomic<const hidp_executor *> executor{nullptr};

}  // namespace

extern "C" {

hidp_context *hidp2_context_new(uint32_t threads) {
  void *memory = malloc(sizeof(hidp_context));
  if (memory == nullptr) return nullptr;
  return new (memory) hidp_context{threads == 0 ? available_threads() : threads, {}};
}

void hidp2_context_free(hidp_context *context) {
  if (context == nullptr) return;
  context->~hidp_context();
  free(context);
}

uint32_t hidp2_context_threads(const hidp_context *context) { return context->threads; }

void *hidp2_pool_take(hidp_context *context, size_t bytes) { return context->pool.take(bytes); }

void hidp2_pool_give(hidp_context *context, void *block) { context->pool.give(block); }

size_t hidp2_pool_bytes(const hidp_context *context) { return context->pool.bytes(); }

void hidp2_device_code_add(hidp_device_code *code) {
  code->next = device_code.load(std::memory_order_relaxed);
  while (!device_code.compare_exchange_weak(code->next, code, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

const hidp_device_code *hidp2_device_code_first(void) { return device_code.load(std::memory_order_acquire); }

void hidp2_executor_set(const hidp_executor *found) { executor.store(found, std::memory_order_release); }

const hidp_executor *hidp2_executor(void) { return executor.load(std::memory_order_acquire); }

}
