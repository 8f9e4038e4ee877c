// The frame of a device unit's host function: its call, its fault and its storage, which is given back whichever way it ends.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include <hidp/abi.hpp>
#include <hidp/cuda/fault.cuh>
#include <hidp/cuda/target.cuh>
#include <hidp/cuda/worker.cuh>
#include <hidp/storage.hpp>

HIDP_NAMESPACE_BEGIN

// cudaErrorMemoryAllocation
constexpr int kNoMemory = 2;

class Host;

// Launches of a host function that wait for others, since one grid can do them all: see joined.cuh.
struct Waiting {
  void (*start)(Waiting &, Host &);
};

class Host {
 public:
  explicit Host(hidp_call *call) : device(*call->device), call_(call) {}
  __attribute__((noinline)) ~Host() {
    for (Page *page = &first_; page != nullptr;) {
      for (size_t at = 0; at < page->used; ++at) device.give(device.state, page->blocks[at]);
      Page *next = page->next;
      if (page != &first_) device.give_pinned(device.state, page);
      page = next;
    }
    if (staging_ != nullptr) device.give_pinned(device.state, staging_);
  }
  Host(const Host &) = delete;
  Host &operator=(const Host &) = delete;

  const hidp_device &device;
  Trap trap;
  // None where no launches wait.
  Waiting *waiting = nullptr;

  // What comes next in the stream comes after all launches before it.
  void *stream() {
    start_waiting();
    return device.stream;
  }
  void start_waiting() {
    if (waiting != nullptr) waiting->start(*waiting, *this);
  }

  // An array's first element, in device memory.
  template <class T>
  Any<T> param(int number) const {
    return place_at<T>(call_->params[number]);
  }
  // A scalar's value, in the host's.
  template <class T>
  T *cell(int number) const {
    return static_cast<T *>(call_->params[number]);
  }
  int64_t dim(int number) const { return call_->dims[number]; }

  // How many `Group`s, in blocks of so many threads, the device runs at a time at most.
  template <class Group, int Threads>
  int64_t groups() const {
    const int64_t blocks = device.threads_per_multiprocessor / Threads;
    return (blocks < 1 ? 1 : blocks) * device.multiprocessors * (Threads / kLanes<Group, Threads>);
  }

  // Whether the function has to end.
  bool failed() const { return trap.raised || error_ != 0; }
  // Notes an error of the device, unless it is none. Whether all is well.
  bool went_well(int error) {
    if (error_ == 0) error_ = error;
    return error_ == 0;
  }

  // The result of the host function. Waits only if a launch could have failed and nobody has looked since.
  int32_t finish() {
    start_waiting();
    if (unseen_ && error_ == 0) look();
    if (error_ != 0) {
      call_->fault = hidp_fault{0, 1, {error_, 0, 0, 0}};
      return HIDP_DEVICE_ERROR;
    }
    if (!trap.raised) return HIDP_OK;
    call_->fault = trap.fault;
    return HIDP_FAULT;
  }

  // Device storage for `count` elements until `free` or the end of the function. If there is none, a fault at `site`.
  template <class T>
  Any<T> alloc(int64_t count, bool zero, uint32_t site) {
    const size_t bytes = bytes_of(count, sizeof(T));
    void *block = bytes > kMostBytes || failed() ? nullptr : take(bytes);
    if (block == nullptr) {
      if (!failed()) raise_allocation(trap, site, bytes);
      return Any<T>{};
    }
    const Any<T> place = place_at<T>(block);
    if (zero) went_well(set_zero(stream(), place, count));
    return place;
  }
  template <class T>
  void free(Any<T> place) {
    start_waiting();
    give_back(address_of(place));
  }

  // The value at a place, when everything before is done. After a failure 1, by which everything can be divided, if that is a value.
  template <class T>
  std::remove_const_t<T> fetch(Any<T> place HIDP_WHERE) {
    using Value = std::remove_const_t<T>;
    start_waiting();
    if (failed() || !stage(sizeof(Value))) return stand_in<Value>();
#ifdef HIDP_SIMT
    // What a launch that did nothing, after a fault, should have written is never used, but the executor would report the read.
    look();
    if (failed()) return stand_in<Value>();
#endif
    Value *value = reinterpret_cast<Value *>(static_cast<char *>(staging_) + kStagedRecord);
    went_well(copy_to_host(device.stream, value, Any<const Value>(place), 1 HIDP_HERE));
    look();
    return failed() ? stand_in<Value>() : *value;
  }

  // A number in device memory, 0 until a launch changes it; none after an error.
  __attribute__((noinline)) Any<uint32_t> counter() {
    void *block = take(sizeof(uint32_t));
    if (block == nullptr) return went_well(kNoMemory), Any<uint32_t>{};
    const Any<uint32_t> place = place_at<uint32_t>(block);
    return went_well(set_zero(device.stream, place, 1)) ? place : Any<uint32_t>{};
  }

  // The record of faults, for the next launch; made when `can_fault` is first true. One that joins counts as part of the one
  // before it: of the faults of both that of the lowest item is the first.
  bool next_launch(bool can_fault, bool joins, Launch &launch) {
    if (failed()) return false;
    if (can_fault && !recording_ && !make_record()) return false;
    if (!joins) {
      ++launches_;
      looks_ = unseen_;
    }
    launch.record = record_;
    launch.number = launches_;
    launch.looks = looks_;
    unseen_ = unseen_ || can_fault;
    return true;
  }

 private:
  struct Page {
    static constexpr size_t kBlocks = 30;
    Page *next = nullptr;
    size_t used = 0;
    void *blocks[kBlocks];
  };
  static constexpr size_t kStagedRecord = (sizeof(FaultRecord) + 63) / 64 * 64;

  template <class Value>
  static Value stand_in() {
    if constexpr (std::is_arithmetic_v<Value>) return Value{1};
    else return Value{};
  }

  __attribute__((noinline)) void *take(size_t bytes) {
    Page *page = &first_;
    while (page->used == Page::kBlocks && page->next != nullptr) page = page->next;
    if (page->used == Page::kBlocks) {
      page->next = static_cast<Page *>(device.take_pinned(device.state, sizeof(Page)));
      if (page->next == nullptr) return nullptr;
      page = page->next;
      page->next = nullptr;
      page->used = 0;
    }
    void *block = device.take(device.state, bytes);
    if (block != nullptr) page->blocks[page->used++] = block;
    return block;
  }
  __attribute__((noinline)) void give_back(const void *block) {
    for (Page *page = &first_; page != nullptr; page = page->next) {
      for (size_t at = 0; at < page->used; ++at) {
        if (page->blocks[at] != block) continue;
        device.give(device.state, page->blocks[at]);
        page->blocks[at] = page->blocks[--page->used];
        return;
      }
    }
  }

  __attribute__((noinline)) bool make_record() {
    void *block = take(sizeof(FaultRecord));
    if (block == nullptr) return went_well(kNoMemory);
    record_ = place_at<FaultRecord>(block);
    recording_ = true;
    return went_well(set_zero(device.stream, record_, 1));
  }
  // Page-locked memory for the record and a value of so many bytes.
  __attribute__((noinline)) bool stage(size_t bytes) {
    if (staging_ != nullptr && staged_ >= bytes) return true;
    if (staging_ != nullptr) device.give_pinned(device.state, staging_);
    staged_ = bytes < 64 ? 64 : bytes;
    staging_ = device.take_pinned(device.state, kStagedRecord + staged_);
    return staging_ != nullptr || went_well(kNoMemory);
  }
  // Waits for everything, and takes over the fault of a launch.
  __attribute__((noinline)) void look() {
    FaultRecord *record = nullptr;
    if (unseen_ && stage(0)) {
      record = static_cast<FaultRecord *>(staging_);
      went_well(copy_to_host(device.stream, record, Any<const FaultRecord>(record_), 1));
    }
    if (!went_well(wait(device.stream)) || record == nullptr) return;
    unseen_ = false;
    // A fault of a launch comes before one that the host function found after it.
    if (record->failed_launch != 0) {
      trap.raised = true;
      trap.fault = record->fault;
    }
  }

  hidp_call *call_;
  int error_ = 0;
  // Whether there is a record, and whether a launch that can fault has not been looked at since.
  bool recording_ = false, unseen_ = false;
  // Whether the last launch, and what joins it, looks at faults of those before it.
  bool looks_ = false;
  uint32_t launches_ = 0;
  Any<FaultRecord> record_ = {};
  void *staging_ = nullptr;
  size_t staged_ = 0;
  Page first_;
};

template <class P>
inline void swap_buffers(P &a, P &b) {
  const P old = a;
  a = b;
  b = old;
}

HIDP_NAMESPACE_END
