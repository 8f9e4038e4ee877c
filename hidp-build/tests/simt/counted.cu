// Kernels whose requests can be counted by hand, one entry each. Each gets three arrays of 4096 `int32_t`: two are full of numbers, each
// its own place, the last is written. Numbers of sites are in the order of the text, as the emitter prints them.

#include <hidp/cuda/target.cuh>

using hidp::Any;
using hidp::In;
using hidp::Out;

namespace {

template <auto Kernel>
int32_t run(hidp_call *call, uint32_t blocks, int threads) {
  hidp::announce<Kernel>();
  return hidp::start(Kernel, blocks, 1, 1, threads, nullptr, hidp::place_at<int32_t>(call->params[0]), hidp::place_at<int32_t>(call->params[1]),
                     hidp::place_at<int32_t>(call->params[2]));
}
// What follows is the body of a kernel over x, w and y, in the lanes i of all blocks.
#define KERNEL(name, blocks, threads)                                                                                    \
  HIDP_GLOBAL(threads) name(In<int32_t> x, In<int32_t> w, Out<int32_t> y);                                                \
  HIDP_ENTRY HIDP_SYMBOL(hidp2_##name)(hidp_call * call) { return run<name>(call, blocks, threads); }                     \
  HIDP_GLOBAL(threads) name([[maybe_unused]] In<int32_t> x, [[maybe_unused]] In<int32_t> w, [[maybe_unused]] Out<int32_t> y)
#define LANE const int64_t i = hidp::thread_rank()

template <class T>
Any<T> as(In<int32_t> x) {
  return hidp::place_at<T>(hidp::address_of(x));
}

// --- how places lie

KERNEL(coalesced, 1, 64) {
  LANE;
  hidp::store(y + i, hidp::load(x + i HIDP_SITE(1)) HIDP_SITE(2));
}
KERNEL(beside, 1, 64) {
  LANE;
  hidp::store(y + i, hidp::load(x + (i + 1) HIDP_SITE(1)) HIDP_SITE(2));
}
KERNEL(strided, 1, 32) {
  LANE;
  hidp::store(y + i * 2, hidp::load(x + i * 8 HIDP_SITE(1)) HIDP_SITE(2));
}
KERNEL(broadcast, 1, 32) {
  LANE;
  hidp::store(y + i, hidp::load(x + 5 HIDP_SITE(1)) + hidp::load(w + i / 4 HIDP_SITE(2)) HIDP_SITE(3));
}
KERNEL(widths, 1, 32) {
  LANE;
  int64_t sum = hidp::load(as<const int8_t>(x) + i HIDP_SITE(1));
  sum += hidp::load(as<const int16_t>(x) + i HIDP_SITE(2));
  sum += hidp::load(as<const int64_t>(x) + i HIDP_SITE(3));
  int32_t own[4];
  hidp::load_several<4>(own, x + i * 4 HIDP_SITE(4));
  sum += own[3];
  hidp::load_several<2>(own, x + i * 2 HIDP_SITE(5));
  hidp::store_several<4>(y + i * 4, own HIDP_SITE(6));
  hidp::store(y + (1024 + i), static_cast<int32_t>(sum) HIDP_SITE(7));
}
KERNEL(parts, 3, 40) {
  LANE;
  hidp::store(y + hidp::block_rank(0) * 40 + i, hidp::load(x + i HIDP_SITE(1)) HIDP_SITE(2));
}

// --- lanes that go different ways

KERNEL(branches, 1, 32) {
  LANE;
  int32_t sum = hidp::load(x + i HIDP_SITE(1));
  if (i % 2 == 0) sum += hidp::load(w + i HIDP_SITE(2));
  else if (i % 4 == 1) sum += hidp::load(w + (i + 32) HIDP_SITE(3));
  hidp::store(y + i, sum HIDP_SITE(4));
}
// In iteration k, lane i does something more if k is i modulo 4, and leaves at the end of iteration 8 + i % 2.
KERNEL(turns, 1, 32) {
  LANE;
  int32_t sum = 0;
  for (int k = 0; k < 100; ++k) {
    HIDP_ITERATION(1, 5);
    sum += hidp::load(x + i HIDP_SITE(2));
    if (k % 4 == i % 4) sum += hidp::load(w + i HIDP_SITE(3));
    if (k == 8 + i % 2) break;
    sum += hidp::load(w + k HIDP_SITE(4));
  }
  hidp::store(y + i, sum HIDP_SITE(6));
}
// Lane i has i iterations.
KERNEL(ragged, 1, 32) {
  LANE;
  int32_t sum = 0;
  for (int k = 0; k < i; ++k) {
    HIDP_ITERATION(1, 3);
    sum += hidp::load(x + (32 * k + i) HIDP_SITE(2));
  }
  hidp::store(y + i, sum HIDP_SITE(4));
}
// Inner loops of different lengths in each outer iteration.
KERNEL(nested, 1, 32) {
  LANE;
  int32_t sum = 0;
  for (int k = 0; k < 3; ++k) {
    HIDP_ITERATION(1, 6);
    for (int m = 0; m < 1 + (i + k) % 2; ++m) {
      HIDP_ITERATION(2, 4);
      sum += hidp::load(x + i HIDP_SITE(3));
    }
    sum += hidp::load(w + i HIDP_SITE(5));
  }
  hidp::store(y + i, sum HIDP_SITE(7));
}
// All lanes but one of a warp wait for that one.
KERNEL(single, 1, 64) {
  LANE;
  if (i % 32 == 0) hidp::store(y + i, hidp::load(x + i HIDP_SITE(1)) HIDP_SITE(2));
  hidp::warp_barrier(~uint32_t{0});
  hidp::load(y + i / 32 * 32 HIDP_SITE(3));
}
// Each lane of a warp in turn holds a lock: those that try first must not keep it from those that have it.
KERNEL(lock, 1, 32) {
  for (bool done = false; !done;) {
    HIDP_ITERATION(1, 6);
    if (hidp::compare_exchange(y, 0, 1 HIDP_SITE(2)) != 0) continue;
    hidp::store_relaxed(y + 1, hidp::load_relaxed(y + 1 HIDP_SITE(3)) + 1 HIDP_SITE(4));
    hidp::exchange(y, 0 HIDP_SITE(5));
    done = true;
  }
}

// The same by a loop that does not say that it is one.
KERNEL(spin, 1, 32) {
  while (hidp::compare_exchange(y, 0, 1 HIDP_SITE(1)) != 0) {
  }
  hidp::store_relaxed(y + 1, hidp::load_relaxed(y + 1 HIDP_SITE(2)) + 1 HIDP_SITE(3));
  hidp::exchange(y, 0 HIDP_SITE(4));
}

// --- memory of the block

KERNEL(banks, 1, 32) {
  LANE;
  HIDP_SHARED(int32_t, tile, 32 * 33);
  for (int at = 0; at < 33; ++at) hidp::store(tile + (at * 32 + i), 1 HIDP_SITE(1));
  hidp::warp_barrier(~uint32_t{0});
  hidp::load(tile + i HIDP_SITE(2));
  hidp::load(tile + i * 2 HIDP_SITE(3));
  hidp::load(tile + i * 32 HIDP_SITE(4));
  hidp::load(tile + i * 33 HIDP_SITE(5));
  hidp::load(tile + 7 HIDP_SITE(6));
  int32_t own[4];
  hidp::load_several<4>(own, tile + i * 4 HIDP_SITE(7));
  hidp::load_several<4>(own, tile + i / 8 * 4 HIDP_SITE(8));
  hidp::load_several<2>(own, tile + i * 32 HIDP_SITE(9));
  if (i < 8) hidp::load_several<2>(own, tile + i * 2 HIDP_SITE(10));
}

// --- what lanes do together

KERNEL(updates, 2, 64) {
  LANE;
  hidp::atomic_add(y, 1 HIDP_SITE(1));
  hidp::atomic_add(y + (8 + i % 8), 1 HIDP_SITE(2));
  hidp::atomic_add(y + (64 + i), 1 HIDP_SITE(3));
}
KERNEL(meetings, 2, 64) {
  LANE;
  hidp::block_barrier(64);
  hidp::block_any(64, i == 3);
  const uint32_t mask = uint32_t{0xFFFF} << (i % 32 / 16 * 16);
  hidp::shuffle(mask, static_cast<double>(i), static_cast<uint32_t>(i % 32 / 16 * 16));
  hidp::warp_ballot(~uint32_t{0}, i > 3);
  hidp::warp_barrier(~uint32_t{0});
}

}  // namespace

HIDP_ENTRY HIDP_SYMBOL(hidp2_twice)(hidp_call *call) {
  run<coalesced>(call, 1, 64);
  return run<coalesced>(call, 1, 64);
}
