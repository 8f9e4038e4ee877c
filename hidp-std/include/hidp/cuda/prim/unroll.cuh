// HIDP_UNROLL_ALL, before a loop over what is to stay in registers.
#pragma once

#if defined(__CUDACC__)
#define HIDP_UNROLL_ALL _Pragma("unroll")
#else
#define HIDP_UNROLL_ALL
#endif
