// Recurrences as a C++ programmer writes them by hand with OpenMP.

#include <stdint.h>

#include <algorithm>
#include <vector>

#define RESTRICT __restrict__

namespace {

// Steps shorter than this are not worth waking threads for.
constexpr int64_t SHARED = 4096;

// The cells of one diagonal, by their first index; `back` is the second sequence backwards.
void edit_step(int32_t *RESTRICT now, const int32_t *RESTRICT one, const int32_t *RESTRICT two, const uint8_t *RESTRICT s,
               const uint8_t *RESTRICT back, int64_t first, int64_t stop) {
#pragma omp simd
  for (int64_t i = first; i < stop; i++) {
    const int32_t change = two[i - 1] + (s[i - 1] != back[i]);
    now[i] = std::min(change, std::min(one[i - 1], one[i]) + 1);
  }
}

// One word of Hyyrö's bit-parallel edit distance ("A bit-vector algorithm for computing Levenshtein and Damerau edit
// distances", 2003): vertical differences of 64 rows, with the horizontal ones that come in above and leave below.
struct Word {
  uint64_t up = ~0ull, down = 0;
  // `carry` is the horizontal difference above; gives that of row `row`.
  int step(uint64_t match, int carry, int row) {
    const uint64_t negative = carry < 0, vertical = match | down;
    match |= negative;
    const uint64_t horizontal = (((match & up) + up) ^ up) | match;
    uint64_t plus = down | ~(horizontal | up), minus = up & horizontal;
    const int out = int(plus >> row & 1) - int(minus >> row & 1);
    plus = plus << 1 | uint64_t(carry > 0);
    minus = minus << 1 | negative;
    up = minus | ~(vertical | plus);
    down = plus & vertical;
    return out;
  }
};

// Of sequences of up to 64 * WORDS symbols below 64.
template <int WORDS> int32_t edit_bits(const uint8_t *s, int64_t n, const uint8_t *t, int64_t m) {
  if (n == 0) return int32_t(m);
  uint64_t match[64][WORDS] = {};
  for (int64_t i = 0; i < n; i++) match[s[i]][i / 64] |= 1ull << (i % 64);
  Word words[WORDS];
  const int last = int((n - 1) / 64), row = int((n - 1) % 64);
  int32_t distance = int32_t(n);
  for (int64_t j = 0; j < m; j++) {
    int carry = 1;
    for (int w = 0; w < last; w++) carry = words[w].step(match[t[j]][w], carry, 63);
    distance += words[last].step(match[t[j]][last], carry, row);
  }
  return distance;
}

// Score of an alignment with affine gaps by diagonals; `cost` is what two letters score.
template <class Cost>
int32_t affine(const uint8_t *s, int64_t n, const uint8_t *t, int64_t m, int32_t open, int32_t ext, Cost cost) {
  const int32_t never = -100000000;
  std::vector<int32_t> rows[7];
  for (auto &row : rows) row.assign(n + 2, never);
  int32_t *h[3] = {rows[0].data(), rows[1].data(), rows[2].data()};
  int32_t *e[2] = {rows[3].data(), rows[4].data()}, *f[2] = {rows[5].data(), rows[6].data()};
  std::vector<uint8_t> backwards(t, t + m);
  std::reverse(backwards.begin(), backwards.end());
  for (int64_t step = 0; step <= n + m; step++) {
    int32_t *RESTRICT now = h[step % 3], *RESTRICT e_now = e[step % 2], *RESTRICT f_now = f[step % 2];
    const int32_t *one = h[(step + 2) % 3], *two = h[(step + 1) % 3], *e_one = e[(step + 1) % 2], *f_one = f[(step + 1) % 2];
    const int64_t first = std::max<int64_t>(1, step - m), stop = std::min(n + 1, step);
    const uint8_t *back = backwards.data() + (m - step);
#pragma omp simd
    for (int64_t i = first; i < stop; i++) {
      const int32_t left = std::max(e_one[i] - ext, one[i] - open), above = std::max(f_one[i - 1] - ext, one[i - 1] - open);
      e_now[i] = left;
      f_now[i] = above;
      now[i] = std::max(two[i - 1] + cost(s[i - 1], back[i]), std::max(left, above));
    }
    if (step <= m) {
      now[0] = step == 0 ? 0 : -open - int32_t(step - 1) * ext;
      e_now[0] = f_now[0] = never;
    }
    if (step <= n && step > 0) {
      now[step] = -open - int32_t(step - 1) * ext;
      e_now[step] = f_now[step] = never;
    }
  }
  return h[(n + m) % 3][n];
}

} // namespace

extern "C" {

// Edit distance by diagonals: three of them are kept.
int32_t peer_edit_wave(const uint8_t *s, int64_t n, const uint8_t *t, int64_t m) {
  std::vector<uint8_t> backwards(t, t + m);
  std::reverse(backwards.begin(), backwards.end());
  std::vector<int32_t> rows[3];
  for (auto &row : rows) row.resize(n + 2);
  int32_t *kept[3] = {rows[0].data(), rows[1].data(), rows[2].data()};
#pragma omp parallel
  for (int64_t step = 0; step <= n + m; step++) {
    int32_t *now = kept[step % 3];
    const int32_t *one = kept[(step + 2) % 3], *two = kept[(step + 1) % 3];
    const int64_t first = std::max<int64_t>(1, step - m), stop = std::min(n + 1, step);
    const uint8_t *back = backwards.data() + (m - step);
#pragma omp single nowait
    {
      if (step <= m) now[0] = int32_t(step);
      if (step <= n) now[step] = int32_t(step);
    }
    if (stop - first < SHARED) {
#pragma omp single
      edit_step(now, one, two, s, back, first, stop);
    } else {
#pragma omp for schedule(static)
      for (int64_t part = 0; part < 2; part++) {
        const int64_t middle = (first + stop) / 2;
        edit_step(now, one, two, s, back, part ? middle : first, part ? stop : middle);
      }
    }
  }
  return kept[(n + m) % 3][n];
}

// Edit distances of pairs of rows, bit-parallel, a pair a thread at a time; symbols are below 64, rows have at most 256.
void peer_edit_pairs(int32_t *distance, const uint8_t *a, const uint8_t *b, int64_t pairs, int64_t n, int64_t m) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < pairs; r++) distance[r] = edit_bits<4>(a + r * n, n, b + r * m, m);
}

// Score of an alignment with affine gaps: costs of letters that match and that do not, and those of gaps.
int32_t peer_affine_wave(const uint8_t *s, int64_t n, const uint8_t *t, int64_t m, const int32_t *costs) {
  const int32_t match = costs[0], mismatch = costs[1];
  return affine(s, n, t, m, costs[2], costs[3], [=](uint8_t a, uint8_t b) { return a == b ? match : mismatch; });
}

// The same with a matrix of costs, `kinds` letters each way.
int32_t peer_affine_letters(const uint8_t *s, int64_t n, const uint8_t *t, int64_t m, const int32_t *costs, int32_t kinds,
                            const int32_t *gaps) {
  return affine(s, n, t, m, gaps[0], gaps[1], [=](uint8_t a, uint8_t b) { return costs[a * kinds + b]; });
}

// Likelihoods of sequences under a hidden Markov model of `S` states: 16 sequences next to each other in lanes.
void peer_forward(float *likelihood, const float *start, const float *move, const float *emit, const uint8_t *x,
                  int64_t sequences, int64_t T, int64_t S, int64_t K) {
  constexpr int LANES = 16;
#pragma omp parallel for schedule(static)
  for (int64_t group = 0; group < sequences; group += LANES) {
    float now[64][LANES], next[64][LANES];
    const int64_t count = std::min<int64_t>(LANES, sequences - group);
    for (int64_t q = 0; q < S; q++)
      for (int l = 0; l < LANES; l++) now[q][l] = start[q] * emit[q * K + x[(group + std::min<int64_t>(l, count - 1)) * T]];
    for (int64_t t = 1; t < T; t++) {
      uint8_t seen[LANES];
      for (int l = 0; l < LANES; l++) seen[l] = x[(group + std::min<int64_t>(l, count - 1)) * T + t];
      for (int64_t q = 0; q < S; q++) {
        float sum[LANES] = {};
        for (int64_t p = 0; p < S; p++) {
          const float by = move[p * S + q];
#pragma omp simd
          for (int l = 0; l < LANES; l++) sum[l] += now[p][l] * by;
        }
#pragma omp simd
        for (int l = 0; l < LANES; l++) next[q][l] = sum[l] * emit[q * K + seen[l]];
      }
      std::swap(now, next);
    }
    for (int64_t l = 0; l < count; l++) {
      float sum = 0;
      for (int64_t q = 0; q < S; q++) sum += now[q][l];
      likelihood[group + l] = sum;
    }
  }
}

// Rodinia's nw in tiles, those of a diagonal at once; the table has one row and one column more than `reference`.
void peer_needleman(int32_t *table, const int32_t *reference, int64_t n, int64_t m, int32_t penalty) {
  constexpr int64_t TILE = 128;
  const int64_t width = m + 1;
  for (int64_t j = 0; j <= m; j++) table[j] = -int32_t(j) * penalty;
  for (int64_t i = 1; i <= n; i++) table[i * width] = -int32_t(i) * penalty;
  const int64_t rows = (n + TILE - 1) / TILE, columns = (m + TILE - 1) / TILE;
#pragma omp parallel
  for (int64_t step = 0; step < rows + columns - 1; step++) {
#pragma omp for schedule(dynamic)
    for (int64_t row = std::max<int64_t>(0, step - columns + 1); row <= std::min(step, rows - 1); row++) {
      const int64_t column = step - row;
      for (int64_t i = row * TILE + 1; i <= std::min(n, (row + 1) * TILE); i++) {
        const int32_t *above = table + (i - 1) * width, *costs = reference + (i - 1) * m;
        int32_t *now = table + i * width, left = now[column * TILE];
        for (int64_t j = column * TILE + 1; j <= std::min(m, (column + 1) * TILE); j++) {
          left = std::max(std::max(above[j - 1] + costs[j - 1], above[j] - penalty), left - penalty);
          now[j] = left;
        }
      }
    }
  }
}

// The most pairs of letters that add up to 3 and do not cross: an interval after the other by length, each diagonal at once. The table has
// both triangles, so that both operands of the innermost loop are rows.
int32_t peer_fold_letters(const uint8_t *b, int64_t n) {
  if (n == 0) return 0;
  std::vector<int32_t> kept(n * n);
  int32_t *table = kept.data();
#pragma omp parallel
  for (int64_t length = 1; length < n; length++) {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n - length; i++) {
      const int64_t j = i + length;
      int32_t most = length > 1 ? table[(i + 1) * n + j - 1] + (b[i] + b[j] == 3) : 0;
      const int32_t *left = table + i * n, *right = table + j * n + 1;
#pragma omp simd reduction(max : most)
      for (int64_t k = i; k < j; k++) most = std::max(most, left[k] + right[k]);
      table[i * n + j] = table[j * n + i] = most;
    }
  }
  return table[n - 1];
}

// The fewest products of numbers in a product of n matrices, in the same way.
int64_t peer_chained(const int64_t *p, int64_t n) {
  if (n == 0) return 0;
  std::vector<int64_t> kept(n * n);
  int64_t *table = kept.data();
#pragma omp parallel
  for (int64_t length = 1; length < n; length++) {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n - length; i++) {
      const int64_t j = i + length, ends = p[i] * p[j + 1];
      int64_t least = INT64_MAX;
      const int64_t *left = table + i * n, *right = table + j * n + 1;
#pragma omp simd reduction(min : least)
      for (int64_t k = i; k < j; k++) least = std::min(least, left[k] + right[k] + ends * p[k + 1]);
      table[i * n + j] = table[j * n + i] = least;
    }
  }
  return table[n - 1];
}

} // extern "C"
