// Rodinia's BFS: all nodes are looked at for each level, twice.
#include "peer.cuh"

#include <vector>

#define MAX_THREADS_PER_BLOCK 512
struct Node {
  int starting, no_of_edges;
};
#include "rodinia/cuda/bfs/kernel.cu"
#include "rodinia/cuda/bfs/kernel2.cu"

PEER(levels) {
  const int count = int(dims[0]), source = scalar<int>(params, 2);
  std::vector<int> first(count + 1);
  cudaMemcpy(first.data(), array<int>(params, 0), first.size() * 4, cudaMemcpyDeviceToHost);
  std::vector<Node> made(count);
  for (int n = 0; n < count; ++n) made[n] = {first[n], first[n + 1] - first[n]};
  Own<Node> nodes(count);
  cudaMemcpy(nodes, made.data(), count * sizeof(Node), cudaMemcpyHostToDevice);
  Own<bool> mask(count), updating(count), visited(count), over(1);
  for (bool *flags : {static_cast<bool *>(mask), static_cast<bool *>(updating), static_cast<bool *>(visited)}) cudaMemset(flags, 0, count);
  int *const cost = array<int>(params, 3);
  cudaMemset(cost, 0xff, count * sizeof(int));
  if (source < 0 || source >= count) return;
  cudaMemset(mask + source, 1, 1);
  cudaMemset(visited + source, 1, 1);
  cudaMemset(cost + source, 0, sizeof(int));
  const unsigned blocks = above(count, MAX_THREADS_PER_BLOCK);
  bool more = true;
  while (more) {
    cudaMemset(over, 0, 1);
    Kernel<<<blocks, MAX_THREADS_PER_BLOCK>>>(nodes, array<int>(params, 1), mask, updating, visited, cost, count);
    Kernel2<<<blocks, MAX_THREADS_PER_BLOCK>>>(mask, updating, visited, over, count);
    cudaMemcpy(&more, over, 1, cudaMemcpyDeviceToHost);
  }
}
