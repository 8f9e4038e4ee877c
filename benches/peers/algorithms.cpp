// Algorithms of the standard library: GCC's parallel mode (OpenMP), and C++17's with execution policies where TBB runs them.
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <parallel/algorithm>

#if HIDP_TBB
#include <algorithm>
#include <execution>
#include <numeric>
#endif

namespace {

template <class K>
struct Pair {
  K key;
  uint32_t value;
};

template <class K>
void gnu_sort_pairs(Pair<K> *pairs, int64_t n) {
  __gnu_parallel::sort(pairs, pairs + n, [](const Pair<K> &a, const Pair<K> &b) { return a.key < b.key; });
}

template <class K>
void std_sort(K *keys, int64_t n) {
#if HIDP_TBB
  std::sort(std::execution::par, keys, keys + n);
#else
  (void)keys, (void)n;
  std::abort();
#endif
}

#if HIDP_TBB
template <class T, class Join>
T fold(const T *x, int64_t n, T start, Join join) {
  return std::reduce(std::execution::par_unseq, x, x + n, start, join);
}
#else
template <class T, class Join>
T fold(const T *, int64_t, T, Join) {
  std::abort();
}
#endif

}  // namespace

extern "C" {

bool peer_has_tbb() { return HIDP_TBB; }
bool peer_has_sleef() { return HIDP_SLEEF; }
bool peer_has_mvec() { return HIDP_MVEC; }

void peer_gnu_sort_u32(uint32_t *keys, int64_t n) { __gnu_parallel::sort(keys, keys + n); }
void peer_gnu_sort_f32(float *keys, int64_t n) { __gnu_parallel::sort(keys, keys + n); }
void peer_gnu_sort_u64(uint64_t *keys, int64_t n) { __gnu_parallel::sort(keys, keys + n); }
void peer_gnu_sort_pairs_u32(Pair<uint32_t> *pairs, int64_t n) { gnu_sort_pairs(pairs, n); }
void peer_gnu_sort_pairs_f32(Pair<float> *pairs, int64_t n) { gnu_sort_pairs(pairs, n); }
void peer_gnu_sort_pairs_u64(Pair<uint64_t> *pairs, int64_t n) { gnu_sort_pairs(pairs, n); }
void peer_std_sort_u32(uint32_t *keys, int64_t n) { std_sort(keys, n); }
void peer_std_sort_f32(float *keys, int64_t n) { std_sort(keys, n); }
void peer_std_sort_u64(uint64_t *keys, int64_t n) { std_sort(keys, n); }

float peer_sum_f32(const float *x, int64_t n) {
  return fold(x, n, 0.0f, [](float a, float b) { return a + b; });
}
float peer_min_f32(const float *x, int64_t n) {
  return fold(x, n, std::numeric_limits<float>::infinity(), [](float a, float b) { return a < b ? a : b; });
}
int32_t peer_max_i32(const int32_t *x, int64_t n) {
  return fold(x, n, std::numeric_limits<int32_t>::min(), [](int32_t a, int32_t b) { return a > b ? a : b; });
}

void peer_scan_i32(const int32_t *x, int32_t *y, int64_t n) {
#if HIDP_TBB
  std::inclusive_scan(std::execution::par_unseq, x, x + n, y);
#else
  (void)x, (void)y, (void)n;
  std::abort();
#endif
}

void peer_partition_u32(const uint32_t *x, uint32_t *front, uint32_t *back, int64_t n, uint32_t pivot) {
#if HIDP_TBB
  std::partition_copy(std::execution::par, x, x + n, front, back, [=](uint32_t key) { return key < pivot; });
#else
  (void)x, (void)front, (void)back, (void)n, (void)pivot;
  std::abort();
#endif
}
}
