/* The run-time ABI between generated kernels, the C++ core and Rust. Plain C99.
 *
 * Every symbol carries the ABI number. A change of any struct or signature here raises it.
 */
#ifndef HIDP_ABI_H
#define HIDP_ABI_H

#include <stddef.h>
#include <stdint.h>

#define HIDP_ABI 2
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

/* The accelerator and the stream of one call. No function throws, and each may be called from the calling thread alone. The
 * device's primary context is current while the entry runs. */
typedef struct hidp_device {
  void *state;  /* of the run time: first argument of the functions below */
  void *stream; /* a cudaStream_t: all work of the call goes into it */
  int32_t ordinal; /* of the device */
  int32_t multiprocessors;
  int32_t threads_per_multiprocessor; /* that are resident at most */
  /* Device memory from a pool, 256-byte aligned, valid in the stream's order: what was given back may be taken again at once.
   * Null if there is none; never null for 0 bytes. */
  void *(*take)(void *state, size_t bytes);
  void (*give)(void *state, void *block);
  /* The same of page-locked host memory, 64-byte aligned. The host may touch it at once, so that it is given back only when the
   * stream is done with it. */
  void *(*take_pinned)(void *state, size_t bytes);
  void (*give_pinned)(void *state, void *block);
} hidp_device;

/* What a tuner may vary from call to call; 0 stands for what is usual. */
typedef struct hidp_tunables {
  int64_t threads;      /* workers at most */
  int64_t thread_work;  /* element operations that a worker should have before it is started */
  int64_t segment_work; /* elements of segments that a worker takes at once */
  int64_t team_segment; /* elements of a segment that is worth all workers */
} hidp_tunables;

/* Arguments of one call of one entry. */
typedef struct hidp_call {
  hidp_context *context;
  const hidp_device *device; /* null for code that runs on the CPU */
  /* One address a parameter in the header's order: of the first element of an array (of readable zeros if it is empty), of the
   * value of a scalar. Aligned for its type. No two overlap unless the entry writes neither.
   * With a device, arrays are in its memory and scalars in the host's. */
  void *const *params;
  const int64_t *dims; /* in the order of first appearance in the header */
  /* Set when the entry returns HIDP_FAULT. With HIDP_DEVICE_ERROR, `values[0]` is the cudaError_t. */
  hidp_fault fault;
  hidp_tunables tunables;
} hidp_call;

/* HIDP_DEVICE_ERROR: the device or its driver failed; nothing is known about what the entry wrote. */
enum { HIDP_OK = 0, HIDP_FAULT = 1, HIDP_DEVICE_ERROR = 2 };

/* `hidp2_<file>_<function>_<plan>_<isa>` */
typedef int32_t (*hidp_entry)(hidp_call *call);

/* threads = 0 asks for all. Returns null if memory is short. */
hidp_context *hidp2_context_new(uint32_t threads);
/* The process's threads that help with launches end with its last context. */
void hidp2_context_free(hidp_context *context);
uint32_t hidp2_context_threads(const hidp_context *context);
/* Object files whose launches run on these threads call it before `main`, or when they are loaded. A program without such files starts
 * none: its kernels have threads of OpenMP's, or only the caller's. */
void hidp2_team_use(void);
/* Whether nothing is left to start: `hidp2_context_start` gave 0 in this process, and not only in one that it was forked from, or no object
 * file uses the threads. */
int32_t hidp2_context_started(const hidp_context *context);
/* Starts what is missing of the context's threads, if they are used. 0, or an errno if the system has fewer: then none is started. Sets how
 * many it could have, the one that calls included. Launches of a context that is not started run with the threads that others have
 * started. */
int32_t hidp2_context_start(hidp_context *context, uint32_t *available);

/* What a launch does: claims parts of its work until none is left. */
typedef void (*hidp_team_body)(void *state, int64_t member);
/* Calls body(state, 0), and on other threads that come in time body(state, member) for some members from 1 to wanted - 1, each at most once.
 * Returns when all that began have returned. May be called from several threads, and from a body. A launch is brief if one thread is done
 * sooner than a thread that sleeps would come: it wakes none, unless launches follow each other closely. */
void hidp2_team_run(hidp_context *context, int64_t wanted, int32_t brief, hidp_team_body body, void *state);
/* How many threads the calling thread's launches ran on, the most of any since `hidp2_threads_ran` was last called on it; sets what is counted from, and
 * returns what it had come to. */
uint32_t hidp2_threads_ran(uint32_t from);
/* Notes a launch of the calling thread that ran on other threads than the team's. */
void hidp2_threads_came(uint32_t threads);
/* At least 64-byte aligned, bases staggered over 4 KiB, huge pages asked for; null if there is none. Never returns null for
 * 0 bytes. Steady state takes from the pool and asks the system for nothing. */
void *hidp2_pool_take(hidp_context *context, size_t bytes);
void hidp2_pool_give(hidp_context *context, void *block);
/* Bytes that the pool holds from the system, in use or not. */
size_t hidp2_pool_bytes(const hidp_context *context);
/* Bytes that the system can still give this process. Called under the lock of a pool: it must not use one. */
typedef size_t (*hidp_room)(void);
/* The pool holds at most `most` bytes from now on, and takes large blocks only while `room` has as many bytes; null: it is not asked. What
 * does not fit is null, once idle blocks are given back. What the pool holds already stays. */
void hidp2_pool_limit(hidp_context *context, size_t most, hidp_room room);

/* What one object file of device code was built for. Each adds itself before `main`. */
typedef struct hidp_device_code {
  const int32_t *architectures; /* such as 900 for sm_90; code for the largest can be made from PTX for all later ones */
  int32_t count;
  int32_t toolkit; /* such as 13000: the driver must be of this major version or a later one */
  struct hidp_device_code *next; /* set by hidp2_device_code_add */
} hidp_device_code;

/* `code` stays valid. */
void hidp2_device_code_add(hidp_device_code *code);
/* The last one added, or null: this program has no device code. */
const hidp_device_code *hidp2_device_code_first(void);

/* What lanes ask for at a place of a kernel. */
enum {
  HIDP_COUNTED_LOAD = 0,
  HIDP_COUNTED_STORE = 1,
  HIDP_COUNTED_UPDATE = 2, /* an indivisible one */
  HIDP_COUNTED_BLOCK_BARRIER = 3,
  HIDP_COUNTED_WARP_BARRIER = 4,
  HIDP_COUNTED_SHUFFLE = 5,
  HIDP_COUNTED_VOTE = 6
};

/* Of a place, those requests that have most lanes. */
typedef struct hidp_widest {
  uint64_t lanes, requests;
  uint64_t lowest, highest; /* what one of them costs */
} hidp_widest;

/* What the warps of a kernel asked for at one place. Lanes that come to it together are one request. */
typedef struct hidp_site_counts {
  const char *file;
  const char *memory; /* what reports call it */
  int32_t line;
  uint32_t site; /* the number of the access in its kernel; 0 for what a header does */
  uint32_t what; /* one of HIDP_COUNTED_LOAD to HIDP_COUNTED_VOTE */
  uint32_t shared; /* whether it is memory of the block */
  uint32_t bytes;  /* of one lane */
  uint64_t requests;
  uint64_t lanes; /* that take part, in all requests */
  uint64_t idle;  /* lanes of the same warps that do not */
  uint64_t cost;  /* device memory: sectors; memory of blocks: turns of the banks; shuffles: words */
  uint64_t least; /* if lanes were next to each other, and without conflicts */
  uint64_t block_sectors;  /* different ones, added up over blocks */
  uint64_t launch_sectors; /* different ones, added up over launches */
  uint64_t clashes;        /* updates: for each request, lanes that have the same address, the most of them */
  uint64_t updated;        /* updates: different addresses of a launch */
  uint64_t most_updates;   /* of one address in one launch */
  hidp_widest widest;
} hidp_site_counts;

typedef struct hidp_kernel_counts {
  const char *name;
  uint64_t launches, blocks, threads;
  uint64_t block_sectors, launch_sectors; /* of device memory, as above, of all places together */
  const hidp_site_counts *sites;
  size_t site_count;
} hidp_kernel_counts;

/* Who runs device code that a host compiler made, in programs for tests. What is wrong in it is reported, and ends the call with another
 * result than those above. Not for several threads at once. */
typedef struct hidp_executor {
  /* A device with memory of its own, which alone it can use. The seed says in which order blocks and threads run. */
  hidp_device *(*open)(uint64_t seed, int32_t multiprocessors);
  void (*close)(hidp_device *device);
  int32_t (*call)(hidp_device *device, hidp_entry entry, hidp_call *call);
  void (*copy_in)(hidp_device *device, void *to, const void *from, size_t bytes);
  void (*copy_out)(hidp_device *device, void *to, const void *from, size_t bytes);
  /* A line for each thing that was wrong so far. Valid until the next call of this function. */
  const char *(*reports)(hidp_device *device);
  /* From the next call on, calls are counted, or not. */
  void (*count)(hidp_device *device, int32_t on);
  /* What the last call asked for, a row for each kernel; how many there are. Valid until the next call of an entry or of this function. */
  size_t (*counts)(hidp_device *device, const hidp_kernel_counts **kernels);
} hidp_executor;

void hidp2_executor_set(const hidp_executor *executor);
/* Null: there is none. */
const hidp_executor *hidp2_executor(void);

#ifdef __cplusplus
}
#endif
#endif
