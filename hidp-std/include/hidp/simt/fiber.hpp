// Functions that give way to one another on one thread of the host: each has a stack of its own.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <new>
#include <vector>

#include <hidp/simt/linkage.hpp>

#if !(defined(__x86_64__) || (defined(__aarch64__) && defined(__linux__))) || defined(HIDP_SIMT_UCONTEXT)
#define HIDP_SIMT_ANY_MACHINE
#include <ucontext.h>
#endif

// What a thread of the host keeps, the same for all files of a program.
#if HIDP_EXECUTOR_IS_HERE
HIDP_SIMT_EXPORT void **hidp_simt_stacks() {
  static thread_local void *stacks = nullptr;
  return &stacks;
}
#else
extern "C" void **hidp_simt_stacks();
#endif

HIDP_EXECUTOR_BEGIN

// Stacks of one size, each above a page that nothing may touch. Kept for the next fiber, to the end of the process.
class Stacks {
 public:
  static constexpr size_t kBytes = size_t{128} << 10;

  static Stacks &of_thread() {
    void *&kept = *hidp_simt_stacks();
    if (kept == nullptr) kept = new Stacks;
    return *static_cast<Stacks *>(kept);
  }

  void *take() {
    if (free_.empty()) add();
    void *stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void give(void *stack) { free_.push_back(stack); }

 private:
  static constexpr size_t kGuard = size_t{4} << 10;
  // Tops are this far from one another modulo the most, or they would all compete for the same lines of the caches.
  static constexpr size_t kStagger = 320, kMostStagger = size_t{64} << 10;

  void add() {
    const size_t room = kGuard + kBytes + kMostStagger;
    void *stack = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) throw std::bad_alloc();
    mprotect(stack, kGuard, PROT_NONE);
    free_.push_back(static_cast<char *>(stack) + kGuard + made_++ * kStagger % kMostStagger);
  }

  std::vector<void *> free_;
  size_t made_ = 0;
};

// What `start` runs never returns.
using FiberMain = void (*)();

#if defined(HIDP_SIMT_ANY_MACHINE)

class Context {
 public:
  void start(void *stack, FiberMain main) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = Stacks::kBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, main, 0);
  }
  static void change(Context &from, Context &to) { swapcontext(&from.context_, &to.context_); }

 private:
  ucontext_t context_;
};

#else

// Saves by hand what cannot be named as changed; the compiler saves whatever else it needs.
class Context {
 public:
  void start(void *stack, FiberMain main) {
    char *const top = static_cast<char *>(stack) + Stacks::kBytes;
#if defined(__x86_64__)
    // As a call leaves it: the return address, which is null, 8 bytes above a multiple of 16.
    stack_ = top - 24;
    *static_cast<void **>(stack_) = nullptr;
#else
    stack_ = top;
#endif
    frame_ = nullptr;
    next_ = reinterpret_cast<void *>(main);
  }

  __attribute__((noinline)) static void change(Context &from, Context &to) {
    Context *source = &from;
    Context *target = &to;
#if defined(__x86_64__)
    __asm__ volatile(
        "leaq 1f(%%rip), %%rax\n\t"
        "movq %%rsp, (%[source])\n\t"
        "movq %%rbp, 8(%[source])\n\t"
        "movq %%rax, 16(%[source])\n\t"
        "movq (%[target]), %%rsp\n\t"
        "movq 8(%[target]), %%rbp\n\t"
        "jmpq *16(%[target])\n\t"
        "1:\n\t"
#if defined(__CET__)
        "endbr64\n\t"
#endif
        : [source] "+S"(source), [target] "+D"(target)
        :
        : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
          "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
          "cc", "memory");
#else
    register Context *first __asm__("x0") = source;
    register Context *second __asm__("x1") = target;
    __asm__ volatile(
        "adr x9, 1f\n\t"
        "mov x10, sp\n\t"
        "stp x10, x29, [x0]\n\t"
        "str x9, [x0, #16]\n\t"
        "ldp x10, x29, [x1]\n\t"
        "ldr x9, [x1, #16]\n\t"
        "mov sp, x10\n\t"
        "br x9\n"
        "1:\n\t"
        // A place that may be jumped to, where that has to be said.
        "hint #36\n\t"
        : "+r"(first), "+r"(second)
        :
        : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19",
          "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
          "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
          "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
#endif
  }

 private:
  void *stack_;
  void *frame_;
  void *next_;
};

#endif

HIDP_EXECUTOR_END
