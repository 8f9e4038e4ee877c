// Usual programs, as a C++ programmer first writes them for OpenMP; compiled for the machine at hand.

#include <stdint.h>
#include <string.h>

#include <math.h>

#include <omp.h>

#include <algorithm>
#include <vector>

extern "C" {

void peer_first_histogram(uint32_t *counts, const uint8_t *x, int64_t n) {
  memset(counts, 0, 256 * sizeof *counts);
#pragma omp parallel for schedule(static) reduction(+ : counts[:256])
  for (int64_t i = 0; i < n; i++) counts[x[i]]++;
}

// Cells within a border that stays.
void peer_first_life_border(uint8_t *__restrict b, const uint8_t *__restrict a, int64_t n, int64_t m) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const uint8_t *here = a + i * m;
    uint8_t *out = b + i * m;
    if (i == 0 || i == n - 1) {
      memcpy(out, here, m);
      continue;
    }
    const uint8_t *up = here - m, *down = here + m;
    out[0] = here[0], out[m - 1] = here[m - 1];
#pragma omp simd
    for (int64_t j = 1; j < m - 1; j++) {
      const uint8_t s = up[j - 1] + up[j] + up[j + 1] + here[j - 1] + here[j + 1] + down[j - 1] + down[j] + down[j + 1];
      out[j] = (s == 3) | ((s == 2) & here[j]);
    }
  }
}

// The first and the last column apart, neighbouring rows by where `torus` says.
void peer_first_life(uint8_t *__restrict b, const uint8_t *__restrict a, int64_t n, int64_t m, int torus) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const uint8_t *here = a + i * m;
    const uint8_t *up = a + (i > 0 ? i - 1 : torus ? n - 1 : 0) * m;
    const uint8_t *down = a + (i < n - 1 ? i + 1 : torus ? 0 : n - 1) * m;
    uint8_t *out = b + i * m;
    const auto cell = [=](int64_t l, int64_t j, int64_t r) {
      const uint8_t s = up[l] + up[j] + up[r] + here[l] + here[r] + down[l] + down[j] + down[r];
      return uint8_t((s == 3) | ((s == 2) & here[j]));
    };
    out[0] = cell(torus ? m - 1 : 0, 0, 1);
#pragma omp simd
    for (int64_t j = 1; j < m - 1; j++) out[j] = cell(j - 1, j, j + 1);
    out[m - 1] = cell(m - 2, m - 1, torus ? 0 : m - 1);
  }
}

int64_t peer_first_compact(float *y, const float *x, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    y[count] = x[i];
    count += x[i] > 0;
  }
  return count;
}

// Each thread its part, then all to their places.
int64_t peer_first_compact_threads(float *y, const float *x, int64_t n) {
  int64_t counts[257] = {0};
#pragma omp parallel
  {
    const int64_t t = omp_get_thread_num(), threads = omp_get_num_threads();
    const int64_t begin = n * t / threads, end = n * (t + 1) / threads;
    int64_t count = 0;
#pragma omp simd reduction(+ : count)
    for (int64_t i = begin; i < end; i++) count += x[i] > 0;
    counts[t + 1] = count;
#pragma omp barrier
#pragma omp single
    for (int64_t i = 0; i < threads; i++) counts[i + 1] += counts[i];
    int64_t at = counts[t];
    for (int64_t i = begin; i < end; i++) {
      if (x[i] > 0) y[at++] = x[i];
    }
    if (t == threads - 1) counts[256] = at;
  }
  return counts[256];
}

int64_t peer_first_runs(int32_t *value, int32_t *length, const int32_t *x, int64_t n) {
  int64_t runs = 0;
  for (int64_t i = 0; i < n;) {
    int64_t j = i + 1;
    while (j < n && x[j] == x[i]) j++;
    value[runs] = x[i];
    length[runs++] = int32_t(j - i);
    i = j;
  }
  return runs;
}

void peer_first_cholesky(double *a, int64_t n) {
  for (int64_t j = 0; j < n; j++) {
    double *row = a + j * n;
    double d = 0;
#pragma omp simd reduction(+ : d)
    for (int64_t k = 0; k < j; k++) d += row[k] * row[k];
    row[j] = sqrt(row[j] - d);
#pragma omp parallel for schedule(static) if ((n - j) * j > 65536)
    for (int64_t i = j + 1; i < n; i++) {
      double *other = a + i * n, s = 0;
#pragma omp simd reduction(+ : s)
      for (int64_t k = 0; k < j; k++) s += other[k] * row[k];
      other[j] = (other[j] - s) / row[j];
    }
  }
}

// The result is in the first two arrays.
void peer_first_fft(double *re, double *im, double *sr, double *si, const double *wr, const double *wi, int64_t n) {
  double *const out_re = re, *const out_im = im;
  const int64_t half = n / 2;
  for (int64_t width = 1; width < n; width *= 2) {
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < half; t++) {
      const int64_t k = t & (width - 1), turn = t - k, at = 2 * turn + k;
      const double br = re[t + half], bi = im[t + half], dr = re[t] - br, di = im[t] - bi;
      sr[at] = re[t] + br;
      si[at] = im[t] + bi;
      sr[at + width] = dr * wr[turn] - di * wi[turn];
      si[at + width] = dr * wi[turn] + di * wr[turn];
    }
    std::swap(re, sr);
    std::swap(im, si);
  }
  if (re != out_re) {
    memcpy(out_re, re, n * sizeof *re);
    memcpy(out_im, im, n * sizeof *im);
  }
}

void peer_first_floyd_warshall(float *d, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    const float *__restrict through = d + k * n;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
      if (i == k) continue;
      float *__restrict row = d + i * n;
      const float first = row[k];
#pragma omp simd
      for (int64_t j = 0; j < n; j++) {
        const float sum = first + through[j];
        row[j] = sum < row[j] ? sum : row[j];
      }
    }
  }
}

int32_t peer_first_diagonals(const uint8_t *s, const uint8_t *t, int64_t n, int64_t m) {
  std::vector<int32_t> rows(3 * (n + 1));
  int32_t *before = rows.data(), *last = before + n + 1, *now = last + n + 1;
  for (int64_t d = 0; d <= n + m; d++) {
    const int64_t low = d > m ? d - m : 0, high = d < n ? d : n;
    const int64_t begin = low > 0 ? low : 1, end = high == d ? high : high + 1;
    if (low == 0) now[0] = int32_t(d);
    if (high == d) now[d] = int32_t(d);
#pragma omp parallel for simd schedule(static) if (end - begin > 8192)
    for (int64_t i = begin; i < end; i++) {
      const int32_t change = before[i - 1] + (s[i - 1] != t[d - i - 1]);
      const int32_t gap = (last[i - 1] < last[i] ? last[i - 1] : last[i]) + 1;
      now[i] = change < gap ? change : gap;
    }
    int32_t *oldest = before;
    before = last, last = now, now = oldest;
  }
  return last[n];
}

// One thread.
float peer_first_forward(const float *first, const float *move, const float *emit, const uint8_t *x, int64_t states, int64_t length) {
  std::vector<float> both(2 * states);
  float *__restrict p = both.data(), *__restrict q = p + states;
  for (int64_t s = 0; s < states; s++) p[s] = first[s] * emit[x[0] * states + s];
  for (int64_t k = 1; k < length; k++) {
    for (int64_t s = 0; s < states; s++) q[s] = 0;
    for (int64_t r = 0; r < states; r++) {
      for (int64_t s = 0; s < states; s++) q[s] += p[r] * move[r * states + s];
    }
    for (int64_t s = 0; s < states; s++) q[s] *= emit[x[k] * states + s];
    std::swap(p, q);
  }
  float sum = 0;
  for (int64_t s = 0; s < states; s++) sum += p[s];
  return sum;
}

// One thread.
void peer_first_pairs(uint32_t *counts, const float *x, const float *y, float scale, int64_t n, int64_t bins) {
  memset(counts, 0, bins * sizeof *counts);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i + 1; j < n; j++) {
      const float dx = x[i] - x[j], dy = y[i] - y[j];
      const int bin = int(scale * sqrtf(dx * dx + dy * dy));
      if (bin < bins) counts[bin]++;
    }
  }
}

void peer_first_sines(double *y, const double *x, int64_t n, int64_t terms) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    double s = 0;
    for (int64_t k = 0; k < terms; k++) s += sin(x[i] * k);
    y[i] = s;
  }
}

void peer_first_both_products(double *u, double *v, const double *a, const double *x, const double *y, int64_t n) {
  std::fill(v, v + n, 0.0);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (int64_t j = 0; j < n; j++) s += a[i * n + j] * x[j];
    u[i] = s;
  }
#pragma omp parallel for schedule(static) reduction(+ : v[:n])
  for (int64_t i = 0; i < n; i++) {
#pragma omp simd
    for (int64_t j = 0; j < n; j++) v[j] += a[i * n + j] * y[i];
  }
}

void peer_first_column_means(float *mean, const float *a, int64_t n, int64_t m) {
  std::fill(mean, mean + m, 0.0f);
#pragma omp parallel for schedule(static) reduction(+ : mean[:m])
  for (int64_t i = 0; i < n; i++) {
#pragma omp simd
    for (int64_t j = 0; j < m; j++) mean[j] += a[i * m + j];
  }
  for (int64_t j = 0; j < m; j++) mean[j] /= n;
}

// Entries by row: a part of them a thread, rows at the ends of parts by atomics.
void peer_first_coo(double *y, const int32_t *row, const int32_t *col, const double *val, const double *x, int64_t rows, int64_t entries) {
  memset(y, 0, rows * sizeof *y);
#pragma omp parallel
  {
    const int64_t t = omp_get_thread_num(), threads = omp_get_num_threads();
    const int64_t begin = entries * t / threads, end = entries * (t + 1) / threads;
    for (int64_t k = begin; k < end;) {
      const int32_t r = row[k];
      double s = 0;
      for (; k < end && row[k] == r; k++) s += val[k] * x[col[k]];
#pragma omp atomic
      y[r] += s;
    }
  }
}

}  // extern "C"
