// What programs need of CUDA's run time, where kernels are run by hidp-ptx: device memory is the host's, copies are done at once, launches go to whoever set `hooks`.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include <cuda_runtime.h>

struct Hooks {
  void *state;
  // Whether the kernel ran.
  bool (*launch)(void *state, const char *kernel, const unsigned *blocks, const unsigned *threads, size_t shared, void **args, bool together);
  void *(*take)(void *state, size_t bytes);
  void (*give)(void *state, void *block);
  void *(*variable)(void *state, const char *name);
};

static Hooks hooks;
// By the host's functions and variables that stand for them.
static std::map<const void *, std::string> kernels, variables;
struct Configuration {
  dim3 blocks, threads;
  size_t shared;
};
static Configuration configured;

extern "C" {

void hidp_ptx_hooks(const Hooks *own) { hooks = *own; }

void **__cudaRegisterFatBinary(void *) {
  static void *module;
  return &module;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
char __cudaInitModule(void **) { return 1; }
void __cudaRegisterFunction(void **, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
  kernels[host] = name;
}
void __cudaRegisterVar(void **, char *host, char *, const char *name, int, size_t, int, int) { variables[host] = name; }
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int) {}

unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, size_t shared, cudaStream_t) {
  configured = {blocks, threads, shared};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *blocks, dim3 *threads, size_t *shared, void *stream) {
  *blocks = configured.blocks;
  *threads = configured.threads;
  *shared = configured.shared;
  *static_cast<cudaStream_t *>(stream) = nullptr;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void *>(host));
  return cudaSuccess;
}
static cudaError_t launched(const void *host, dim3 blocks, dim3 threads, void **args, size_t shared, bool together) {
  const unsigned grid[] = {blocks.x, blocks.y, blocks.z}, block[] = {threads.x, threads.y, threads.z};
  const auto kernel = kernels.find(host);
  if (kernel == kernels.end()) return cudaErrorInvalidDeviceFunction;
  return hooks.launch(hooks.state, kernel->second.c_str(), grid, block, shared, args, together) ? cudaSuccess : cudaErrorLaunchFailure;
}
cudaError_t cudaLaunchKernel(const void *host, dim3 blocks, dim3 threads, void **args, size_t shared, cudaStream_t) {
  return launched(host, blocks, threads, args, shared, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void *host, dim3 blocks, dim3 threads, void **args, size_t shared, cudaStream_t) {
  return launched(host, blocks, threads, args, shared, true);
}
cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
// All that is asked for is there.
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
  *value = 1;
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void **args, size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, blocks, threads, args, shared, stream);
}

cudaError_t cudaMalloc(void **block, size_t bytes) {
  *block = hooks.take(hooks.state, bytes);
  return *block == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void *block) {
  if (block != nullptr) hooks.give(hooks.state, block);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
  std::memmove(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind) {
  const auto name = variables.find(symbol);
  void *const to = name == variables.end() ? nullptr : hooks.variable(hooks.state, name->second.c_str());
  if (to == nullptr) return cudaErrorInvalidSymbol;
  std::memcpy(static_cast<char *>(to) + offset, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t) { return cudaMemset(to, value, bytes); }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int threads, size_t) {
  *blocks = 2048 / threads;
  return cudaSuccess;
}

void hidp2_device_code_add(void *) {}
}
