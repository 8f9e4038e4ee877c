// What a C++ programmer writes by hand with OpenMP, and measurements of the machine's limits.

#include <parallel/algorithm>

#include <immintrin.h>
#include <math.h>
#include <stdint.h>

#define RESTRICT __restrict__

static inline int64_t at(int64_t i, int64_t j, int64_t k, int64_t J, int64_t K) { return (i * J + j) * K + k; }

// One row, in a plain function: GCC 12 forgets `restrict` in loops that OpenMP moves elsewhere.
__attribute__((noinline)) static float himeno_row(float *RESTRICT wrk2, const float *RESTRICT a0, const float *RESTRICT a1,
                                                  const float *RESTRICT a2, const float *RESTRICT a3, const float *RESTRICT b0,
                                                  const float *RESTRICT b1, const float *RESTRICT b2, const float *RESTRICT c0,
                                                  const float *RESTRICT c1, const float *RESTRICT c2, const float *RESTRICT p,
                                                  const float *RESTRICT wrk1, const float *RESTRICT bnd, float omega, int64_t JK,
                                                  int64_t K) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t q = 1; q < K - 1; q++) {
    const float s0 = a0[q] * p[q + JK] + a1[q] * p[q + K] + a2[q] * p[q + 1] +
                     b0[q] * (p[q + JK + K] - p[q + JK - K] - p[q - JK + K] + p[q - JK - K]) +
                     b1[q] * (p[q + K + 1] - p[q - K + 1] - p[q + K - 1] + p[q - K - 1]) +
                     b2[q] * (p[q + JK + 1] - p[q - JK + 1] - p[q + JK - 1] + p[q - JK - 1]) + c0[q] * p[q - JK] +
                     c1[q] * p[q - K] + c2[q] * p[q - 1] + wrk1[q];
    const float ss = (s0 * a3[q] - p[q]) * bnd[q];
    sum += ss * ss;
    wrk2[q] = p[q] + omega * ss;
  }
  return sum;
}

extern "C" {

void peer_triad_f32(float *RESTRICT a, const float *RESTRICT b, const float *RESTRICT c, float s, int64_t n) {
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

// The limit of writing one stream while reading two: non-temporal stores.
void peer_triad_stream_f32(float *RESTRICT a, const float *RESTRICT b, const float *RESTRICT c, float s, int64_t n) {
#if defined(__AVX512F__)
  __m512 vs = _mm512_set1_ps(s);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i += 16)
    _mm512_stream_ps(a + i, _mm512_fmadd_ps(vs, _mm512_loadu_ps(c + i), _mm512_loadu_ps(b + i)));
#elif defined(__AVX__)
  __m256 vs = _mm256_set1_ps(s);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i += 8)
    _mm256_stream_ps(a + i, _mm256_add_ps(_mm256_mul_ps(vs, _mm256_loadu_ps(c + i)), _mm256_loadu_ps(b + i)));
#else
  peer_triad_f32(a, b, c, s, n);
#endif
}

float peer_dot_f32(const float *RESTRICT x, const float *RESTRICT y, int64_t n) {
  float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

// Bins of its own for each thread.
void peer_count_u8(uint32_t *RESTRICT counts, const uint8_t *RESTRICT x, int64_t n) {
#pragma omp parallel
  {
    uint32_t own[256] = {0};
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < n; i++) own[x[i]]++;
#pragma omp critical
    for (int bin = 0; bin < 256; bin++) counts[bin] += own[bin];
  }
}

// The limit of reading: several independent accumulators a thread.
double peer_read_f32(const float *RESTRICT x, int64_t n) {
  float total = 0;
#pragma omp parallel reduction(+ : total)
  {
    float lanes[64] = {0};
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < n / 64; i++)
      for (int l = 0; l < 64; l++) lanes[l] += x[i * 64 + l];
    for (int l = 0; l < 64; l++) total += lanes[l];
  }
  return total;
}

// Peak of fused multiply-add: 24 independent chains of vectors a thread. Returns operations done.
double peer_fma_f32(int64_t rounds, float *out) {
  int64_t threads = 0;
#if defined(__AVX512F__)
  const int width = 16;
#pragma omp parallel reduction(+ : threads)
  {
    __m512 acc[24];
#pragma GCC unroll 24
    for (int i = 0; i < 24; i++) acc[i] = _mm512_set1_ps(1.0f + i);
    __m512 m = _mm512_set1_ps(0.999f), a = _mm512_set1_ps(0.001f);
    for (int64_t r = 0; r < rounds; r++)
#pragma GCC unroll 24
      for (int i = 0; i < 24; i++) acc[i] = _mm512_fmadd_ps(acc[i], m, a);
#pragma GCC unroll 24
    for (int i = 1; i < 24; i++) acc[0] = _mm512_add_ps(acc[0], acc[i]);
    *(volatile float *)out = _mm512_reduce_add_ps(acc[0]);
    threads += 1;
  }
#else
  const int width = 8;
#pragma omp parallel reduction(+ : threads)
  {
    float acc[24][8];
    for (int i = 0; i < 24; i++)
      for (int l = 0; l < 8; l++) acc[i][l] = 1.0f + i;
    for (int64_t r = 0; r < rounds; r++)
      for (int i = 0; i < 24; i++)
        for (int l = 0; l < 8; l++) acc[i][l] = fmaf(acc[i][l], 0.999f, 0.001f);
    float sum = 0;
    for (int i = 0; i < 24; i++)
      for (int l = 0; l < 8; l++) sum += acc[i][l];
    *(volatile float *)out = sum;
    threads += 1;
  }
#endif
  return 2.0 * width * 24 * (double)rounds * (double)threads;
}

void peer_spmv_f64(double *RESTRICT y, const int32_t *RESTRICT rowptr, const int32_t *RESTRICT col, const double *RESTRICT val,
                   const double *RESTRICT x, int64_t rows) {
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t r = 0; r < rows; r++) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int32_t k = rowptr[r]; k < rowptr[r + 1]; k++) sum += val[k] * x[col[k]];
    y[r] = sum;
  }
}

// Segments [cut[s], cut[s + 1]): threads take neighbouring ones; of few segments all threads share each.
void peer_segmented_sums_u32(uint32_t *RESTRICT y, const uint32_t *RESTRICT x, const int32_t *RESTRICT cut, int64_t segments) {
  if (segments >= 64) {
#pragma omp parallel for schedule(guided)
    for (int64_t s = 0; s < segments; s++) {
      uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int32_t i = cut[s]; i < cut[s + 1]; i++) sum += x[i];
      y[s] = sum;
    }
  } else {
    for (int64_t s = 0; s < segments; s++) {
      uint32_t sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
      for (int32_t i = cut[s]; i < cut[s + 1]; i++) sum += x[i];
      y[s] = sum;
    }
  }
}

void peer_row_sums_f32(float *RESTRICT y, const float *RESTRICT a, int64_t rows, int64_t columns) {
  if (rows >= 8) {
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r++) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t c = 0; c < columns; c++) sum += a[r * columns + c];
      y[r] = sum;
    }
  } else {
    for (int64_t r = 0; r < rows; r++) {
      float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
      for (int64_t c = 0; c < columns; c++) sum += a[r * columns + c];
      y[r] = sum;
    }
  }
}

void peer_column_sums_f32(float *RESTRICT y, const float *RESTRICT a, int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static)
  for (int64_t c0 = 0; c0 < columns; c0 += 1024) {
    int64_t width = columns - c0 < 1024 ? columns - c0 : 1024;
    float sums[1024] = {0};
    for (int64_t r = 0; r < rows; r++)
#pragma omp simd
      for (int64_t c = 0; c < width; c++) sums[c] += a[r * columns + c0 + c];
    for (int64_t c = 0; c < width; c++) y[c0 + c] = sums[c];
  }
}

void peer_lines_f64(double *RESTRICT x, const double *RESTRICT a, int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    double *RESTRICT own = x + i * columns;
    const double *RESTRICT factors = a + i * columns;
    for (int64_t j = 1; j < columns; j++) own[j] -= factors[j] * own[j - 1];
    for (int64_t j = columns - 2; j >= 0; j--) own[j] -= factors[j + 1] * own[j + 1];
  }
}

void peer_jacobi7_f64(double *RESTRICT out, const double *RESTRICT in, double c0, double c1, int64_t I, int64_t J, int64_t K) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i = 1; i < I - 1; i++)
    for (int64_t j = 1; j < J - 1; j++)
#pragma omp simd
      for (int64_t k = 1; k < K - 1; k++)
        out[at(i, j, k, J, K)] =
            c0 * in[at(i, j, k, J, K)] + c1 * (in[at(i - 1, j, k, J, K)] + in[at(i + 1, j, k, J, K)] + in[at(i, j - 1, k, J, K)] +
                                              in[at(i, j + 1, k, J, K)] + in[at(i, j, k - 1, J, K)] + in[at(i, j, k + 1, J, K)]);
}

// The same with each row computed into the first-level cache and streamed out.
void peer_jacobi7_stream_f64(double *RESTRICT out, const double *RESTRICT in, double c0, double c1, int64_t I, int64_t J,
                             int64_t K) {
#if defined(__AVX512F__)
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i = 1; i < I - 1; i++)
    for (int64_t j = 1; j < J - 1; j++) {
      const double *RESTRICT row = in + at(i, j, 0, J, K);
      double *RESTRICT to = out + at(i, j, 0, J, K);
      int64_t k = 1;
      for (; k < K - 1 && ((uintptr_t)(to + k) & 63); k++)
        to[k] = c0 * row[k] + c1 * (row[k - J * K] + row[k + J * K] + row[k - K] + row[k + K] + row[k - 1] + row[k + 1]);
      for (; k + 8 <= K - 1; k += 8) {
        __m512d sum = _mm512_add_pd(_mm512_loadu_pd(row + k - J * K), _mm512_loadu_pd(row + k + J * K));
        sum = _mm512_add_pd(sum, _mm512_add_pd(_mm512_loadu_pd(row + k - K), _mm512_loadu_pd(row + k + K)));
        sum = _mm512_add_pd(sum, _mm512_add_pd(_mm512_loadu_pd(row + k - 1), _mm512_loadu_pd(row + k + 1)));
        __m512d centre = _mm512_mul_pd(_mm512_set1_pd(c0), _mm512_loadu_pd(row + k));
        _mm512_stream_pd(to + k, _mm512_fmadd_pd(_mm512_set1_pd(c1), sum, centre));
      }
      for (; k < K - 1; k++)
        to[k] = c0 * row[k] + c1 * (row[k - J * K] + row[k + J * K] + row[k - K] + row[k + K] + row[k - 1] + row[k + 1]);
    }
#else
  peer_jacobi7_f64(out, in, c0, c1, I, J, K);
#endif
}

// The arrays in the order a0 a1 a2 a3 b0 b1 b2 c0 c1 c2 p wrk1 bnd.
float peer_himeno_f32(float *RESTRICT wrk2, const float *const *arrays, float omega, int64_t I, int64_t J, int64_t K) {
  float gosa = 0;
#pragma omp parallel for schedule(static) reduction(+ : gosa)
  for (int64_t i = 1; i < I - 1; i++)
    for (int64_t j = 1; j < J - 1; j++) {
      const int64_t row = at(i, j, 0, J, K);
      const float *const *a = arrays;
      gosa += himeno_row(wrk2 + row, a[0] + row, a[1] + row, a[2] + row, a[3] + row, a[4] + row, a[5] + row, a[6] + row, a[7] + row,
                         a[8] + row, a[9] + row, a[10] + row, a[11] + row, a[12] + row, omega, J * K, K);
    }
  return gosa;
}

}
