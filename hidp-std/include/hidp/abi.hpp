// Symbols, namespaces and attributes of generated code and of everything it includes.
//
// One program holds the same code several times, once for each instruction set. So everything here has internal linkage, in a
// namespace named after HIDP_ISA: a weak symbol that the linker shares between them would bring AVX-512 to a machine
// that has none. For the same reason only templates of the run time are used, never those of the standard library.
#pragma once

#include <hidp_abi.h>

#ifndef HIDP_ISA
#define HIDP_ISA base
#endif

#define HIDP_NAMESPACE_BEGIN \
  namespace hidp {           \
  inline namespace HIDP_ISA { \
  namespace {
#define HIDP_NAMESPACE_END \
  }                        \
  }                        \
  }

// `hidp2_<entry>_<plan>` with the instruction set at its end.
#define HIDP_SYMBOL(name) HIDP_CONCAT(HIDP_CONCAT(name, _), HIDP_ISA)
#define HIDP_ENTRY extern "C" __attribute__((visibility("default"), used)) int32_t

#define HIDP_KERNEL __attribute__((noinline, unused))
// Device code is compiled by nvcc, or by any compiler for the executor that runs it on the host.
#if defined(__CUDACC__)
#define HIDP_COLD __host__ __device__ __noinline__
#define HIDP_INLINE __host__ __device__ __forceinline__
#else
#define HIDP_COLD __attribute__((noinline, cold))
#define HIDP_INLINE inline __attribute__((always_inline))
// The same for a lambda, after its parameters.
#define HIDP_INLINED __attribute__((always_inline))
#endif
#if defined(__CUDACC__) || defined(HIDP_SIMT)
#define HIDP_FOR_DEVICE 1
#endif
#define HIDP_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

// The programs' own comparisons may be trivial, and loops may be built without OpenMP. Statements have the lines of the source.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Woverflow"
#pragma GCC diagnostic ignored "-Wmisleading-indentation"
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
// What bounds a loop may be tested outside of the function that has it.
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#endif
#endif
