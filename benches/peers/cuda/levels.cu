// BFS by queues: 8 lanes take a node, whoever reaches a new one first puts it into the next queue, whose places a warp takes at once. The host asks how many there are.
#include "peer.cuh"

constexpr int kThreads = 256, kLanes = 8;

__global__ void __launch_bounds__(kThreads) spread(const int *__restrict__ first, const int *__restrict__ edges, int *__restrict__ level, const int *__restrict__ queue, int count,
                                                  int *__restrict__ next, int *__restrict__ next_count, int depth) {
  const int at = (blockIdx.x * kThreads + threadIdx.x) / kLanes, lane = threadIdx.x % 32;
  const int node = at < count ? queue[at] : -1;
  int edge = node < 0 ? 0 : first[node] + threadIdx.x % kLanes;
  const int end = node < 0 ? 0 : first[node + 1];
  while (__any_sync(~0u, edge < end)) {
    int reached = -1;
    if (edge < end) {
      const int to = edges[edge];
      // Most are known: a look is cheaper than an exchange.
      if (level[to] < 0 && atomicCAS(level + to, -1, depth) == -1) reached = to;
    }
    const unsigned found = __ballot_sync(~0u, reached >= 0);
    if (found != 0) {
      int place = 0;
      if (lane == 0) place = atomicAdd(next_count, __popc(found));
      place = __shfl_sync(~0u, place, 0);
      if (reached >= 0) next[place + __popc(found & ((1u << lane) - 1))] = reached;
    }
    edge += kLanes;
  }
}

__global__ void begin(int *__restrict__ level, int *__restrict__ queue, int source) {
  level[source] = 0;
  queue[0] = source;
}

PEER(levels) {
  const auto [first, edges] = arrays<const int, 2>(params);
  const int source = scalar<int>(params, 2);
  int *const level = array<int>(params, 3);
  const int64_t nodes = dims[0];
  cudaMemsetAsync(level, 0xff, nodes * 4);
  if (source < 0 || source >= nodes) return;
  Own<int> one(nodes), two(nodes), next_count(1);
  int *queue = one, *next = two;
  begin<<<1, 1>>>(level, queue, source);
  for (int count = 1, depth = 1; count > 0; ++depth) {
    cudaMemsetAsync(next_count, 0, 4);
    spread<<<above(int64_t(count) * kLanes, kThreads), kThreads>>>(first, edges, level, queue, count, next, next_count, depth);
    cudaMemcpy(&count, next_count, 4, cudaMemcpyDeviceToHost);
    int *const old = queue;
    queue = next, next = old;
  }
}
