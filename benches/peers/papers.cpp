// The programs of the papers about hiCUDA and Lee et al.'s mappings, by hand for OpenMP: what `papers_hicuda.hdp` and `papers_lee.hdp` compute, in
// the same precision; Mandelbrot's set is in `lanes.cpp`. Loops that only fill arrays one after the other share one team.

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <omp.h>

#include <algorithm>
#include <memory>
#include <vector>

#if HIDP_MVEC
// In lanes, by the C library.
extern "C" __attribute__((simd("notinbranch"))) float expf(float) noexcept;
extern "C" __attribute__((simd("notinbranch"))) float erff(float) noexcept;
#endif

namespace {

struct Atom { float x, y, z, charge; };
struct Point { float x, y, z; };
struct Quartet { int32_t a, b, c, d; };
struct Place { float latitude, longitude; };

typedef float Lanes __attribute__((vector_size(64)));
typedef float Anywhere __attribute__((vector_size(64), aligned(4), may_alias));
constexpr int64_t ROWS = 8, COLUMNS = 32;

// A tile of the product, in registers. `b` has the tile's columns one row after the other.
void product(float *c, const float *a, const float *b, int64_t depth, int64_t n) {
  Lanes sums[ROWS][2] = {};
  for (int64_t k = 0; k < depth; k++) {
    const Lanes row[] = {*(const Anywhere *)(b + k * COLUMNS), *(const Anywhere *)(b + k * COLUMNS + COLUMNS / 2)};
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
      sums[i][0] += a[i * depth + k] * row[0];
      sums[i][1] += a[i * depth + k] * row[1];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < ROWS; i++) {
    *(Anywhere *)(c + i * n) = sums[i][0];
    *(Anywhere *)(c + i * n + COLUMNS / 2) = sums[i][1];
  }
}

float squared(Point p, Point q) {
  const float x = p.x - q.x, y = p.y - q.y, z = p.z - q.z;
  return x * x + y * y + z * z;
}

Point between(Point p, float a, Point q, float b) {
  const float scale = 1 / (a + b);
  return {(a * p.x + b * q.x) * scale, (a * p.y + b * q.y) * scale, (a * p.z + b * q.z) * scale};
}

float dot(Point p, Point q) { return p.x * q.x + p.y * q.y + p.z * q.z; }

// The first edge above it.
int64_t bin(float value, const float *edges, int64_t bins) { return std::upper_bound(edges, edges + bins, value) - edges; }

}

extern "C" {

// `m` is a multiple of 8, `n` of 32.
void peer_papers_multiplied(float *c, const float *a, const float *b, int64_t m, int64_t n, int64_t depth) {
#pragma omp parallel
  {
    std::vector<float> packed(depth * COLUMNS);
#pragma omp for schedule(static)
    for (int64_t j = 0; j < n; j += COLUMNS) {
      for (int64_t k = 0; k < depth; k++) memcpy(&packed[k * COLUMNS], b + k * n + j, COLUMNS * 4);
      for (int64_t i = 0; i < m; i += ROWS) product(c + i * n + j, a + i * depth, packed.data(), depth, n);
    }
  }
}

void peer_papers_potential(float *__restrict energy, const Atom *atoms, float spacing, float height, int64_t h, int64_t w,
                           int64_t count) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < h; i++) {
    float *row = energy + i * w;
    memset(row, 0, w * sizeof *row);
    for (int64_t a = 0; a < count; a++) {
      const float dy = i * spacing - atoms[a].y, dz = height + 10 - atoms[a].z, apart = dy * dy + dz * dz;
#pragma omp simd
      for (int64_t j = 0; j < w; j++) {
        const float dx = (int32_t)j * spacing - atoms[a].x;
        row[j] += atoms[a].charge / sqrtf(dx * dx + apart);
      }
    }
  }
}

// Lanes over places that a block is moved to in a row.
void peer_papers_differences(uint16_t *__restrict fours, uint16_t *__restrict eights, const uint8_t *current,
                             const uint8_t *before, int64_t b, int64_t c, int64_t s) {
  const int64_t width = 8 * c, moved = s * s;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i = 0; i < 2 * b; i++) {
    for (int64_t j = 0; j < 2 * c; j++) {
      uint8_t own[4][4];
      for (int r = 0; r < 4; r++) memcpy(own[r], current + (4 * i + r) * width + 4 * j, 4);
      for (int64_t u = 0; u < s; u++) {
        uint16_t *out = fours + (i * 2 * c + j) * moved + u * s;
        const uint8_t *from = before + (4 * i + u) * (width + s) + 4 * j;
#pragma omp simd
        for (int64_t v = 0; v < s; v++) {
          uint16_t sum = 0;
          for (int r = 0; r < 4; r++) {
            for (int k = 0; k < 4; k++) {
              const uint8_t other = from[r * (width + s) + v + k];
              sum += own[r][k] > other ? own[r][k] - other : other - own[r][k];
            }
          }
          out[v] = sum;
        }
      }
    }
  }
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i = 0; i < b; i++) {
    for (int64_t j = 0; j < c; j++) {
      const uint16_t *upper = fours + (2 * i * 2 * c + 2 * j) * moved, *lower = upper + 2 * c * moved;
      uint16_t *out = eights + (i * c + j) * moved;
#pragma omp simd
      for (int64_t v = 0; v < moved; v++) out[v] = upper[v] + upper[v + moved] + lower[v] + lower[v + moved];
    }
  }
}

// Each thread counts for itself.
void peer_papers_correlated(int64_t *selves, int64_t *others, const Point *points, const Point *random, const float *edges,
                            int64_t n, int64_t m, int64_t bins) {
  memset(selves, 0, (bins + 1) * sizeof *selves);
  memset(others, 0, (bins + 1) * sizeof *others);
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : selves[:bins + 1], others[:bins + 1])
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i + 1; j < n; j++) selves[bin(dot(points[i], points[j]), edges, bins)]++;
    for (int64_t j = 0; j < m; j++) others[bin(dot(points[i], random[j]), edges, bins)]++;
  }
}

void peer_papers_repulsion(float *integrals, const Point *centres, const float *exponents, const float *weights,
                           const Quartet *quartets, int64_t count) {
#pragma omp parallel for schedule(static)
  for (int64_t q = 0; q < count; q++) {
    const auto [a, b, c, d] = quartets[q];
    // What two shells have alone.
    struct Pair { float exponent, decay, weight; Point at; };
    Pair left[9], right[9];
    const auto pairs = [&](Pair *pairs, int32_t one, int32_t two) {
      const float apart = squared(centres[one], centres[two]);
      for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
          const float e = exponents[3 * one + i], f = exponents[3 * two + j];
          const float weight = weights[3 * one + i] * weights[3 * two + j];
          pairs[3 * i + j] = {e + f, e * f / (e + f) * apart, weight, between(centres[one], e, centres[two], f)};
        }
      }
    };
    pairs(left, a, b);
    pairs(right, c, d);
    float sum = 0;
    for (const Pair &l : left) {
#pragma omp simd reduction(+ : sum)
      for (int k = 0; k < 9; k++) {
        const Pair &r = right[k];
        const float p = l.exponent, e = r.exponent;
        const float t = p * e / (p + e) * squared(l.at, r.at), root = sqrtf(t), far = 0.8862269f * erff(root) / root;
        const float boys = t < 0.001f ? 1 - t / 3 : far;
        sum += l.weight * r.weight * 34.986837f / (p * e * sqrtf(p + e)) * expf(-l.decay - r.decay) * boys;
      }
    }
    integrals[q] = sum;
  }
}

float peer_papers_nearest(float *__restrict distance, const Place *places, float latitude, float longitude, int64_t n) {
  float least = INFINITY;
#pragma omp parallel for simd schedule(static) reduction(min : least)
  for (int64_t i = 0; i < n; i++) {
    const float x = places[i].latitude - latitude, y = places[i].longitude - longitude;
    const float d = sqrtf(x * x + y * y);
    distance[i] = d;
    least = d < least ? d : least;
  }
  return least;
}

void peer_papers_eliminated(double *a, double *b, int64_t n) {
#pragma omp parallel
  for (int64_t k = 0; k < n; k++) {
    const double *pivot = a + k * n;
#pragma omp for schedule(static)
    for (int64_t i = k + 1; i < n; i++) {
      double *row = a + i * n;
      const double factor = row[k] / pivot[k];
#pragma omp simd
      for (int64_t j = k; j < n; j++) row[j] -= factor * pivot[j];
      b[i] -= factor * b[k];
    }
  }
}

void peer_papers_heated(float *heat, const float *power, int64_t h, int64_t w, int32_t steps) {
  std::unique_ptr<float[]> other(new float[h * w]);
#pragma omp parallel
  {
    float *from = heat, *to = other.get();
    for (int32_t s = 0; s < steps; s++) {
#pragma omp for schedule(static)
      for (int64_t i = 0; i < h; i++) {
        const float *here = from + i * w, *up = from + std::max<int64_t>(i - 1, 0) * w;
        const float *down = from + std::min(i + 1, h - 1) * w, *warm = power + i * w;
        float *__restrict out = to + i * w;
        const auto next = [=](int64_t l, int64_t j, int64_t r) {
          const float own = here[j], across = up[j] + down[j] - 2 * own, along = here[l] + here[r] - 2 * own;
          return own + 0.125f * (warm[j] + across + along + 0.5f * (1 - own));
        };
        out[0] = next(0, 0, std::min<int64_t>(1, w - 1));
#pragma omp simd
        for (int64_t j = 1; j < w - 1; j++) out[j] = next(j - 1, j, j + 1);
        if (w > 1) out[w - 1] = next(w - 2, w - 1, w - 1);
      }
      std::swap(from, to);
    }
  }
  if (steps % 2 == 1) memcpy(heat, other.get(), h * w * sizeof *heat);
}

void peer_papers_evened(float *image, int64_t h, int64_t w, int32_t steps) {
  std::unique_ptr<float[]> flow(new float[h * w]), other(new float[h * w]);
  float sum, squares;
#pragma omp parallel
  {
    float *from = image, *to = other.get(), *flows = flow.get();
    for (int32_t t = 0; t < steps; t++) {
#pragma omp single
      sum = squares = 0;
#pragma omp for simd schedule(static) reduction(+ : sum, squares)
      for (int64_t i = 0; i < h * w; i++) sum += from[i], squares += from[i] * from[i];
      const float mean = sum / (h * w);
      const float even = (squares / (h * w) - mean * mean) / (mean * mean) + 0.25f;
#pragma omp for schedule(static)
      for (int64_t i = 0; i < h; i++) {
        const float *here = from + i * w, *up = from + std::max<int64_t>(i - 1, 0) * w;
        const float *down = from + std::min(i + 1, h - 1) * w;
        float *__restrict out = flows + i * w;
        const float scale = 1 / (even * (1 + even));
        const auto at = [=](int64_t left, int64_t j, int64_t right) {
          const float own = here[j], n = up[j] - own, s = down[j] - own, o = here[left] - own, e = here[right] - own;
          const float slope = (n * n + s * s + o * o + e * e) / (own * own), bend = (n + s + o + e) / own;
          const float root = 1 + 0.25f * bend, q = (0.5f * slope - 0.0625f * bend * bend) / (root * root + 0.01f);
          const float c = 1 / (1 + fabsf(q - even) * scale);
          return c < 0 ? 0 : c > 1 ? 1 : c;
        };
        out[0] = at(0, 0, 1);
#pragma omp simd
        for (int64_t j = 1; j < w - 1; j++) out[j] = at(j - 1, j, j + 1);
        out[w - 1] = at(w - 2, w - 1, w - 1);
      }
#pragma omp for schedule(static)
      for (int64_t i = 0; i < h; i++) {
        const int64_t below = std::min(i + 1, h - 1);
        const float *here = from + i * w, *up = from + std::max<int64_t>(i - 1, 0) * w, *down = from + below * w;
        const float *own_flow = flows + i * w, *down_flow = flows + below * w;
        float *__restrict out = to + i * w;
        const auto at = [=](int64_t left, int64_t j, int64_t right) {
          const float own = here[j], n = up[j] - own, s = down[j] - own, o = here[left] - own, e = here[right] - own;
          const float c = own_flow[j];
          return own + 0.125f * (down_flow[j] * s + c * n + own_flow[right] * e + c * o);
        };
        out[0] = at(0, 0, 1);
#pragma omp simd
        for (int64_t j = 1; j < w - 1; j++) out[j] = at(j - 1, j, j + 1);
        out[w - 1] = at(w - 2, w - 1, w - 1);
      }
      std::swap(from, to);
    }
  }
  if (steps % 2 == 1) memcpy(image, other.get(), h * w * sizeof *image);
}

void peer_papers_walked(int32_t *cost, const int32_t *wall, int64_t steps, int64_t n) {
  std::unique_ptr<int32_t[]> other(new int32_t[n]);
  memset(cost, 0, n * sizeof *cost);
#pragma omp parallel
  {
    int32_t *from = cost, *to = other.get();
    for (int64_t t = 0; t < steps; t++) {
      const int32_t *row = wall + t * n;
#pragma omp single nowait
      {
        to[0] = row[0] + std::min(from[0], from[1]);
        to[n - 1] = row[n - 1] + std::min(from[n - 1], from[n - 2]);
      }
#pragma omp for simd schedule(static)
      for (int64_t j = 1; j < n - 1; j++) to[j] = row[j] + std::min(std::min(from[j - 1], from[j]), from[j + 1]);
      std::swap(from, to);
    }
  }
  if (steps % 2 == 1) memcpy(cost, other.get(), n * sizeof *cost);
}

void peer_papers_factored(double *a, int64_t n) {
#pragma omp parallel
  for (int64_t k = 0; k < n; k++) {
    const double *pivot = a + k * n;
#pragma omp for schedule(static)
    for (int64_t i = k + 1; i < n; i++) {
      double *row = a + i * n;
      row[k] /= pivot[k];
      const double factor = row[k];
#pragma omp simd
      for (int64_t j = k + 1; j < n; j++) row[j] -= factor * pivot[j];
    }
  }
}

// Nodes that are reached get the same value from each that reaches them.
void peer_papers_levels(int32_t *level, const int32_t *first, const int32_t *edges, int32_t source, int64_t n) {
  std::unique_ptr<uint8_t[]> reached(new uint8_t[n]());
  int32_t more = n > 0;
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t v = 0; v < n; v++) level[v] = v == source ? 0 : -1;
    for (int32_t depth = 0; more > 0; depth++) {
#pragma omp for schedule(dynamic, 1024)
      for (int64_t v = 0; v < n; v++) {
        if (level[v] != depth) continue;
        for (int32_t e = first[v]; e < first[v + 1]; e++) {
#pragma omp atomic write
          reached[edges[e]] = 1;
        }
      }
#pragma omp single
      more = 0;
#pragma omp for schedule(static) reduction(max : more)
      for (int64_t v = 0; v < n; v++) {
        const bool now = level[v] < 0 && reached[v];
        level[v] = now ? depth + 1 : level[v];
        more = now ? 1 : more;
      }
    }
  }
}

}
