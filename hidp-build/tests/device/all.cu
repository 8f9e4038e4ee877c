// Every primitive for devices, for the CUDA compiler: see filetests/nvcc.rs. Never run.
#include <hidp/cuda/prim/block_partition.cuh>
#include <hidp/cuda/prim/block_reduce.cuh>
#include <hidp/cuda/prim/block_reverse.cuh>
#include <hidp/cuda/prim/block_scan.cuh>
#include <hidp/cuda/prim/block_sort.cuh>
#include <hidp/cuda/prim/kernel_check_disjoint.cuh>
#include <hidp/cuda/prim/kernel_histogram.cuh>
#include <hidp/cuda/prim/kernel_partition.cuh>
#include <hidp/cuda/prim/kernel_reduce.cuh>
#include <hidp/cuda/prim/kernel_reverse.cuh>
#include <hidp/cuda/prim/kernel_scan.cuh>
#include <hidp/cuda/prim/kernel_segmented_partition.cuh>
#include <hidp/cuda/prim/kernel_segmented_reduce.cuh>
#include <hidp/cuda/prim/kernel_segmented_reverse.cuh>
#include <hidp/cuda/prim/kernel_segmented_scan.cuh>
#include <hidp/cuda/prim/kernel_segmented_sort.cuh>
#include <hidp/cuda/prim/kernel_sort.cuh>
#include <hidp/cuda/prim/subwarp2_partition.cuh>
#include <hidp/cuda/prim/subwarp2_reduce.cuh>
#include <hidp/cuda/prim/subwarp2_reverse.cuh>
#include <hidp/cuda/prim/subwarp2_scan.cuh>
#include <hidp/cuda/prim/subwarp2_sort.cuh>
#include <hidp/cuda/prim/subwarp_partition.cuh>
#include <hidp/cuda/prim/subwarp_reduce.cuh>
#include <hidp/cuda/prim/subwarp_reverse.cuh>
#include <hidp/cuda/prim/subwarp_scan.cuh>
#include <hidp/cuda/prim/subwarp_sort.cuh>
#include <hidp/cuda/prim/thread_partition.cuh>
#include <hidp/cuda/prim/thread_reduce.cuh>
#include <hidp/cuda/prim/thread_reverse.cuh>
#include <hidp/cuda/prim/thread_scan.cuh>
#include <hidp/cuda/prim/thread_sort.cuh>
#include <hidp/cuda/prim/warp_partition.cuh>
#include <hidp/cuda/prim/warp_reduce.cuh>
#include <hidp/cuda/prim/warp_reverse.cuh>
#include <hidp/cuda/prim/warp_scan.cuh>
#include <hidp/cuda/prim/warp_sort.cuh>

HIDP_NAMESPACE_BEGIN

struct Below {
  HIDP_INLINE explicit Below(Trap &trap) : trap(trap) {}
  HIDP_INLINE bool operator()(float a, float pivot) const {
    if (a == 13) trap.raise(3, 1, 13);
    return a < pivot;
  }
  Trap &trap;
};
struct Run {
  int32_t first, past;
};
struct JoinRuns {
  HIDP_INLINE explicit JoinRuns(Trap &trap) : trap(trap) {}
  HIDP_INLINE Run operator()(Run a, Run b) const {
    if (a.past != b.first) trap.raise(3, 2, a.past, b.first);
    return Run{a.first, b.past};
  }
  Trap &trap;
};

struct Arrays {
  Any<float> in, out;
  Any<Run> runs, joined;
  Any<int64_t> numbers;
  int64_t n;
};

#define LEVEL(Level, level)                                                                               \
  HIDP_GLOBAL(256) level##_folds(Launch launch, Arrays on) {                                              \
    Worker<256> worker(launch);                                                                           \
    each_item<Level, 1>(worker, launch, [&](int64_t i) {                                                  \
      float sum = 0;                                                                                      \
      Run run = {};                                                                                       \
      level##_reduce<float, Add<float>>(worker, on.in, on.n, &sum);                                       \
      level##_reduce<Run, JoinRuns>(worker, on.runs, on.n, &run);                                         \
      store(on.out + i, sum);                                                                             \
      store(on.joined + i, run);                                                                          \
    });                                                                                                   \
  }                                                                                                       \
  HIDP_GLOBAL(256) level##_scans(Launch launch, Arrays on) {                                              \
    Worker<256> worker(launch);                                                                           \
    each_item<Level, 1>(worker, launch, [&](int64_t) {                                                    \
      level##_scan<float, Add<float>>(worker, on.in, on.out, on.n, 0.0f, true, true);                     \
      level##_scan<Run, JoinRuns>(worker, on.runs, on.joined, on.n, Run{}, false, false);                 \
    });                                                                                                   \
  }                                                                                                       \
  HIDP_GLOBAL(256) level##_sorts(Launch launch, Arrays on) {                                              \
    Worker<256> worker(launch);                                                                           \
    each_item<Level, 1>(worker, launch, [&](int64_t) {                                                    \
      level##_sort(worker, on.in, on.out, on.runs, on.joined, on.n, true);                                \
      level##_sort(worker, on.numbers, on.numbers + on.n, on.n, false);                                   \
    });                                                                                                   \
  }                                                                                                       \
  HIDP_GLOBAL(256) level##_moves(Launch launch, Arrays on) {                                              \
    Worker<256> worker(launch);                                                                           \
    each_item<Level, 1>(worker, launch, [&](int64_t) {                                                    \
      int64_t count = 0;                                                                                  \
      level##_partition<Below>(worker, on.in, on.out, on.runs, on.joined, 2.0f, on.n, &count);            \
      level##_reverse(worker, on.in, on.out, count);                                                      \
      level##_reverse_inplace(worker, on.runs, on.n);                                                     \
    });                                                                                                   \
  }
LEVEL(Thread, thread)
LEVEL(Subwarp2, subwarp2)
LEVEL(Subwarp, subwarp)
LEVEL(Warp, warp)
LEVEL(Block, block)
#undef LEVEL

inline int32_t everything(hidp_call *call) {
  Host host(call);
  const Any<float> in = host.param<float>(0), out = host.param<float>(1);
  const Any<Run> runs = host.param<Run>(2), joined = host.param<Run>(3);
  const Any<int> lows = host.param<int>(4), highs = host.param<int>(5);
  const int64_t n = host.dim(0), count = host.dim(1);
  const Arrays on{in, out, runs, joined, host.param<int64_t>(6), n};
#define LEVEL(Level, level)                                 \
  launch<level##_folds, Level, 256>(host, over(count), on); \
  launch<level##_scans, Level, 256>(host, over(count), on); \
  launch<level##_sorts, Level, 256>(host, over(count), on); \
  launch<level##_moves, Level, 256>(host, over(count), on);
  LEVEL(Thread, thread)
  LEVEL(Subwarp2, subwarp2)
  LEVEL(Subwarp, subwarp)
  LEVEL(Warp, warp)
  LEVEL(Block, block)
#undef LEVEL
  float sum;
  Run run;
  int64_t front;
  kernel_reduce<float, Add<float>>(host, 1, in, n, &sum);
  kernel_reduce<Run, JoinRuns>(host, 1, runs, n, &run);
  kernel_scan<float, Add<float>>(host, 1, in, out, n, 0.0f, true, true);
  kernel_scan<int, Add<int>>(host, 1, lows, lows, n, 0, true, true);
  kernel_scan<Run, JoinRuns>(host, 1, runs, joined, n, Run{}, false, false);
  kernel_sort(host, 1, in, out, n, false);
  kernel_sort(host, 1, in, out, runs, joined, n, true);
  kernel_partition<Below>(host, 1, in, out, 2.0f, n, &front);
  kernel_partition<Below>(host, 1, in, out, runs, joined, 2.0f, n, &front);
  kernel_reverse(host, in, out, n);
  kernel_reverse_inplace(host, runs, n);
  kernel_histogram<int, Add<int>>(host, 1, 2, lows, highs, lows, n, count, 0, true);
  kernel_histogram<float, Add<float>>(host, 1, 2, lows, in, out, n, count, 0.0f, true);
  kernel_segmented_reduce<float, Add<float>>(host, 1, 2, 3, in, n, out, lows, highs, count, 0.0f, true);
  kernel_segmented_reduce<Run, JoinRuns>(host, 1, 2, 3, runs, n, joined, lows, highs, count, Run{}, false);
  kernel_regular_scan<float, Add<float>>(host, 1, 2, 3, 4, in, out, n, n, count, 0.0f, true, true);
  kernel_segmented_scan<Run, JoinRuns>(host, 1, 2, 3, 4, runs, joined, n, lows, highs, count, Run{}, false, false);
  kernel_segmented_sort(host, 1, 2, 3, in, out, runs, joined, n, lows, highs, count, true);
  kernel_segmented_partition<Below>(host, 1, 2, 3, 4, in, out, runs, joined, in, n, lows, highs, count, lows, highs);
  kernel_segmented_reverse(host, 1, 2, 3, in, out, n, lows, highs, count);
  kernel_segmented_reverse_inplace(host, 1, 2, 3, in, n, lows, highs, count);
  kernel_check_disjoint(host, 1, 2, lows, highs, count);
  return host.finish();
}

HIDP_NAMESPACE_END

extern "C" int32_t hidp_every_primitive(hidp_call *call) { return hidp::everything(call); }
