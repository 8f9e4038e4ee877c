// Iterations with loops, whole ones in vector lanes, as a C++ programmer writes them by hand with vectors: two of them under way, masks
// only where a value outlives its lane, arrays with a row of lanes for each element. Threads share rows by OpenMP.
//
// Compiled for each instruction set that kernels may run on, as `HIDP_PEERS`: the name of the table of functions at the end.

#include "vectors.hpp"

namespace {

#if defined(__AVX512F__)
struct Live {
  __mmask16 mask = 0xffff;
  void keep(Floats a, Floats bound) { mask &= _mm512_cmp_ps_mask((__m512)a, (__m512)bound, _CMP_LE_OQ); }
  Ints count(Ints k) const { return (Ints)_mm512_mask_add_epi32((__m512i)k, mask, (__m512i)k, _mm512_set1_epi32(1)); }
};
bool any(const Live &a, const Live &b) { return (a.mask | b.mask) != 0; }
Ints one_more_unless_equal(Ints k, Ints a, Ints b) {
  const __mmask16 differ = _mm512_cmpneq_epi32_mask((__m512i)a, (__m512i)b);
  return (Ints)_mm512_mask_add_epi32((__m512i)k, differ, (__m512i)k, _mm512_set1_epi32(1));
}
#else
struct Live {
  Ints mask = ~Ints{};
  void keep(Floats a, Floats bound) { mask &= (Ints)(a <= bound); }
  Ints count(Ints k) const { return k - mask; }
};
#if defined(__AVX2__)
bool any(const Live &a, const Live &b) { return _mm256_movemask_ps((__m256)(a.mask | b.mask)) != 0; }
#else
bool any(const Live &a, const Live &b) {
  const Ints both = a.mask | b.mask;
  int32_t some = 0;
  for (int lane = 0; lane < W; lane++) some |= both[lane];
  return some != 0;
}
#endif
Ints one_more_unless_equal(Ints k, Ints a, Ints b) { return k - (a != b); }
#endif

Ints lesser(Ints a, Ints b) { return a < b ? a : b; }

void mandelbrot(int32_t *turns, float x0, float dx, float y0, float dy, int32_t most, int64_t h, int64_t w) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t i = 0; i < h; i++) {
    const Floats ci = splat(fused(float(i), dy, y0));
    for (int64_t j = 0; j < w; j += 2 * W) {
      Floats cr[2], zr[2] = {}, zi[2] = {};
      Ints k[2] = {};
      Live live[2];
      for (int g = 0; g < 2; g++) {
        for (int lane = 0; lane < W; lane++) cr[g][lane] = fused(float(j + g * W + lane), dx, x0);
      }
      for (int32_t turn = 0; turn < most; turn++) {
        for (int g = 0; g < 2; g++) live[g].keep(fused(zr[g], zr[g], zi[g] * zi[g]), splat(4));
        if (!any(live[0], live[1])) break;
        for (int g = 0; g < 2; g++) {
          const Floats t = fused(zr[g], zr[g], -(zi[g] * zi[g])) + cr[g];
          zi[g] = fused(splat(2) * zr[g], zi[g], ci);
          zr[g] = t;
          k[g] = live[g].count(k[g]);
        }
      }
      int32_t found[2 * W];
      memcpy(found, k, sizeof found);
      const int64_t left = w - j < 2 * W ? w - j : 2 * W;
      memcpy(turns + i * w + j, found, size_t(left) * 4);
    }
  }
}

void binomial(float *value, const float *price, const float *strike, float up, float down, float chance,
                   float discount, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i += 2 * W) {
    const int64_t left = n - i < 2 * W ? n - i : 2 * W;
    Floats s[2] = {}, x[2] = {}, low[2], v[65][2];
    memcpy(s, price + i, size_t(left) * 4);
    memcpy(x, strike + i, size_t(left) * 4);
    for (int g = 0; g < 2; g++) {
      for (int k = 0; k < 64; k++) s[g] = s[g] * down;
      low[g] = s[g];
    }
    for (int k = 0; k < 65; k++) {
      for (int g = 0; g < 2; g++) {
        const Floats gain = x[g] - s[g];
        v[k][g] = gain > 0 ? gain : Floats{};
        s[g] = s[g] * up * up;
      }
    }
    for (int t = 64; t > 0; t--) {
      Floats at[2];
      for (int g = 0; g < 2; g++) at[g] = low[g] = low[g] * up;
      for (int k = 0; k < t; k++) {
        for (int g = 0; g < 2; g++) {
          const Floats later = discount * fused(splat(chance), v[k + 1][g], splat(1 - chance) * v[k][g]);
          const Floats now = x[g] - at[g];
          v[k][g] = later > now ? later : now;
          at[g] = at[g] * up * up;
        }
      }
    }
    memcpy(value + i, v[0], size_t(left) * 4);
  }
}

// Rows of as many points as there are lanes are turned first: at most 128 coordinates.
void nearest(int32_t *cluster, const float *point, const float *centre, int64_t n, int64_t d, int64_t k) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i += 2 * W) {
    const int64_t left = n - i < 2 * W ? n - i : 2 * W;
    Floats rows[128][2], least[2] = {splat(INFINITY), splat(INFINITY)};
    Ints best[2] = {};
    for (int64_t at = 0; at < d; at++) {
      float column[2 * W] = {};
      for (int64_t lane = 0; lane < left; lane++) column[lane] = point[(i + lane) * d + at];
      memcpy(rows[at], column, sizeof column);
    }
    for (int64_t c = 0; c < k; c++) {
      Floats sum[2] = {};
      for (int64_t at = 0; at < d; at++) {
        for (int g = 0; g < 2; g++) {
          const Floats e = rows[at][g] - splat(centre[c * d + at]);
          sum[g] = fused(e, e, sum[g]);
        }
      }
      for (int g = 0; g < 2; g++) {
        const Ints nearer = sum[g] < least[g];
        least[g] = nearer ? sum[g] : least[g];
        best[g] = nearer ? int32_t(c) - Ints{} : best[g];
      }
    }
    memcpy(cluster + i, best, size_t(left) * 4);
  }
}

// Letters are turned first, as many rows as there are lanes: at most 256.
void edit_rows(int32_t *distance, const uint8_t *a, const uint8_t *b, int64_t pairs, int64_t n, int64_t m) {
#pragma omp parallel for
  for (int64_t r = 0; r < pairs; r += 2 * W) {
    const int64_t left = pairs - r < 2 * W ? pairs - r : 2 * W;
    Ints s[256][2], t[256][2], row[257][2];
    for (int64_t at = 0; at < n || at < m; at++) {
      int32_t of_a[2 * W] = {}, of_b[2 * W] = {};
      for (int64_t lane = 0; lane < left; lane++) {
        if (at < n) of_a[lane] = a[(r + lane) * n + at];
        if (at < m) of_b[lane] = b[(r + lane) * m + at];
      }
      memcpy(s[at], of_a, sizeof of_a);
      memcpy(t[at], of_b, sizeof of_b);
    }
    for (int64_t j = 0; j <= m; j++) {
      for (int g = 0; g < 2; g++) row[j][g] = int32_t(j) - Ints{};
    }
    for (int64_t i = 0; i < n; i++) {
      Ints before[2], beside[2];
      for (int g = 0; g < 2; g++) {
        before[g] = row[0][g];
        beside[g] = row[0][g] = int32_t(i + 1) - Ints{};
      }
      for (int64_t j = 0; j < m; j++) {
        for (int g = 0; g < 2; g++) {
          const Ints above = row[j + 1][g];
          const Ints changed = one_more_unless_equal(before[g], s[i][g], t[j][g]);
          beside[g] = row[j + 1][g] = lesser(changed, lesser(above, beside[g]) + 1);
          before[g] = above;
        }
      }
    }
    memcpy(distance + r, row[m], size_t(left) * 4);
  }
}

// At most 64 states.
void forward_rows(float *likelihood, const float *start, const float *move, const float *emit, const uint8_t *x,
                       int64_t sequences, int64_t T, int64_t S, int64_t K) {
#pragma omp parallel for
  for (int64_t r = 0; r < sequences; r += 2 * W) {
    const int64_t left = sequences - r < 2 * W ? sequences - r : 2 * W;
    Floats now[64][2], next[64][2];
    for (int64_t t = 0; t < T; t++) {
      int64_t seen[2 * W] = {};
      for (int64_t lane = 0; lane < left; lane++) seen[lane] = x[(r + lane) * T + t];
      for (int64_t q = 0; q < S; q++) {
        Floats sum[2] = {splat(start[q]), splat(start[q])};
        if (t > 0) {
          sum[0] = sum[1] = Floats{};
          for (int64_t p = 0; p < S; p++) {
            for (int g = 0; g < 2; g++) sum[g] = fused(now[p][g], splat(move[p * S + q]), sum[g]);
          }
        }
        float by[2 * W];
        for (int lane = 0; lane < 2 * W; lane++) by[lane] = emit[q * K + seen[lane]];
        for (int g = 0; g < 2; g++) {
          Floats emitted;
          memcpy(&emitted, by + g * W, sizeof emitted);
          next[q][g] = sum[g] * emitted;
        }
      }
      memcpy(now, next, size_t(S) * sizeof now[0]);
    }
    Floats sum[2] = {};
    for (int64_t q = 0; q < S; q++) {
      for (int g = 0; g < 2; g++) sum[g] = sum[g] + now[q][g];
    }
    memcpy(likelihood + r, sum, size_t(left) * 4);
  }
}

void black_scholes(float *call, float *put, const float *price, const float *strike, const float *years, float rate,
                        float volatility, int64_t n) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    const float root = volatility * sqrtf(years[i]);
    const float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / root;
    const float d2 = d1 - root;
    const float n1 = 0.5f * erfcf(-0.70710678f * d1), n2 = 0.5f * erfcf(-0.70710678f * d2);
    const float later = strike[i] * expf(-rate * years[i]);
    call[i] = price[i] * n1 - later * n2;
    put[i] = later * (1 - n2) - price[i] * (1 - n1);
  }
}

} // namespace

extern "C" const struct {
  decltype(&mandelbrot) mandelbrot;
  decltype(&binomial) binomial;
  decltype(&nearest) nearest;
  decltype(&edit_rows) edit_rows;
  decltype(&forward_rows) forward_rows;
  decltype(&black_scholes) black_scholes;
} HIDP_PEERS = {mandelbrot, binomial, nearest, edit_rows, forward_rows, black_scholes};
