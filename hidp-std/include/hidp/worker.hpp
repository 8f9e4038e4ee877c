// One worker of a launch: what a kernel gets besides its arguments.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/storage.hpp>
#include <hidp/trap.hpp>

HIDP_NAMESPACE_BEGIN

// A stack of storage in chunks from the context's pool. Chunks double, and the largest one that was given up is kept for
// the next time, so that a loop which takes and releases settles down.
class Scratch {
 public:
  explicit Scratch(hidp_context *context) : context_(context) {}
  ~Scratch() {
    release(Mark{nullptr, 0});
    if (spare_ != nullptr) hidp2_pool_give(context_, spare_);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  struct Chunk {
    Chunk *below;
    size_t bytes;
  };
  struct Mark {
    Chunk *chunk;
    size_t used;
  };

  Mark mark() const { return Mark{top_, used_}; }
  void release(Mark mark) {
    while (top_ != mark.chunk) drop_top();
    used_ = mark.used;
  }
  // 64-byte aligned; null if there is none.
  void *take(size_t bytes) {
    if (top_ == nullptr || bytes > top_->bytes - used_) {
      if (!grow(bytes)) return nullptr;
    }
    char *result = reinterpret_cast<char *>(top_) + used_;
    used_ += rounded(bytes);
    if (used_ > top_->bytes) used_ = top_->bytes;
    return result;
  }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kSmallest = size_t{64} << 10;
  static constexpr size_t rounded(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

  HIDP_COLD bool grow(size_t bytes) {
    const size_t doubled = top_ == nullptr ? kSmallest : 2 * top_->bytes;
    const size_t wanted = rounded(bytes) + kLine > doubled ? rounded(bytes) + kLine : doubled;
    Chunk *chunk = spare_;
    if (chunk != nullptr && chunk->bytes >= rounded(bytes) + kLine) {
      spare_ = nullptr;
    } else {
      chunk = static_cast<Chunk *>(hidp2_pool_take(context_, wanted));
      if (chunk == nullptr) return false;
      chunk->bytes = wanted;
    }
    chunk->below = top_;
    top_ = chunk;
    used_ = kLine;
    return true;
  }
  void drop_top() {
    Chunk *chunk = top_;
    top_ = chunk->below;
    if (spare_ == nullptr || spare_->bytes < chunk->bytes) {
      Chunk *smaller = spare_;
      spare_ = chunk;
      chunk = smaller;
    }
    hidp2_pool_give(context_, chunk);
  }

  hidp_context *context_;
  Chunk *top_ = nullptr;
  Chunk *spare_ = nullptr;
  size_t used_ = 0;
};

struct Worker {
  explicit Worker(hidp_context *context) : scratch(context) {}

  Trap trap;
  // Number of the thread in the launch; below the number of workers.
  int64_t index = 0;
  // Whether non-temporal stores wait for a fence.
  bool streamed = false;
  Scratch scratch;
};

// Gives back, at the end of a block, what the block took.
class ScratchBlock {
 public:
  explicit ScratchBlock(Worker &worker) : scratch_(worker.scratch), mark_(scratch_.mark()) {}
  ~ScratchBlock() { scratch_.release(mark_); }
  ScratchBlock(const ScratchBlock &) = delete;
  ScratchBlock &operator=(const ScratchBlock &) = delete;

 private:
  Scratch &scratch_;
  Scratch::Mark mark_;
};

// Storage for `count` elements until the enclosing ScratchBlock ends. Null, and a fault at `site`, if there is none.
template <class T>
inline T *scratch(Worker &worker, int64_t count, bool zero, uint32_t site) {
  const size_t bytes = bytes_of(count, sizeof(T));
  void *block = bytes > kMostBytes ? nullptr : worker.scratch.take(bytes);
  if (HIDP_UNLIKELY(block == nullptr)) raise_allocation(worker.trap, site, bytes);
  else if (zero) __builtin_memset(block, 0, bytes);
  return static_cast<T *>(block);
}

// The elements from one on. What a compiler knows to be a sum it adds up again for each element, which took a tenth of an update's time.
template <class T>
HIDP_INLINE T *part_of(T *elements, int64_t first) {
  T *part = elements + first;
  __asm__("" : "+r"(part));
  return part;
}

HIDP_NAMESPACE_END
