// Vectors that hand-written peers have in common, as wide as the instruction set's registers.
#pragma once

#include <stdint.h>
#include <string.h>

#include <math.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int W = 16;
#elif defined(__AVX2__)
constexpr int W = 8;
#else
constexpr int W = 4;
#endif
typedef float Floats __attribute__((vector_size(W * 4)));
typedef int32_t Ints __attribute__((vector_size(W * 4)));

Floats splat(float x) { return x - Floats{}; }

// In one rounding where the machine can.
#if defined(__AVX512F__)
Floats fused(Floats a, Floats b, Floats c) { return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
#elif defined(__AVX2__) && defined(__FMA__)
Floats fused(Floats a, Floats b, Floats c) { return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
#else
Floats fused(Floats a, Floats b, Floats c) { return a * b + c; }
#endif
#if defined(__FMA__)
float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
float fused(float a, float b, float c) { return a * b + c; }
#endif

} // namespace
