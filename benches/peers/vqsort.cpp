// Highway's vectorised quicksort, where it is installed: each thread sorts its part, then pairs of parts are merged by all.
#include <cstdint>
#include <cstdlib>

#if HIDP_VQSORT
#include <hwy/contrib/sort/vqsort.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <vector>
#endif

namespace {

#if HIDP_VQSORT

template <class K>
void vqsort(K *keys, int64_t n) {
  // Kept: making one allocates.
  thread_local const hwy::Sorter sorter;
  sorter(keys, static_cast<size_t>(n), hwy::SortAscending());
}

// How many of the first `want` elements of the merge of a and b are a's.
template <class K>
int64_t split(const K *a, int64_t length_a, const K *b, int64_t length_b, int64_t want) {
  int64_t low = std::max<int64_t>(0, want - length_b), high = std::min(want, length_a);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (b[want - middle - 1] < a[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}

template <class K>
void merge(const K *a, const K *past_a, const K *b, const K *past_b, K *to) {
  // No branch that depends on keys.
  while (a < past_a && b < past_b) {
    const K first = *a, second = *b;
    const bool from_b = second < first;
    *to++ = from_b ? second : first;
    a += !from_b;
    b += from_b;
  }
  to = std::copy(a, past_a, to);
  std::copy(b, past_b, to);
}

// Merges the two halves of a run of `n`, of which the first has `middle`; thread `part` of `parts` does its share.
template <class K>
void merge_share(const K *from, K *to, int64_t middle, int64_t n, int64_t part, int64_t parts) {
  const int64_t begin = n * part / parts, end = n * (part + 1) / parts;
  const K *b = from + middle;
  const int64_t a0 = split(from, middle, b, n - middle, begin), a1 = split(from, middle, b, n - middle, end);
  merge(from + a0, from + a1, b + (begin - a0), b + (end - a1), to + begin);
}

// As many keys again, kept from call to call as the pools of the other contenders are.
template <class K>
K *kept(size_t n) {
  static std::vector<K> storage;
  if (storage.size() < n) storage.resize(n);
  return storage.data();
}

template <class K>
void sort(K *keys, int64_t n) {
  int levels = 0;
  while ((2 << levels) <= omp_get_max_threads()) ++levels;
  const int64_t threads = int64_t{1} << levels;
  K *const other = kept<K>(static_cast<size_t>(n));
  // The last merge ends in `keys`.
  K *from = levels % 2 == 0 ? keys : other, *to = levels % 2 == 0 ? other : keys;
#pragma omp parallel num_threads(static_cast<int>(threads))
  {
    const int64_t thread = omp_get_thread_num();
    const int64_t begin = n * thread / threads, end = n * (thread + 1) / threads;
    if (from != keys) std::memcpy(from + begin, keys + begin, static_cast<size_t>(end - begin) * sizeof(K));
    vqsort(from + begin, end - begin);
  }
  for (int64_t runs = threads; runs > 1; runs /= 2) {
    const int64_t sharers = threads / (runs / 2);
#pragma omp parallel num_threads(static_cast<int>(threads))
    {
      const int64_t thread = omp_get_thread_num(), pair = thread / sharers;
      const int64_t low = n * (2 * pair) / runs, middle = n * (2 * pair + 1) / runs, high = n * (2 * pair + 2) / runs;
      merge_share(from + low, to + low, middle - low, high - low, thread % sharers, sharers);
    }
    std::swap(from, to);
  }
}

void sort_segments(uint32_t *keys, const int32_t *cut, int64_t segments) {
#pragma omp parallel for schedule(guided)
  for (int64_t segment = 0; segment < segments; ++segment) vqsort(keys + cut[segment], cut[segment + 1] - cut[segment]);
}

#else

template <class K>
void sort(K *, int64_t) {
  std::abort();
}
void sort_segments(uint32_t *, const int32_t *, int64_t) { std::abort(); }

#endif

}  // namespace

extern "C" {

bool peer_has_vqsort() { return HIDP_VQSORT; }

void peer_vqsort_u32(uint32_t *keys, int64_t n) { sort(keys, n); }
void peer_vqsort_f32(float *keys, int64_t n) { sort(keys, n); }
void peer_vqsort_u64(uint64_t *keys, int64_t n) { sort(keys, n); }
void peer_vqsort_segments_u32(uint32_t *keys, const int32_t *cut, int64_t segments) { sort_segments(keys, cut, segments); }
}
