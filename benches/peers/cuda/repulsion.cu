// RPES: a thread has a quartet of shells. What pairs of Gaussian functions have in common is computed once for each pair, the exponential among it.
#include "peer.cuh"

struct Point {
  float x, y, z;
};
struct Quartet {
  int a, b, c, d;
};
// Two Gaussian functions as one.
struct Pair {
  float exponent, weight;
  Point centre;
};

__device__ __forceinline__ float squared(Point p, Point q) {
  const float x = p.x - q.x, y = p.y - q.y, z = p.z - q.z;
  return x * x + y * y + z * z;
}

__device__ __forceinline__ Pair pair(Point p, float a, float weight_a, Point q, float b, float weight_b, float apart) {
  const float sum = a + b, inverse = 1.0f / sum;
  const Point centre = {(a * p.x + b * q.x) * inverse, (a * p.y + b * q.y) * inverse, (a * p.z + b * q.z) * inverse};
  return {sum, weight_a * weight_b * expf(-a * b * inverse * apart), centre};
}

__device__ __forceinline__ float boys(float t) {
  if (t < 0.001f) return 1.0f - t / 3.0f;
  const float root = sqrtf(t);
  return 0.8862269f * erff(root) / root;
}

__global__ void __launch_bounds__(128) repulse(const Point *__restrict__ centres, const float *__restrict__ exponents, const float *__restrict__ weights,
                                              const Quartet *__restrict__ quartets, float *__restrict__ integrals, int count) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= count) return;
  const Quartet own = quartets[q];
  const Point a = centres[own.a], b = centres[own.b], c = centres[own.c], d = centres[own.d];
  const float ab = squared(a, b), cd = squared(c, d);
  Pair others[9];
#pragma unroll
  for (int k = 0; k < 3; ++k)
#pragma unroll
    for (int l = 0; l < 3; ++l)
      others[3 * k + l] = pair(c, exponents[3 * own.c + k], weights[3 * own.c + k], d, exponents[3 * own.d + l], weights[3 * own.d + l], cd);
  float sum = 0.0f;
#pragma unroll 1
  for (int at = 0; at < 9; ++at) {
    const int i = at / 3, j = at % 3;
    const Pair one = pair(a, exponents[3 * own.a + i], weights[3 * own.a + i], b, exponents[3 * own.b + j], weights[3 * own.b + j], ab);
#pragma unroll
    for (int other = 0; other < 9; ++other) {
      const Pair &two = others[other];
      const float p = one.exponent, r = two.exponent;
      sum += one.weight * two.weight * 34.986837f / (p * r * sqrtf(p + r)) * boys(p * r / (p + r) * squared(one.centre, two.centre));
    }
  }
  integrals[q] = sum;
}

PEER(repulsion) {
  const int count = dims[1];
  repulse<<<above(count, 128), 128>>>(array<const Point>(params, 0), array<const float>(params, 1), array<const float>(params, 2), array<const Quartet>(params, 3),
                                      array<float>(params, 4), count);
}
