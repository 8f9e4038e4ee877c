// The device as the host sees it, for whoever calls entries: `hidp_device` over an executor.
//
//   hidp_device *device = hidp_simt_new(seed, multiprocessors);
//   void *x = device->take(device->state, bytes);
//   hidp_simt_copy_in(device, x, from, bytes);
//   int32_t result = hidp_simt_call(device, entry, &call);   HIDP_OK, HIDP_FAULT, or HIDP_SIMT_REPORTS
//   puts(hidp_simt_reports(device));
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <cstdlib>
#include <new>
#include <string>

#include <hidp/simt/linkage.hpp>
#if HIDP_EXECUTOR_IS_HERE
#include <hidp/simt/ask.hpp>
#include <hidp/simt/meet.hpp>
#include <hidp/simt/run.hpp>
#include <hidp/simt/touch.hpp>
#endif

// What a call returns in which something was wrong.
enum { HIDP_SIMT_REPORTS = 3 };

#if !HIDP_EXECUTOR_IS_HERE

extern "C" {
hidp_device *hidp_simt_new(uint64_t seed, int32_t multiprocessors);
void hidp_simt_free(hidp_device *device);
int32_t hidp_simt_call(hidp_device *device, hidp_entry entry, hidp_call *call);
const char *hidp_simt_reports(hidp_device *device);
void hidp_simt_name(hidp_device *device, void *block, const char *name);
void hidp_simt_copy_in(hidp_device *device, void *to, const void *from, size_t bytes);
void hidp_simt_copy_out(hidp_device *device, void *to, const void *from, size_t bytes);
void hidp_simt_count(hidp_device *device, int32_t on);
size_t hidp_simt_counts(hidp_device *device, const hidp_kernel_counts **kernels);
}

#else

HIDP_EXECUTOR_BEGIN

// The memory of an address that the host uses, or null after a report.
HIDP_EXECUTOR_FUNCTION Allocation *Executor::found(const void *address, size_t bytes, const Place &here) {
  Allocation *const allocation = memory.find(address);
  if (allocation == nullptr) {
    report("host address", here, "a host address is used as one of the device");
    return nullptr;
  }
  if (allocation->freed) {
    report("use after free", here, "the host uses device memory that was freed");
    return nullptr;
  }
  const size_t offset = allocation->offset(address);
  if (allocation->holds(offset, bytes, false)) return allocation;
  report("out of bounds", here, "the host uses " + element_text(*allocation, offset, bytes));
  return nullptr;
}

HIDP_EXECUTOR_FUNCTION void Executor::copy_in(void *to, const void *from, size_t bytes, const Place &here) {
  Allocation *const allocation = found(to, bytes, here);
  if (allocation == nullptr || bytes == 0) return;
  std::memcpy(to, from, bytes);
  allocation->set_written(allocation->offset(to), bytes);
}
HIDP_EXECUTOR_FUNCTION void Executor::copy_out(void *to, const void *from, size_t bytes, const Place &here) {
  Allocation *const allocation = found(from, bytes, here);
  if (allocation == nullptr || bytes == 0) return;
  if (!allocation->written(allocation->offset(from), bytes))
    report("uninitialised", here, "the host reads " + element_text(*allocation, allocation->offset(from), bytes) + ", which nobody has written");
  std::memcpy(to, from, bytes);
}
HIDP_EXECUTOR_FUNCTION void Executor::zero(void *to, size_t bytes, const Place &here) {
  Allocation *const allocation = found(to, bytes, here);
  if (allocation == nullptr || bytes == 0) return;
  std::memset(to, 0, bytes);
  allocation->set_written(allocation->offset(to), bytes);
}

struct Device {
  Device(uint64_t seed, int32_t multiprocessors) : executor(seed) {
    face.state = this;
    face.multiprocessors = multiprocessors;
    face.threads_per_multiprocessor = 512;
    face.take = [](void *state, size_t bytes) -> void * {
      try {
        return of(state).executor.memory.take(bytes)->base;
      } catch (const std::bad_alloc &) {
        return nullptr;
      }
    };
    face.give = [](void *state, void *block) { of(state).give(block); };
    face.take_pinned = [](void *, size_t bytes) { return std::malloc(bytes > 0 ? bytes : 1); };
    face.give_pinned = [](void *, void *block) { std::free(block); };
  }

  hidp_device face = {};
  Executor executor;
  std::string told;

  static Device &of(void *state) { return *static_cast<Device *>(state); }
  void give(void *block) {
    Allocation *const allocation = executor.memory.find(block);
    if (allocation == nullptr || allocation->base != block || allocation->freed)
      executor.reports.add("wrong free", Place::here(), "what is given back was not taken");
    else executor.memory.free(allocation);
  }
  int32_t call(hidp_entry entry, hidp_call *call) {
    if (executor.counts() != nullptr) executor.counts()->forget();
    void *const before = *hidp_simt_current();
    *hidp_simt_current() = &executor;
    int32_t result = HIDP_OK;
    try {
      result = entry(call);
    } catch (const Stopped &) {
    }
    *hidp_simt_current() = before;
    return executor.reports.all().empty() ? result : HIDP_SIMT_REPORTS;
  }
  const char *reports() {
    told.clear();
    for (const std::string &report : executor.reports.all()) told += (told.empty() ? "" : "\n") + report;
    return told.c_str();
  }
};

HIDP_EXECUTOR_END

// The same seed gives the same order of blocks and lanes: 0 in order, 1 backwards, others at random.
HIDP_SIMT_EXPORT hidp_device *hidp_simt_new(uint64_t seed, int32_t multiprocessors) {
  return &(new hidp::executor::Device(seed, multiprocessors))->face;
}
HIDP_SIMT_EXPORT void hidp_simt_free(hidp_device *device) { delete &hidp::executor::Device::of(device->state); }
HIDP_SIMT_EXPORT int32_t hidp_simt_call(hidp_device *device, hidp_entry entry, hidp_call *call) {
  return hidp::executor::Device::of(device->state).call(entry, call);
}
// A line for each thing that was wrong so far. Valid until the next call of this function.
HIDP_SIMT_EXPORT const char *hidp_simt_reports(hidp_device *device) {
  return hidp::executor::Device::of(device->state).reports();
}
// What reports call a block of device memory.
HIDP_SIMT_EXPORT void hidp_simt_name(hidp_device *device, void *block, const char *name) {
  hidp::executor::Allocation *const found = hidp::executor::Device::of(device->state).executor.memory.find(block);
  if (found != nullptr) found->name = name;
}
HIDP_SIMT_EXPORT void hidp_simt_copy_in(hidp_device *device, void *to, const void *from, size_t bytes) {
  hidp::executor::Device::of(device->state).executor.copy_in(to, from, bytes, hidp::executor::Place::here());
}
HIDP_SIMT_EXPORT void hidp_simt_copy_out(hidp_device *device, void *to, const void *from, size_t bytes) {
  hidp::executor::Device::of(device->state).executor.copy_out(to, from, bytes, hidp::executor::Place::here());
}

// See `hidp_executor`.
HIDP_SIMT_EXPORT void hidp_simt_count(hidp_device *device, int32_t on) {
  hidp::executor::Device::of(device->state).executor.count(on != 0);
}
HIDP_SIMT_EXPORT size_t hidp_simt_counts(hidp_device *device, const hidp_kernel_counts **kernels) {
  hidp::executor::Counts *const counts = hidp::executor::Device::of(device->state).executor.counts();
  if (counts == nullptr) return 0;
  const std::vector<hidp_kernel_counts> &told = counts->told();
  *kernels = told.data();
  return told.size();
}

#if defined(HIDP_SIMT_PROGRAM)
// The run time of a program finds the executor, as it finds what a GPU's code was built for.
static const hidp_executor hidp_simt_executor = {hidp_simt_new,      hidp_simt_free,    hidp_simt_call,  hidp_simt_copy_in,
                                                 hidp_simt_copy_out, hidp_simt_reports, hidp_simt_count, hidp_simt_counts};
__attribute__((constructor)) static void hidp_simt_add() { hidp2_executor_set(&hidp_simt_executor); }
#endif

#endif
