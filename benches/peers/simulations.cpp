// Rays, walks, particles and neighbours, as a C++ programmer writes them by hand with vectors: two of them under way, masks only where a
// value outlives its lane. Threads share rows by OpenMP.
//
// Compiled for each instruction set that kernels may run on, as `HIDP_PEERS`: the name of the table of functions at the end.

#include "vectors.hpp"

#if HIDP_SLEEF && defined(__AVX2__)
#include <sleef.h>
#endif

namespace {

#if defined(__AVX512F__)
typedef __mmask16 Mask;
constexpr Mask kAll = 0xffff;
Mask below(Floats a, Floats b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ); }
Floats choose(Mask m, Floats a, Floats b) { return (Floats)_mm512_mask_blend_ps(m, (__m512)b, (__m512)a); }
Ints choose(Mask m, Ints a, Ints b) { return (Ints)_mm512_mask_blend_epi32(m, (__m512i)b, (__m512i)a); }
Mask without(Mask a, Mask b) { return Mask(a & ~b); }
bool any(Mask a) { return a != 0; }
bool any(Mask a, Mask b) { return (a | b) != 0; }
Floats root(Floats a) { return (Floats)_mm512_sqrt_ps((__m512)a); }
Floats lesser(Floats a, Floats b) { return (Floats)_mm512_min_ps((__m512)a, (__m512)b); }
#else
typedef Ints Mask;
const Mask kAll = ~Ints{};
Mask below(Floats a, Floats b) { return a < b; }
Floats choose(Mask m, Floats a, Floats b) { return (Floats)(((Ints)a & m) | ((Ints)b & ~m)); }
Ints choose(Mask m, Ints a, Ints b) { return (a & m) | (b & ~m); }
Mask without(Mask a, Mask b) { return a & ~b; }
#if defined(__AVX2__)
bool any(Mask a) { return _mm256_movemask_ps((__m256)a) != 0; }
Floats root(Floats a) { return (Floats)_mm256_sqrt_ps((__m256)a); }
Floats lesser(Floats a, Floats b) { return (Floats)_mm256_min_ps((__m256)a, (__m256)b); }
#else
bool any(Mask a) {
  int32_t some = 0;
  for (int lane = 0; lane < W; lane++) some |= a[lane];
  return some != 0;
}
Floats root(Floats a) {
  for (int lane = 0; lane < W; lane++) a[lane] = sqrtf(a[lane]);
  return a;
}
Floats lesser(Floats a, Floats b) { return choose(below(a, b), a, b); }
#endif
bool any(Mask a, Mask b) { return any(a | b); }
#endif

struct Ray {
  Floats ox, oy, oz, dx, dy, dz;
};

// A ball and a ring around it on a plane.
Floats scene(Floats x, Floats y, Floats z) {
  const Floats ball = root(fused(x, x, fused(y, y, z * z))) - 1.0f;
  const Floats out = root(fused(x, x, z * z)) - 1.5f;
  const Floats height = fused(splat(0.35f), x, y);
  const Floats ring = root(fused(out, out, height * height)) - 0.22f;
  return lesser(lesser(ball, ring), y + 1.1f);
}

// How far two vectors of rays go, at most 40, where they are `on`.
void march(Floats far[2], const Ray ray[2], const Mask on[2]) {
  Mask live[2] = {on[0], on[1]};
  Floats t[2];
  for (int g = 0; g < 2; g++) {
    t[g] = splat(0.01f);
    far[g] = splat(40);
  }
  for (int k = 0; k < 160 && any(live[0], live[1]); k++) {
    for (int g = 0; g < 2; g++) {
      const Ray &r = ray[g];
      const Floats d = scene(fused(t[g], r.dx, r.ox), fused(t[g], r.dy, r.oy), fused(t[g], r.dz, r.oz));
      const Mask met = live[g] & below(d, 0.0005f * t[g]);
      far[g] = choose(met, t[g], far[g]);
      t[g] = t[g] + d;
      live[g] = without(live[g], met | below(splat(40), t[g]));
    }
  }
}

void raymarch(float *light, int64_t h, int64_t w) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t i = 0; i < h; i++) {
    for (int64_t j = 0; j < w; j += 2 * W) {
      Ray ray[2], shadow[2];
      Mask all[2] = {kAll, kAll}, lit[2];
      Floats t[2], toward[2], seen[2], shade[2];
      for (int g = 0; g < 2; g++) {
        Floats dx;
        for (int lane = 0; lane < W; lane++) dx[lane] = float(2 * (j + g * W + lane) + 1 - w);
        dx = dx / float(h) * 0.5f;
        const Floats dy = splat(float(h - 2 * i - 1) / float(h) * 0.5f - 0.35f);
        const Floats size = root(fused(dx, dx, fused(dy, dy, splat(1))));
        ray[g] = {splat(0), splat(2), splat(-5.5f), dx / size, dy / size, splat(1) / size};
      }
      march(t, ray, all);
      for (int g = 0; g < 2; g++) {
        const Floats e = splat(0.001f);
        const Floats x = t[g] * ray[g].dx, y = fused(t[g], ray[g].dy, splat(2)), z = fused(t[g], ray[g].dz, splat(-5.5f));
        const Floats here = scene(x, y, z);
        const Floats nx = scene(x + e, y, z) - here, ny = scene(x, y + e, z) - here, nz = scene(x, y, z + e) - here;
        toward[g] = (nx * 0.48f + ny * 0.64f - nz * 0.6f) / root(fused(nx, nx, fused(ny, ny, nz * nz)));
        const Mask meets = below(t[g], splat(40));
        lit[g] = meets & below(splat(0), toward[g]);
        shade[g] = choose(meets, splat(0.1f), splat(1));
        shadow[g] = {fused(splat(0.01f), nx, x), y + 0.01f, z, splat(0.48f), splat(0.64f), splat(-0.6f)};
      }
      if (any(lit[0], lit[1])) {
        march(seen, shadow, lit);
        for (int g = 0; g < 2; g++) {
          const Mask sun = without(lit[g], below(seen[g], splat(40)));
          shade[g] = choose(sun, fused(splat(0.9f), toward[g], shade[g]), shade[g]);
        }
      }
      const int64_t left = w - j < 2 * W ? w - j : 2 * W;
      memcpy(light + i * w + j, shade, size_t(left) * 4);
    }
  }
}

// The 8 nearest points of each query, of at most 64 coordinates. Rows of as many queries as there are lanes are turned first.
void neighbours(int32_t *near, const float *query, const float *point, int64_t queries, int64_t n, int64_t d) {
#pragma omp parallel for
  for (int64_t i = 0; i < queries; i += 2 * W) {
    const int64_t left = queries - i < 2 * W ? queries - i : 2 * W;
    Floats rows[64][2], least[8][2];
    Ints at[8][2] = {};
    for (int64_t c = 0; c < d; c++) {
      float column[2 * W] = {};
      for (int64_t lane = 0; lane < left; lane++) column[lane] = query[(i + lane) * d + c];
      memcpy(rows[c], column, sizeof column);
    }
    for (int k = 0; k < 8; k++) least[k][0] = least[k][1] = splat(INFINITY);
    for (int64_t p = 0; p < n; p++) {
      Floats sum[2] = {};
      for (int64_t c = 0; c < d; c++) {
        for (int g = 0; g < 2; g++) {
          const Floats e = rows[c][g] - splat(point[p * d + c]);
          sum[g] = fused(e, e, sum[g]);
        }
      }
      for (int g = 0; g < 2; g++) {
        if (!any(below(sum[g], least[7][g]))) continue;
        for (int k = 7; k >= 0; k--) {
          const Mask here = below(sum[g], least[k][g]);
          const Mask before = k > 0 ? here & below(sum[g], least[k > 0 ? k - 1 : 0][g]) : here ^ here;
          const Floats moved = k > 0 ? choose(before, least[k > 0 ? k - 1 : 0][g], sum[g]) : sum[g];
          const Ints from = k > 0 ? choose(before, at[k > 0 ? k - 1 : 0][g], int32_t(p) - Ints{}) : int32_t(p) - Ints{};
          least[k][g] = choose(here, moved, least[k][g]);
          at[k][g] = choose(here, from, at[k][g]);
        }
      }
    }
    int32_t found[8][2 * W];
    memcpy(found, at, sizeof found);
    for (int64_t lane = 0; lane < left; lane++) {
      for (int k = 0; k < 8; k++) near[(i + lane) * 8 + k] = found[k][lane];
    }
  }
}

// How many of `points` random points of each walk are inside of a circle.
int64_t inside(uint64_t seed, int64_t walks, int32_t points) {
  constexpr int H = W / 2, G = 4;
  typedef uint64_t Longs __attribute__((vector_size(H * 8)));
  typedef int32_t Halves __attribute__((vector_size(H * 4)));
  typedef float HalfFloats __attribute__((vector_size(H * 4)));
  int64_t hits = 0;
#pragma omp parallel for reduction(+ : hits)
  for (int64_t i = 0; i < walks; i += H * G) {
    Longs state[G];
    Halves found[G] = {};
    for (int g = 0; g < G; g++) {
      for (int lane = 0; lane < H; lane++) state[g][lane] = seed + uint64_t(i + g * H + lane) * 11400714819323198485u;
    }
    const auto next = [&](int g) {
      state[g] = state[g] * 6364136223846793005u + 1442695040888963407u;
      return __builtin_convertvector(__builtin_convertvector(state[g] >> 40, Halves), HalfFloats) * 0.000000059604645f;
    };
    for (int32_t k = 0; k < points; k++) {
      for (int g = 0; g < G; g++) {
        const HalfFloats x = next(g), y = next(g);
        found[g] -= (Halves)(x * x + y * y < 1.0f);
      }
    }
    for (int g = 0; g < G; g++) {
      for (int lane = 0; lane < H; lane++) hits += i + g * H + lane < walks ? found[g][lane] : 0;
    }
  }
  return hits;
}

#if HIDP_SLEEF && defined(__AVX2__)
#if defined(__AVX512F__)
typedef __m512d Doubles;
Doubles sleef_log(Doubles x) { return Sleef_logd8_u10avx512f(x); }
Doubles sleef_exp(Doubles x) { return Sleef_expd8_u10avx512f(x); }
Doubles sleef_erfc(Doubles x) { return Sleef_erfcd8_u15avx512f(x); }
Doubles root(Doubles x) { return _mm512_sqrt_pd(x); }
Floats sleef_log(Floats x) { return (Floats)Sleef_logf16_u10avx512f((__m512)x); }
Floats sleef_exp(Floats x) { return (Floats)Sleef_expf16_u10avx512f((__m512)x); }
Floats sleef_erfc(Floats x) { return (Floats)Sleef_erfcf16_u15avx512f((__m512)x); }
#else
typedef __m256d Doubles;
Doubles sleef_log(Doubles x) { return Sleef_logd4_u10avx2(x); }
Doubles sleef_exp(Doubles x) { return Sleef_expd4_u10avx2(x); }
Doubles sleef_erfc(Doubles x) { return Sleef_erfcd4_u15avx2(x); }
Doubles root(Doubles x) { return _mm256_sqrt_pd(x); }
Floats sleef_log(Floats x) { return (Floats)Sleef_logf8_u10avx2((__m256)x); }
Floats sleef_exp(Floats x) { return (Floats)Sleef_expf8_u10avx2((__m256)x); }
Floats sleef_erfc(Floats x) { return (Floats)Sleef_erfcf8_u15avx2((__m256)x); }
#endif

Floats exponential(Floats x) { return sleef_exp(x); }
#else
// Arguments from -87 to 0 with an error of some 1e-7: Cody and Waite's reduction, and a polynomial for exp on [-ln 2 / 2, ln 2 / 2].
Floats exponential(Floats x) {
  const Floats magic = splat(12582912), below = splat(-87);
  x = choose(::below(x, below), below, x);
  const Floats shifted = fused(x, splat(1.44269504f), magic), n = shifted - magic;
  const Floats r = fused(n, splat(1.42860677e-6f), fused(n, splat(-0.693148613f), x));
  Floats p = splat(0.00138888889f);
  constexpr float kRest[] = {0.00833333333f, 0.0416666667f, 0.166666667f, 0.5f, 1.0f, 1.0f};
  for (float c : kRest) p = fused(p, r, splat(c));
  return (Floats)((Ints)p + ((Ints)shifted << 23));
}
#endif

// Forces between particles of neighbouring boxes.
void boxes(float *const out[4], const float *const in[4], const int32_t *few, const int32_t *near, float alpha, int64_t count,
           int64_t m, int64_t n) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t b = 0; b < count; b++) {
    for (int64_t p = 0; p < n; p += 2 * W) {
      const int64_t left = n - p < 2 * W ? n - p : 2 * W;
      Floats at[3][2] = {}, sum[4][2] = {};
      for (int c = 0; c < 3; c++) memcpy(at[c], in[c] + b * n + p, size_t(left) * 4);
      for (int64_t k = 0; k < few[b]; k++) {
        const int64_t from = near[b * m + k] * n;
        for (int64_t q = from; q < from + n; q++) {
          for (int g = 0; g < 2; g++) {
            const Floats dx = at[0][g] - splat(in[0][q]), dy = at[1][g] - splat(in[1][q]), dz = at[2][g] - splat(in[2][q]);
            const Floats e = splat(in[3][q]) * exponential(splat(-alpha) * fused(dx, dx, fused(dy, dy, dz * dz)));
            sum[0][g] = sum[0][g] + e;
            sum[1][g] = fused(e + e, dx, sum[1][g]);
            sum[2][g] = fused(e + e, dy, sum[2][g]);
            sum[3][g] = fused(e + e, dz, sum[3][g]);
          }
        }
      }
      for (int c = 0; c < 4; c++) memcpy(out[c] + b * n + p, sum[c], size_t(left) * 4);
    }
  }
}

// A step of particles that come back on the other side in x, and bounce in y: multiples of 16 of them.
void particles(float *x, float *y, const float *vx, float *vy, float dt, float width, float height, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i += W) {
    Floats px, py, ux, uy;
    memcpy(&px, x + i, sizeof px);
    memcpy(&py, y + i, sizeof py);
    memcpy(&ux, vx + i, sizeof ux);
    memcpy(&uy, vy + i, sizeof uy);
    px = fused(splat(dt), ux, px);
    py = fused(splat(dt), uy, py);
    px = choose(below(px, splat(0)), px + width, px);
    px = choose(below(px, splat(width)), px, px - width);
    const Mask low = below(py, splat(0)), high = below(splat(height), py);
    uy = choose(low, -uy, choose(high, -0.9f * uy, uy));
    py = choose(low, -py, choose(high, 2 * height - py, py));
    memcpy(x + i, &px, sizeof px);
    memcpy(y + i, &py, sizeof py);
    memcpy(vy + i, &uy, sizeof uy);
  }
}

#if HIDP_SLEEF && defined(__AVX2__)
// Black-Scholes over whole vectors.
template <class Vector, class T>
void options(T *call, T *put, const T *price, const T *strike, const T *years, T rate, T volatility, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i += int64_t(sizeof(Vector) / sizeof(T))) {
    Vector p, s, t;
    memcpy(&p, price + i, sizeof p);
    memcpy(&s, strike + i, sizeof s);
    memcpy(&t, years + i, sizeof t);
    const Vector spread = volatility * root(t);
    const Vector d1 = (sleef_log(p / s) + (rate + T(0.5) * volatility * volatility) * t) / spread, d2 = d1 - spread;
    const Vector n1 = T(0.5) * sleef_erfc(T(-0.70710678118654752) * d1), n2 = T(0.5) * sleef_erfc(T(-0.70710678118654752) * d2);
    const Vector later = s * sleef_exp(-rate * t), c = p * n1 - later * n2, q = later * (1 - n2) - p * (1 - n1);
    memcpy(call + i, &c, sizeof c);
    memcpy(put + i, &q, sizeof q);
  }
}

constexpr auto options_f32 = options<Floats, float>;
constexpr auto options_f64 = options<Doubles, double>;
#else
// Where there is no SLEEF.
template <class T>
using Options = void (*)(T *, T *, const T *, const T *, const T *, T, T, int64_t);
constexpr Options<float> options_f32 = nullptr;
constexpr Options<double> options_f64 = nullptr;
#endif

} // namespace

extern "C" const struct {
  decltype(&raymarch) raymarch;
  decltype(&neighbours) neighbours;
  decltype(&inside) inside;
  decltype(&boxes) boxes;
  decltype(&particles) particles;
  void (*options_f32)(float *, float *, const float *, const float *, const float *, float, float, int64_t);
  void (*options_f64)(double *, double *, const double *, const double *, const double *, double, double, int64_t);
} HIDP_PEERS = {raymarch, neighbours, inside, boxes, particles, options_f32, options_f64};
