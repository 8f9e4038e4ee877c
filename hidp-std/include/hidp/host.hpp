// The frame of a host function: its call, its fault and its storage, which is given back whichever way it ends.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/threads.hpp>
#include <hidp/trap.hpp>
#include <hidp/worker.hpp>

HIDP_NAMESPACE_BEGIN

class Host {
 public:
  explicit Host(hidp_call *call)
      : context(call->context), tunables(call->tunables), workers_(hidp2_context_threads(context)), call_(call) {
    if (tunables.threads > 0 && tunables.threads < workers_) workers_ = tunables.threads;
  }
  __attribute__((noinline)) ~Host() {
    for (Page *page = &first_; page != nullptr;) {
      for (size_t at = 0; at < page->used; ++at) hidp2_pool_give(context, page->blocks[at]);
      Page *next = page->next;
      if (page != &first_) hidp2_pool_give(context, page);
      page = next;
    }
  }
  Host(const Host &) = delete;
  Host &operator=(const Host &) = delete;

  hidp_context *const context;
  const hidp_tunables tunables;
  Trap trap;

  // How many workers a launch may use.
  int64_t workers() const { return workers_; }

  template <class T>
  T *param(int number) const {
    return static_cast<T *>(call_->params[number]);
  }
  int64_t dim(int number) const { return call_->dims[number]; }

  // The result of the host function.
  int32_t finish() {
    if (!trap.raised) return HIDP_OK;
    call_->fault = trap.fault;
    return HIDP_FAULT;
  }

  // Storage for `count` elements until `free` or the end of the function. Null, and a fault at `site`, if there is none.
  template <class T>
  T *alloc(int64_t count, bool zero, uint32_t site) {
    const size_t bytes = bytes_of(count, sizeof(T));
    if (bytes <= sizeof(Slot) && free_slots_ != 0) return static_cast<T *>(take_slot(zero));
    void *block = bytes > kMostBytes ? nullptr : take(bytes);
    if (block == nullptr) raise_allocation(trap, site, bytes);
    else if (zero) parallel_zero(context, block, bytes, workers());
    return static_cast<T *>(block);
  }
  void free(const void *block) {
    const size_t offset = reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(slots_);
    if (offset < sizeof(slots_)) free_slots_ |= 1u << offset / sizeof(Slot);
    else free_block(block);
  }

  // The same for workers, which may come at one time. Null if there is no storage.
  void *take_shared(size_t bytes) {
    const Locked locked(busy_);
    return bytes > kMostBytes ? nullptr : take(bytes);
  }
  void free_shared(const void *block) {
    const Locked locked(busy_);
    free_block(block);
  }

 private:
  struct Page {
    static constexpr size_t kBlocks = 30;
    Page *next = nullptr;
    size_t used = 0;
    void *blocks[kBlocks];
  };
  // Storage of little: the pool has a lock, which takes longer than a fold of some elements.
  struct alignas(64) Slot {
    unsigned char bytes[256];
  };
  static constexpr unsigned kSlots = 4;
  // The address sanitizer would not see what leaves an array but not its slot.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr unsigned kFreeSlots = 0;
#else
  static constexpr unsigned kFreeSlots = (1u << kSlots) - 1;
#endif

  void *take_slot(bool zero) {
    Slot *slot = slots_ + __builtin_ctz(free_slots_);
    free_slots_ &= free_slots_ - 1;
    if (zero) __builtin_memset(slot, 0, sizeof(Slot));
    return slot;
  }

  __attribute__((noinline)) void free_block(const void *block) {
    for (Page *page = &first_; page != nullptr; page = page->next) {
      for (size_t at = 0; at < page->used; ++at) {
        if (page->blocks[at] != block) continue;
        hidp2_pool_give(context, page->blocks[at]);
        page->blocks[at] = page->blocks[--page->used];
        return;
      }
    }
  }

  __attribute__((noinline)) void *take(size_t bytes) {
    Page *page = &first_;
    while (page->used == Page::kBlocks && page->next != nullptr) page = page->next;
    if (page->used == Page::kBlocks) {
      page->next = static_cast<Page *>(hidp2_pool_take(context, sizeof(Page)));
      if (page->next == nullptr) return nullptr;
      page = page->next;
      page->next = nullptr;
      page->used = 0;
    }
    void *block = hidp2_pool_take(context, bytes);
    if (block != nullptr) page->blocks[page->used++] = block;
    return block;
  }

  int64_t workers_;
  hidp_call *call_;
  Page first_;
  bool busy_ = false;
  unsigned free_slots_ = kFreeSlots;
  Slot slots_[kSlots];
};

template <class T>
inline void swap_buffers(T *&a, T *&b) {
  T *const old = a;
  a = b;
  b = old;
}

HIDP_NAMESPACE_END
