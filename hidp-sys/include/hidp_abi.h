/* The run-time ABI between generated kernels, the C++ core and Rust. Plain C99.
 *
 * Every symbol carries the ABI number. A change of any struct or signature here raises it.
 */
#ifndef HIDP_ABI_H
#define HIDP_ABI_H

#include <stddef.h>
#include <stdint.h>

#define HIDP_ABI 1
#define HIDP_CONCAT2(a, b) a##b
#define HIDP_CONCAT(a, b) HIDP_CONCAT2(a, b)

#ifdef __cplusplus
extern "C" {
#endif

/* What one fault looked like. `values` are the site's values in order: integers sign-extended. */
typedef struct hidp_fault {
  uint32_t site;  /* number in the entry's table of sites */
  uint32_t count; /* how many values are set */
  int64_t values[4];
} hidp_fault;

/* Threads, memory pool and scratch of one context. Made and destroyed by the functions below; usable from several threads
 * at once. */
typedef struct hidp_context hidp_context;

/* Arguments of one call of one entry. */
typedef struct hidp_call {
  hidp_context *context;
  /* One address a parameter in the header's order: of the first element of an array (of readable zeros if it is empty), of the
   * value of a scalar. Aligned for its type. No two overlap unless the entry writes neither. */
  void *const *params;
  const int64_t *dims; /* in the order of first appearance in the header */
  hidp_fault fault;    /* set when the entry returns HIDP_FAULT */
} hidp_call;

enum { HIDP_OK = 0, HIDP_FAULT = 1 };

/* `hidp1_<file>_<function>_<plan>_<isa>` */
typedef int32_t (*hidp_entry)(hidp_call *call);

/* threads = 0 asks for all. Returns null if memory is short. */
hidp_context *hidp1_context_new(uint32_t threads);
void hidp1_context_free(hidp_context *context);
uint32_t hidp1_context_threads(const hidp_context *context);
/* At least 64-byte aligned, bases staggered over 4 KiB, huge pages asked for; null if there is none. Never returns null for
 * 0 bytes. Steady state takes from the pool and asks the system for nothing. */
void *hidp1_pool_take(hidp_context *context, size_t bytes);
void hidp1_pool_give(hidp_context *context, void *block);
/* Bytes that the pool holds from the system, in use or not. */
size_t hidp1_pool_bytes(const hidp_context *context);

#ifdef __cplusplus
}
#endif
#endif
