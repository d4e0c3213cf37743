// Threads of a block as fibres: stacks that alternate on one host thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>

#if !defined(__x86_64__) || defined(STEPWELL_UCONTEXT)
#define STEPWELL_UCONTEXT 1
#include <ucontext.h>
#endif

namespace stepwell {

constexpr size_t kStackSize = 256 * 1024;
constexpr size_t kGuardSize = 64 * 1024;  // below each stack, so that an overflow faults
// Stacks end at different offsets of pages: at equal ones, they would share a few sets of the caches.
constexpr size_t kLine = 64, kOffsets = 512;

#ifdef STEPWELL_UCONTEXT

struct Context {
  ucontext_t state;
};

inline void switch_context(Context& from, Context& to) { swapcontext(&from.state, &to.state); }

inline void begin_context(Context& context, char* stack, void (*entry)()) {
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack;
  context.state.uc_stack.ss_size = kStackSize;
  context.state.uc_link = nullptr;
  makecontext(&context.state, entry, 0);
}

#else

// swapcontext makes a system call for the signal mask, which costs ten times as much as the switch itself.
struct Context {
  void* stack_pointer;
};

extern "C" void stepwell_switch(void** from, void* to);
asm(R"(
.text
.type stepwell_switch, @function
stepwell_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size stepwell_switch, .-stepwell_switch
)");

inline void switch_context(Context& from, Context& to) { stepwell_switch(&from.stack_pointer, to.stack_pointer); }

inline void begin_context(Context& context, char* stack, void (*entry)()) {
  // Six registers, the return address, and 8 bytes that align the stack like a call.
  auto top = reinterpret_cast<void**>(stack + kStackSize) - 8;
  for (int i = 0; i < 6; ++i) top[i] = nullptr;
  top[6] = reinterpret_cast<void*>(entry);
  context.stack_pointer = top;
}

#endif

// A fibre runs threads in sequence: `entry` is a loop that switches to the scheduler after each thread.
struct Fibre {
  Context context;
  char* stack = nullptr;

  // Returns false if no memory is left.
  bool begin(void (*entry)()) {
    if (stack == nullptr) {
      void* memory = mmap(nullptr, kGuardSize + kStackSize + kLine * kOffsets, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) return false;
      mprotect(memory, kGuardSize, PROT_NONE);
      static size_t count = 0;
      stack = static_cast<char*>(memory) + kGuardSize + kLine * (count++ * 37 % kOffsets);
    }
    begin_context(context, stack, entry);
    return true;
  }
};

}  // namespace stepwell
