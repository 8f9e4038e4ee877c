// All contexts of the process, and what a fork does to them.
#pragma once

#include <stdint.h>

#include "pool.hpp"

struct hidp_context {
  explicit hidp_context(uint32_t wanted) : threads(wanted) {}

  const uint32_t threads;
  // Whether the team has had enough helpers for it, in this process.
  bool started = false;
  hidp_context *previous = nullptr;
  hidp_context *next = nullptr;
  hidp_core::Pool pool;
};
