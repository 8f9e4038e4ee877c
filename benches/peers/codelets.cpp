// The peer of the codelets' k-means, for OpenMP.

#include <stdint.h>

#include <math.h>

#include <algorithm>
#include <vector>

extern "C" {

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
