/* A stand-in for NVIDIA's driver: devices without computing power whose memory is the host's. Streams are done at once. It minds what the
 * real one minds: a context must be current, handles and memory must be what was handed out.
 *
 * STAND_IN_VERSION, STAND_IN_DEVICES, STAND_IN_ARCHITECTURE and STAND_IN_POOLS say what there is, STAND_IN_INIT what cuInit returns. While STAND_IN_BROKEN is set, an
 * illegal access has happened. What is left when the program ends goes to the file STAND_IN_REPORT.
 *
 * A program that has loaded it may ask by stand_in_fail for calls that fail, by stand_in_calls how many there were, and by stand_in_left
 * for what is left. Calls that give something back never fail. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, ILLEGAL_ADDRESS = 700 };
enum { FREE, DEVICE, PINNED, STREAM, EVENT };
enum { PLACES = 4096 };

static struct {
  int kind;
  char *address;
  size_t bytes;
} places[PLACES];
static int retained, contexts[8];
static __thread void *current;
static volatile int busy;

static void lock(void) {
  while (__sync_lock_test_and_set(&busy, 1)) {
  }
}
static void unlock(void) { __sync_lock_release(&busy); }

/* The calls from this one on fail, so many, with this error. */
static unsigned calls, first_failing, failing;
static int failure;

void stand_in_fail(unsigned first, unsigned count, int error) {
  lock();
  calls = 0, first_failing = first, failing = count, failure = error;
  unlock();
}
unsigned stand_in_calls(void) { return calls; }
static int step(void) {
  lock();
  const unsigned number = ++calls;
  const int result = first_failing && number >= first_failing && number - first_failing < failing ? failure : OK;
  unlock();
  return result;
}

static int setting(const char *name, int usual) {
  const char *text = getenv(name);
  return text ? atoi(text) : usual;
}
/* Begins what can fail. */
static int ready(void) {
  const int failed = step();
  if (failed) return failed;
  if (getenv("STAND_IN_BROKEN")) return ILLEGAL_ADDRESS;
  return current ? OK : INVALID_CONTEXT;
}

static int make(int kind, size_t bytes, char **address) {
  const int state = ready();
  if (state) return state;
  if (bytes > (size_t)1 << 30) return OUT_OF_MEMORY;
  lock();
  int result = OUT_OF_MEMORY;
  for (int at = 0; at < PLACES && result; ++at) {
    if (places[at].kind) continue;
    places[at].kind = kind, places[at].bytes = bytes, places[at].address = aligned_alloc(256, (bytes + 256) / 256 * 256);
    memset(places[at].address, 0xa5, bytes);
    *address = places[at].address;
    result = OK;
  }
  unlock();
  return result;
}
static int drop(int kind, const void *address) {
  lock();
  int result = INVALID_HANDLE;
  for (int at = 0; at < PLACES && result; ++at) {
    if (places[at].kind != kind || places[at].address != address) continue;
    places[at].kind = FREE;
    free(places[at].address);
    result = OK;
  }
  unlock();
  return result;
}
/* Whether so many bytes of this kind are there. */
static int present(int kind, const void *address, size_t bytes) {
  lock();
  int result = kind == STREAM || kind == EVENT ? INVALID_HANDLE : INVALID_VALUE;
  for (int at = 0; at < PLACES && result; ++at) {
    const char *const first = places[at].address;
    if (places[at].kind == kind && (const char *)address >= first && (const char *)address + bytes <= first + places[at].bytes) result = OK;
  }
  unlock();
  return result;
}

/* The same, for what can fail. */
static int holds(int kind, const void *address, size_t bytes) {
  const int state = ready();
  return state ? state : present(kind, address, bytes);
}

/* Device memory, page-locked memory, streams, events, contexts. */
void stand_in_left(int *left) {
  int found[5] = {0};
  lock();
  for (int at = 0; at < PLACES; ++at) ++found[places[at].kind];
  left[0] = found[DEVICE], left[1] = found[PINNED], left[2] = found[STREAM], left[3] = found[EVENT], left[4] = retained;
  unlock();
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("STAND_IN_REPORT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  int left[5];
  stand_in_left(left);
  fprintf(file, "device %d, pinned %d, streams %d, events %d, contexts %d\n", left[0], left[1], left[2], left[3], left[4]);
  fclose(file);
}

int cuInit(unsigned flags) {
  const int failed = step();
  return failed ? failed : flags ? INVALID_VALUE : setting("STAND_IN_INIT", OK);
}
int cuDriverGetVersion(int *version) { return *version = setting("STAND_IN_VERSION", 13000), step(); }
int cuDeviceGetCount(int *count) { return *count = setting("STAND_IN_DEVICES", 1), step(); }
int cuDeviceGet(int *device, int ordinal) {
  if (ordinal < 0 || ordinal >= setting("STAND_IN_DEVICES", 1)) return INVALID_DEVICE;
  return *device = ordinal, step();
}
int cuDeviceGetName(char *name, int bytes, int device) { return snprintf(name, bytes, "Stand-in %d", device), step(); }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  const int architecture = setting("STAND_IN_ARCHITECTURE", 90), failed = step();
  if (failed) return failed;
  switch (attribute) {
    case 16: return *value = 4, OK;     /* multiprocessors */
    case 39: return *value = 2048, OK;  /* threads in each */
    case 75: return *value = architecture / 10, OK;
    case 76: return *value = architecture % 10, OK;
    case 115: return *value = setting("STAND_IN_POOLS", 1), OK;
    default: return fprintf(stderr, "attribute %d of device %d?\n", attribute, device), INVALID_VALUE;
  }
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  const int failed = step();
  return failed ? failed : (lock(), ++retained, unlock(), *context = &contexts[device], OK);
}
int cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, lock(), --retained, unlock(), OK; }
int cuCtxGetCurrent(void **context) { return *context = current, step(); }
int cuCtxSetCurrent(void *context) {
  const int failed = step();
  return failed ? failed : (current = context, OK);
}
int cuDeviceCanAccessPeer(int *can, int device, int peer) {
  const int failed = step();
  return failed ? failed : device == peer ? INVALID_DEVICE : (*can = setting("STAND_IN_PEERS", 1), OK);
}
int cuCtxSynchronize(void) { return ready(); }

int cuStreamCreate(void **stream, unsigned flags) { return flags == 1 ? make(STREAM, 1, (char **)stream) : INVALID_VALUE; }
int cuStreamDestroy_v2(void *stream) { return drop(STREAM, stream); }
int cuStreamSynchronize(void *stream) { return holds(STREAM, stream, 1); }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  const int state = holds(STREAM, stream, 1);
  return state ? state : flags ? INVALID_VALUE : holds(EVENT, event, 1);
}
int cuEventCreate(void **event, unsigned flags) { return flags == 2 ? make(EVENT, 1, (char **)event) : INVALID_VALUE; }
int cuEventDestroy_v2(void *event) { return drop(EVENT, event); }
int cuEventQuery(void *event) { return holds(EVENT, event, 1); }
int cuEventSynchronize(void *event) { return holds(EVENT, event, 1); }
int cuEventRecord(void *event, void *stream) {
  const int state = holds(STREAM, stream, 1);
  return state ? state : holds(EVENT, event, 1);
}

int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream) {
  const int state = setting("STAND_IN_POOLS", 1) ? holds(STREAM, stream, 1) : 801;
  return state ? state : make(DEVICE, bytes, (char **)address);
}
int cuMemFreeAsync(uint64_t address, void *stream) {
  if (getenv("STAND_IN_BROKEN")) return ILLEGAL_ADDRESS;
  const int state = setting("STAND_IN_POOLS", 1) ? present(STREAM, stream, 1) : 801;
  return state ? state : drop(DEVICE, (void *)address);
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) { return make(DEVICE, bytes, (char **)address); }
int cuMemFree_v2(uint64_t address) { return drop(DEVICE, (void *)address); }
int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) { return (void)flags, make(PINNED, bytes, (char **)address); }
int cuMemFreeHost(void *address) { return drop(PINNED, address); }

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  int state = holds(STREAM, stream, 1);
  if (!state) state = holds(DEVICE, (void *)to, bytes);
  if (!state) memcpy((void *)to, from, bytes);
  return state;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  int state = holds(STREAM, stream, 1);
  if (!state) state = holds(DEVICE, (void *)from, bytes);
  if (!state) memcpy(to, (void *)from, bytes);
  return state;
}
int cuMemcpyPeerAsync(uint64_t to, void *context, uint64_t from, void *peer, size_t bytes, void *stream) {
  int state = holds(STREAM, stream, 1);
  if (!state) state = context == current && peer != context ? OK : INVALID_CONTEXT;
  if (!state) state = holds(DEVICE, (void *)to, bytes);
  if (!state) state = holds(DEVICE, (void *)from, bytes);
  if (!state) memcpy((void *)to, (void *)from, bytes);
  return state;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
  int state = holds(STREAM, stream, 1);
  if (!state) state = holds(DEVICE, (void *)to, bytes);
  if (!state) memset((void *)to, value, bytes);
  return state;
}

struct side {
  size_t x, y;
  int type;
  void *host;
  uint64_t device;
  void *array;
  size_t pitch;
};
struct plane {
  struct side from, to;
  size_t width, height;
};
int cuMemcpy2DAsync_v2(const struct plane *plane, void *stream) {
  const struct side *const from = &plane->from, *const to = &plane->to;
  if (from->type != 2 || to->type != 2 || from->x || from->y || to->x || to->y) return INVALID_VALUE;
  if (from->pitch < plane->width || to->pitch < plane->width) return INVALID_VALUE;
  for (size_t row = 0; row < plane->height; ++row) {
    char *const source = (char *)from->device + row * from->pitch, *const target = (char *)to->device + row * to->pitch;
    int state = holds(STREAM, stream, 1);
    if (!state) state = holds(DEVICE, source, plane->width);
    if (!state) state = holds(DEVICE, target, plane->width);
    if (state) return state;
    memcpy(target, source, plane->width);
  }
  return OK;
}

int cuGetErrorName(int error, const char **text) { return *text = error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR", OK; }
int cuGetErrorString(int error, const char **text) { return *text = error == ILLEGAL_ADDRESS ? "an illegal memory access" : "an error of the stand-in", OK; }
