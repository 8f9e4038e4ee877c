// Where the executor's functions are: in every file that includes it, or in a library that many files share.
//
// HIDP_SIMT_LIBRARY is not defined: here, with internal linkage, as everything of the run time.
// HIDP_SIMT_LIBRARY=1: in a library, which a program loads before whatever was compiled so.
// HIDP_SIMT_LIBRARY=2: this is the library, a file that includes <hidp/simt/device.hpp> and nothing else.
#pragma once

#include <hidp/abi.hpp>

#if defined(HIDP_SIMT_LIBRARY)
#define HIDP_EXECUTOR_BEGIN   \
  namespace hidp {            \
  inline namespace HIDP_ISA { \
  namespace executor __attribute__((visibility("default"))) {
#define HIDP_EXECUTOR_END \
  }                       \
  }                       \
  }
#else
#define HIDP_EXECUTOR_BEGIN HIDP_NAMESPACE_BEGIN namespace executor {
#define HIDP_EXECUTOR_END \
  }                       \
  HIDP_NAMESPACE_END
#endif

#if !defined(HIDP_SIMT_LIBRARY)
#define HIDP_EXECUTOR_IS_HERE 1
#define HIDP_EXECUTOR_FUNCTION inline
#define HIDP_SIMT_EXPORT extern "C" __attribute__((weak, visibility("default")))
#elif HIDP_SIMT_LIBRARY == 2
#define HIDP_EXECUTOR_IS_HERE 1
#define HIDP_EXECUTOR_FUNCTION
#define HIDP_SIMT_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define HIDP_EXECUTOR_IS_HERE 0
#endif
