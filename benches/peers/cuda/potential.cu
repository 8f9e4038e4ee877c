// CP: the potential of charges at the points of a plane. Charges are in constant memory, as many at a time as it has room for; a thread has 8 points of a row, 16 apart, which share
// what a row has in common. The root and its inverse are rounded: `rsqrtf` would be one instruction for both.
#include "peer.cuh"

struct Atom {
  float x, y, z, charge;
};

constexpr int kAtoms = 4000, kOwn = 8, kX = 16, kY = 8;
__constant__ float4 charges[kAtoms];

__global__ void __launch_bounds__(kX *kY) potential(float spacing, float plane, int count, bool is_first, float *__restrict__ energy, int height, int width) {
  const int row = blockIdx.y * kY + threadIdx.y, column = blockIdx.x * kX * kOwn + threadIdx.x;
  const float y = float(row) * spacing;
  float x[kOwn], sums[kOwn];
#pragma unroll
  for (int q = 0; q < kOwn; ++q) x[q] = float(column + q * kX) * spacing, sums[q] = 0.0f;
  for (int a = 0; a < count; ++a) {
    const float4 atom = charges[a];
    const float dy = y - atom.y, dz = plane - atom.z, others = dy * dy + dz * dz;
#pragma unroll
    for (int q = 0; q < kOwn; ++q) {
      const float dx = x[q] - atom.x;
      sums[q] += atom.w * (1.0f / sqrtf(dx * dx + others));
    }
  }
  if (row >= height) return;
#pragma unroll
  for (int q = 0; q < kOwn; ++q) {
    if (column + q * kX >= width) return;
    float &to = energy[size_t(row) * width + column + q * kX];
    to = is_first ? sums[q] : to + sums[q];
  }
}

PEER(potential) {
  const auto *const atoms = array<const float4>(params, 0);
  const float spacing = scalar<float>(params, 1), plane = scalar<float>(params, 2) + 10.0f;
  const int64_t count = dims[0], height = dims[1], width = dims[2];
  const dim3 blocks(above(width, kX * kOwn), above(height, kY)), threads(kX, kY);
  for (int64_t from = 0; from == 0 || from < count; from += kAtoms) {
    const int64_t part = count - from < kAtoms ? count - from : kAtoms;
    cudaMemcpyToSymbol(charges, atoms + from, part * sizeof(float4), 0, cudaMemcpyDeviceToDevice);
    potential<<<blocks, threads>>>(spacing, plane, int(part), from == 0, array<float>(params, 3), int(height), int(width));
  }
}
