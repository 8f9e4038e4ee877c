// The C functions of the ABI.
#include "hidp_abi.h"

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

}  // namespace

extern "C" {

hidp_context *hidp1_context_new(uint32_t threads) {
  void *memory = malloc(sizeof(hidp_context));
  if (memory == nullptr) return nullptr;
  return new (memory) hidp_context{threads == 0 ? available_threads() : threads, {}};
}

void hidp1_context_free(hidp_context *context) {
  if (context == nullptr) return;
  context->~hidp_context();
  free(context);
}

uint32_t hidp1_context_threads(const hidp_context *context) { return context->threads; }

void *hidp1_pool_take(hidp_context *context, size_t bytes) { return context->pool.take(bytes); }

void hidp1_pool_give(hidp_context *context, void *block) { context->pool.give(block); }

size_t hidp1_pool_bytes(const hidp_context *context) { return context->pool.bytes(); }

}
