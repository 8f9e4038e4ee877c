// HIDP_UNROLL, before a loop over what is to stay in registers.
#pragma once

#if defined(__CUDACC__)
#define HIDP_UNROLL _Pragma("unroll")
#else
#define HIDP_UNROLL
#endif
