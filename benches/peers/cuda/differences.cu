// SAD: a block has an 8 by 8 part of the picture and the window that it is compared with in shared memory. A thread takes 4 neighbouring places of the window: 4 bytes are
// compared by one instruction.
#include "peer.cuh"

constexpr int kPart = 8, kThreads = 256;

__global__ void __launch_bounds__(kThreads) differences(const uint8_t *__restrict__ current, const uint8_t *__restrict__ before, uint16_t *__restrict__ fours,
                                                       uint16_t *__restrict__ eights, int columns, int places) {
  extern __shared__ uint32_t near[];
  const int b = blockIdx.y, c = blockIdx.x, side = kPart + places - 1, pitch = (side + 3) / 4 + 1;
  uint32_t *const own = near, *const window = near + kPart * 2;
  const int wide = kPart * columns, wider = wide + places;
  for (int at = threadIdx.x; at < kPart * kPart; at += kThreads) {
    reinterpret_cast<uint8_t *>(own)[at] = current[size_t(kPart * b + at / kPart) * wide + kPart * c + at % kPart];
  }
  for (int row = threadIdx.x / 32; row < side; row += kThreads / 32) {
    const uint8_t *const from = before + size_t(kPart * b + row) * wider + kPart * c;
    for (int at = threadIdx.x % 32; at < pitch * 4; at += 32) reinterpret_cast<uint8_t *>(window)[row * pitch * 4 + at] = at < side ? from[at] : 0;
  }
  __syncthreads();
  const int groups = (places + 3) / 4;
  for (int at = threadIdx.x; at < places * groups; at += kThreads) {
    const int u = at / groups, v = at % groups * 4;
    uint32_t sums[2][2][4] = {};
#pragma unroll
    for (int i = 0; i < kPart; ++i) {
      const uint32_t *const row = window + (u + i) * pitch + v / 4;
      const uint32_t words[3] = {row[0], row[1], row[2]};
#pragma unroll
      for (int q = 0; q < 4; ++q) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const uint32_t moved = __funnelshift_r(words[half], words[half + 1], 8 * q);
          sums[i / 4][half][q] += __vsadu4(own[i * 2 + half], moved);
        }
      }
    }
    const size_t all = size_t(places) * places, place = size_t(u) * places + v;
    auto put = [&](uint16_t *to, const uint32_t (&values)[4]) {
      if (places % 4 == 0) {
        *reinterpret_cast<uint2 *>(to) = make_uint2(values[0] | values[1] << 16, values[2] | values[3] << 16);
        return;
      }
#pragma unroll
      for (int q = 0; q < 4; ++q)
        if (v + q < places) to[q] = uint16_t(values[q]);
    };
    uint32_t eight[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) eight[q] = sums[0][0][q] + sums[0][1][q] + sums[1][0][q] + sums[1][1][q];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) put(fours + (size_t(2 * b + i) * 2 * columns + 2 * c + half) * all + place, sums[i][half]);
    put(eights + (size_t(b) * columns + c) * all + place, eight);
  }
}

PEER(differences) {
  const int rows = dims[0], columns = dims[1], places = dims[2];
  const int side = kPart + places - 1, pitch = (side + 3) / 4 + 1;
  differences<<<dim3(columns, rows), kThreads, (kPart * 2 + side * pitch + 1) * 4>>>(array<const uint8_t>(params, 0), array<const uint8_t>(params, 1),
                                                                                     array<uint16_t>(params, 2), array<uint16_t>(params, 3), columns, places);
}
