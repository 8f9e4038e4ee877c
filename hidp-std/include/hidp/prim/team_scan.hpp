// team_scan: all threads scan one segment, inclusive or exclusive.
//
// Called by: the host function. Run by: all threads of the context. Result: in out, valid when it returns true; false after an
// allocation fault at `site` or a fault of the operator. Scratch: one element and a flag a block, from the pool. in and out are
// equal or do not overlap. Grouping is fixed by the length alone.
//
// A single pass over memory: a worker takes the next block, folds it (which brings it into its cache), waits for the prefix of the
// block before, hands on its own, and only then scans (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled
// Look-back, NVIDIA 2016). Large outputs go past the caches.
#pragma once

#include <stdint.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sched.h>
#endif

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

// Looks again and again; after a while the thread that is waited for probably has no core, and gets this one.
constexpr int kPatience = 512;
inline void wait_until_ready(const int64_t *ready) {
  for (int looks = 0; __atomic_load_n(ready, __ATOMIC_ACQUIRE) == 0; ++looks) {
#if defined(__unix__) || defined(__APPLE__)
    if (looks >= kPatience) sched_yield();
#endif
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
}

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
    prefix_ = host.alloc<T>(blocks, false, site);
    ready_ = host.alloc<int64_t>(blocks, true, site);
    if (prefix_ == nullptr || ready_ == nullptr) return false;
    launch_ordered(host, blocks, 1, n_, [this](Worker &worker, int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) one_block(worker, block);
    });
    host.free(ready_);
    host.free(prefix_);
    return !host.trap.raised;
  }

 private:
  static constexpr int64_t kBlock = kScanBlockBytes / static_cast<int64_t>(sizeof(T) > sizeof(In) ? sizeof(T) : sizeof(In));

  void one_block(Worker &worker, int64_t block) {
    const Op op(worker.trap);
    const int64_t low = block * kBlock, length = smaller(n_ - low, kBlock);
    const T sum = fold_blocks<T>(op, in_ + low, length);
    T before = init_;
    bool has_before = has_init_;
    if (block > 0) {
      // A part that failed hands on as well, so that nobody waits for ever.
      wait_until_ready(&ready_[block - 1]);
      before = prefix_[block - 1];
      has_before = true;
    }
    prefix_[block] = has_before ? op(before, sum) : sum;
    __atomic_store_n(&ready_[block], 1, __ATOMIC_RELEASE);
    scan_block(worker, low, length, before, has_before);
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
  T *prefix_ = nullptr;
  int64_t *ready_ = nullptr;
};

// Without a neutral element (`has_init` false) only inclusive.
template <class T, class Op, class In>
inline bool team_scan(Host &host, uint32_t site, const In *in, T *out, int64_t n, T init, bool has_init, bool exclusive) {
  if (n <= 0) return true;
  return TeamScan<T, Op, In>(in, out, n, init, has_init, exclusive).run(host, site);
}

HIDP_NAMESPACE_END
