// Peers of codelets, for OpenMP and TBB.

#include <stdint.h>

#include <math.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <vector>

#if HIDP_TBB
#include <execution>
#include <numeric>

#include <tbb/blocked_range.h>
#include <tbb/combinable.h>
#include <tbb/parallel_for.h>
#endif

namespace {

// A graph with the edges of each node, and where they come from.
struct Graph {
  const int32_t *first, *edges, *into_first, *into;
  int64_t nodes;
};

// Every node that was not reached looks for one of the front among those that lead to it. Gives how many found one.
int64_t bottom_up(int32_t *far, const Graph &graph, const uint64_t *front, uint64_t *next, int32_t depth) {
  int64_t found = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : found)
  for (int64_t word = 0; word < (graph.nodes + 63) / 64; word++) {
    uint64_t bits = 0;
    for (int64_t v = 64 * word; v < std::min(graph.nodes, 64 * word + 64); v++) {
      if (far[v] >= 0) continue;
      for (int32_t e = graph.into_first[v]; e < graph.into_first[v + 1]; e++) {
        const int32_t u = graph.into[e];
        if (!(front[u / 64] >> (u % 64) & 1)) continue;
        far[v] = depth + 1, bits |= uint64_t(1) << (v % 64), found++;
        break;
      }
    }
    next[word] = bits;
  }
  return found;
}

// The nodes of the front look for others. Gives where the next front ends in the queue, and how many edges it has.
int64_t top_down(int32_t *far, const Graph &graph, int32_t *queue, int64_t begin, int64_t end, int32_t depth,
                 int64_t &edges) {
  std::atomic<int64_t> past{end};
  int64_t many = 0;
#pragma omp parallel reduction(+ : many)
  {
    std::vector<int32_t> own;
#pragma omp for schedule(dynamic, 64) nowait
    for (int64_t at = begin; at < end; at++) {
      const int32_t u = queue[at];
      for (int32_t e = graph.first[u]; e < graph.first[u + 1]; e++) {
        const int32_t v = graph.edges[e];
        int32_t none = -1;
        if (__atomic_load_n(&far[v], __ATOMIC_RELAXED) >= 0) continue;
        if (!__atomic_compare_exchange_n(&far[v], &none, depth + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
        own.push_back(v), many += graph.first[v + 1] - graph.first[v];
      }
    }
    std::copy(own.begin(), own.end(), queue + past.fetch_add(int64_t(own.size())));
  }
  edges = many;
  return past;
}

}  // namespace

extern "C" {

float peer_codelets_sum(const float *x, int64_t n) {
  float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum += x[i];
  return sum;
}

float peer_codelets_dot(const float *x, const float *y, int64_t n) {
  float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

float peer_codelets_standard_dot(const float *x, const float *y, int64_t n) {
#if HIDP_TBB
  return std::transform_reduce(std::execution::par_unseq, x, x + n, y, 0.0f);
#else
  (void)x, (void)y, (void)n;
  std::abort();
#endif
}

// Copies of so many counts, which are added up at the end.
void peer_codelets_words(uint32_t *counts, int64_t bins, const uint32_t *keys, int64_t n) {
  std::fill(counts, counts + bins, 0u);
#pragma omp parallel
  {
    std::vector<uint32_t> own(bins);
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < n; i++) own[keys[i]]++;
#pragma omp critical
    for (int64_t b = 0; b < bins; b++) counts[b] += own[b];
  }
}

void peer_codelets_words_tbb(uint32_t *counts, int64_t bins, const uint32_t *keys, int64_t n) {
#if HIDP_TBB
  tbb::combinable<std::vector<uint32_t>> all([bins] { return std::vector<uint32_t>(bins); });
  tbb::parallel_for(tbb::blocked_range<int64_t>(0, n, 1 << 14), [&](const tbb::blocked_range<int64_t> &range) {
    std::vector<uint32_t> &own = all.local();
    for (int64_t i = range.begin(); i < range.end(); i++) own[keys[i]]++;
  });
  std::fill(counts, counts + bins, 0u);
  all.combine_each([&](const std::vector<uint32_t> &own) {
    for (int64_t b = 0; b < bins; b++) counts[b] += own[b];
  });
#else
  (void)counts, (void)bins, (void)keys, (void)n;
  std::abort();
#endif
}

// Copies of the counts, which are added up at the end.
void peer_codelets_histogram(uint32_t *counts, const uint8_t *keys, int64_t n) {
#if HIDP_TBB
  using Counts = std::array<uint32_t, 256>;
  tbb::combinable<Counts> all([] { return Counts{}; });
  tbb::parallel_for(tbb::blocked_range<int64_t>(0, n, 1 << 14), [&](const tbb::blocked_range<int64_t> &range) {
    Counts &own = all.local();
    for (int64_t i = range.begin(); i < range.end(); i++) own[keys[i]]++;
  });
  std::fill(counts, counts + 256, 0u);
  all.combine_each([&](const Counts &own) {
    for (int64_t b = 0; b < 256; b++) counts[b] += own[b];
  });
#else
  (void)counts, (void)keys, (void)n;
  std::abort();
#endif
}

// A search whose steps go along edges or against them, by the edges that are left (Beamer, Asanović, Patterson, SC 2012), with the
// paper's bounds.
void peer_codelets_directions(int32_t *far, const int32_t *first, const int32_t *edges, const int32_t *into_first,
                              const int32_t *into, int32_t source, int64_t n) {
  const Graph graph{first, edges, into_first, into, n};
  const int64_t words = (n + 63) / 64;
  std::unique_ptr<int32_t[]> queue(new int32_t[n]);
  std::unique_ptr<uint64_t[]> front(new uint64_t[words]), next(new uint64_t[words]);
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < n; v++) far[v] = -1;
  far[source] = 0, queue[0] = source;
  int64_t begin = 0, end = 1, left = first[n], out = first[source + 1] - first[source];
  for (int32_t depth = 0; begin < end;) {
    if (out <= left / 14) {
      left -= out;
      const int64_t past = top_down(far, graph, queue.get(), begin, end, depth++, out);
      begin = end, end = past;
      continue;
    }
#pragma omp parallel for schedule(static)
    for (int64_t word = 0; word < words; word++) front[word] = 0;
    for (int64_t at = begin; at < end; at++) front[queue[at] / 64] |= uint64_t(1) << (queue[at] % 64);
    for (int64_t awake = end - begin, before = 0; awake >= before || awake > n / 24;) {
      before = awake, awake = bottom_up(far, graph, front.get(), next.get(), depth++);
      std::swap(front, next);
      if (awake == 0) break;
    }
    begin = end = 0, out = 1;
    for (int64_t word = 0; word < words; word++) {
      for (uint64_t bits = front[word]; bits; bits &= bits - 1) queue[end++] = int32_t(64 * word + __builtin_ctzll(bits));
    }
  }
}

// Each thread adds points to sums of its own while they are in its cache.
void peer_codelets_clusters(int32_t *cluster, float *sums, uint32_t *counts, const float *point, const float *centre,
                            int64_t n, int64_t d, int64_t k) {
  std::fill(sums, sums + k * d, 0.0f);
  std::fill(counts, counts + k, 0u);
#pragma omp parallel
  {
    std::vector<float> own(k * d);
    std::vector<uint32_t> many(k);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; i++) {
      const float *p = point + i * d;
      float best = INFINITY;
      int32_t at = 0;
      for (int64_t c = 0; c < k; c++) {
        float far = 0;
#pragma omp simd reduction(+ : far)
        for (int64_t j = 0; j < d; j++) {
          const float e = p[j] - centre[c * d + j];
          far += e * e;
        }
        if (far < best) best = far, at = int32_t(c);
      }
      cluster[i] = at;
      many[at]++;
      float *sum = own.data() + at * d;
      for (int64_t j = 0; j < d; j++) sum[j] += p[j];
    }
#pragma omp critical
    {
      for (int64_t c = 0; c < k; c++) counts[c] += many[c];
      for (int64_t j = 0; j < k * d; j++) sums[j] += own[j];
    }
  }
}

}
