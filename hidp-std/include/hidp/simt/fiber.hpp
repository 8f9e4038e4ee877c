// Functions that give way to one another on one thread of the host: each has a stack of its own.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <new>
#include <vector>

#include <hidp/abi.hpp>

#if !defined(__x86_64__) || defined(HIDP_SIMT_UCONTEXT)
#define HIDP_SIMT_ANY_MACHINE
#include <ucontext.h>
#endif

// What a thread of the host keeps, the same for all files of a program.
extern "C" __attribute__((weak, visibility("default"))) void **hidp_simt_stacks() {
  static thread_local void *stacks = nullptr;
  return &stacks;
}

HIDP_NAMESPACE_BEGIN
namespace machine {

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

class Context {
 public:
  void start(void *stack, FiberMain main) {
    // As a call leaves it: the return address, which is null, 8 bytes above a multiple of 16.
    void **top = reinterpret_cast<void **>(static_cast<char *>(stack) + Stacks::kBytes) - 3;
    *top = nullptr;
    stack_ = top;
    frame_ = nullptr;
    next_ = reinterpret_cast<void *>(main);
  }

  // Saves by hand what cannot be named as changed; the compiler saves whatever else it needs.
  __attribute__((noinline)) static void change(Context &from, Context &to) {
    Context *source = &from;
    Context *target = &to;
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
  }

 private:
  void *stack_;
  void *frame_;
  void *next_;
};

#endif

}  // namespace machine
HIDP_NAMESPACE_END
