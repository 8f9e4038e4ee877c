// team_scan: all threads scan one segment, inclusive or exclusive.
//
// Called by: the host function. Run by: all threads of the context. Result: in out, valid when it returns true; false after an
// allocation fault at `site` or a fault of the operator. Scratch: two elements and a word per block, from the pool. in and out are
// equal or do not overlap. Grouping is fixed by the length alone.
//
// A single pass over memory: a worker takes the next block, folds it (which brings it into its cache), takes the prefix of the block
// before, hands on its own, and only then scans (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, NVIDIA
// 2016). Large outputs go past the caches.
//
// A worker waits for the block before no longer than twice what its own block took to fold: whoever folds that one has lost its
// processor, or left after a fault. Then it folds what is missing itself. So a worker that does not run costs the others one block. The
// order of the folds is the same, and with it the bits: a prefix is always the one before with the block's fold.
#pragma once

#include <stdint.h>

#include <hidp/abi.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/prim/simd_reduce.hpp>
#include <hidp/prim/simd_scan.hpp>
#include <hidp/stream.hpp>

HIDP_NAMESPACE_BEGIN

// Elements that a worker keeps in its second-level cache between the two looks at them.
constexpr int64_t kScanBlockBytes = int64_t{256} << 10;
constexpr int64_t kScanTile = 1024;
constexpr int64_t kStreamedScan = int64_t{32} << 20;

// How far a block is, and who else reads it: a word, since both change at one time.
class BlockState {
 public:
  bool has_fold() const { return (load() & kFold) != 0; }
  bool has_prefix() const { return (load() & kPrefix) != 0; }
  void set_fold() { __atomic_fetch_or(&word_, kFold, __ATOMIC_RELEASE); }
  void set_prefix() { __atomic_fetch_or(&word_, kPrefix, __ATOMIC_RELEASE); }

  // Whether another worker may read the block's elements: until `leave`, its own worker does not overwrite them.
  bool enter() {
    int64_t word = load();
    while ((word & kFold) == 0) {
      if (__atomic_compare_exchange_n(&word_, &word, word + kReader, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) return true;
    }
    return false;
  }
  void leave() { __atomic_fetch_sub(&word_, kReader, __ATOMIC_RELEASE); }
  // By the block's own worker, once the fold is set.
  void wait_for_readers() const {
    wait_until([this] { return load() < kReader; });
  }

 private:
  static constexpr int64_t kFold = 1, kPrefix = 2, kReader = 4;
  int64_t load() const { return __atomic_load_n(&word_, __ATOMIC_ACQUIRE); }

  int64_t word_; // zero at first
};

template <class T, class Op, class In>
class TeamScan {
 public:
  TeamScan(const In *in, T *out, int64_t n, T init, bool has_init, bool exclusive)
      : in_(in), out_(out), n_(n), init_(init), has_init_(has_init), exclusive_(exclusive),
        streamed_(static_cast<const void *>(in) != out && n * static_cast<int64_t>(sizeof(T)) >= kStreamedScan) {}

  bool run(Host &host, uint32_t site) {
    if (n_ <= 2 * kBlock) {
      launch_serial(host, 1, [this](Worker &worker, int64_t, int64_t) { scan_block(worker, 0, n_, init_, has_init_); });
      return !host.trap.raised;
    }
    const int64_t blocks = (n_ + kBlock - 1) / kBlock;
    fold_ = host.alloc<T>(blocks, false, site);
    prefix_ = host.alloc<T>(blocks, false, site);
    state_ = host.alloc<BlockState>(blocks, true, site);
    if (fold_ == nullptr || prefix_ == nullptr || state_ == nullptr) return false;
    launch_ordered(host, blocks, 1, n_, [this](Worker &worker, int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) one_block(worker, block);
    });
    host.free(state_);
    host.free(prefix_);
    host.free(fold_);
    return !host.trap.raised;
  }

 private:
  static constexpr int64_t kBlock = kScanBlockBytes / static_cast<int64_t>(sizeof(T) > sizeof(In) ? sizeof(T) : sizeof(In));

  T fold(const Op &op, int64_t block) const {
    const int64_t low = block * kBlock;
    return fold_blocks<T>(op, in_ + low, smaller(n_ - low, kBlock));
  }

  void one_block(Worker &worker, int64_t block) {
    const Op op(worker.trap);
    const int64_t start = nanoseconds();
    fold_[block] = fold(op, block);
    // A part that failed hands on as well: the first fault is found whatever comes of it.
    state_[block].set_fold();
    T before = init_;
    if (block > 0) {
      const int64_t now = nanoseconds(), patience = now + 2 * (now - start);
      while (!state_[block - 1].has_prefix() && nanoseconds() < patience) pause_briefly();
      before = prefix_before(block);
    }
    const bool has_before = has_init_ || block > 0;
    prefix_[block] = has_before ? op(before, fold_[block]) : fold_[block];
    state_[block].set_prefix();
    const int64_t low = block * kBlock;
    if (static_cast<const void *>(in_) == out_) state_[block].wait_for_readers();
    scan_block(worker, low, smaller(n_ - low, kBlock), before, has_before);
  }

  // From the last prefix that is there, and the folds since then.
  __attribute__((noinline)) T prefix_before(int64_t block) const {
    int64_t from = block;
    while (from > 0 && !state_[from - 1].has_prefix()) --from;
    // What is wrong with a block is found by its own worker.
    Trap ignored;
    const Op op(ignored);
    T prefix = from > 0 ? prefix_[from - 1] : init_;
    bool has_prefix = from > 0 || has_init_;
    for (; from < block; ++from) {
      const T sum = fold_of(op, from);
      prefix = has_prefix ? op(prefix, sum) : sum;
      has_prefix = true;
    }
    return prefix;
  }
  T fold_of(const Op &op, int64_t block) const {
    if (!state_[block].enter()) return fold_[block];
    const T sum = fold(op, block);
    state_[block].leave();
    return sum;
  }

  __attribute__((noinline)) void scan_block(Worker &worker, int64_t low, int64_t n, T carry, bool has_carry) {
    const Op op(worker.trap);
    const In *in = in_ + low;
    T *out = out_ + low;
    if (!has_carry && n > 0) {
      carry = *out = cast<T>(*in);
      ++in, ++out, --n;
    }
    if (!streamed_) {
      simd_scan<T>(op, in, out, n, carry, exclusive_);
      return;
    }
    alignas(64) T tile[kScanTile];
    for (int64_t at = 0; at < n; at += kScanTile) {
      const int64_t length = smaller(n - at, kScanTile);
      carry = simd_scan<T>(op, in + at, tile, length, carry, exclusive_);
      stream_out(worker, out + at, tile, length);
    }
  }

  const In *in_;
  T *out_;
  int64_t n_;
  T init_;
  bool has_init_, exclusive_, streamed_;
  T *fold_ = nullptr, *prefix_ = nullptr;
  BlockState *state_ = nullptr;
};

// Without a neutral element (`has_init` false) only inclusive.
template <class T, class Op, class In>
inline bool team_scan(Host &host, uint32_t site, const In *in, T *out, int64_t n, T init, bool has_init, bool exclusive) {
  if (n <= 0) return true;
  return TeamScan<T, Op, In>(in, out, n, init, has_init, exclusive).run(host, site);
}

HIDP_NAMESPACE_END
