/* What a header of native functions includes: HIDP_FUNCTION before a function makes it one for the CPU and for GPUs.
 *
 *   #include <hidp/function.h>
 *   HIDP_FUNCTION inline float twist(float x) { return x + 0.5f; }
 *
 * Each file that includes it has the function for itself, so that code for one instruction set is not used by another. */
#ifndef HIDP_FUNCTION_H
#define HIDP_FUNCTION_H

#if defined(__CUDACC__)
#define HIDP_FUNCTION static __host__ __device__ __attribute__((unused))
#else
#define HIDP_FUNCTION static __attribute__((unused))
#endif

#endif
