/* Functions that take turns, each on a stack of its own: work-items of OpenCL, threads of CUDA.

   swapcontext asks the kernel for the mask of signals twice each time, which takes longer than most
   of what runs between two barriers.  On x86-64 nothing is kept but what a call has to keep. */
#include <stddef.h>
#if defined(__x86_64__) && !defined(WITH_UCONTEXT)
typedef struct { void *top; } Stack;
#ifdef __cplusplus
extern "C"
#endif
void rheostat_change_stacks(void **left, void *to);
__asm__(
    ".text\n"
    ".type rheostat_change_stacks,@function\n"
    "rheostat_change_stacks:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  mov %rsp, (%rdi)\n"
    "  mov %rsi, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
    "  ret\n"
    ".size rheostat_change_stacks, . - rheostat_change_stacks\n");
static inline void change_stacks(Stack *left, const Stack *to) { rheostat_change_stacks(&left->top, to->top); }
/* As one that `begin` will be called on when it is changed to; that never comes back. */
static inline void begin_stack(Stack *one, char *low, size_t bytes, void (*begin)(void)) {
  void **top = (void **)(((size_t)low + bytes) & ~(size_t)15);
  *--top = 0; /* where it would come back to */
  *--top = (void *)begin;
  for (int i = 0; i < 6; i++) *--top = 0;
  one->top = top;
}
#else
#include <ucontext.h>
typedef struct { ucontext_t at; } Stack;
static inline void change_stacks(Stack *left, const Stack *to) { swapcontext(&left->at, &to->at); }
static inline void begin_stack(Stack *one, char *low, size_t bytes, void (*begin)(void)) {
  getcontext(&one->at);
  one->at.uc_stack.ss_sp = low;
  one->at.uc_stack.ss_size = bytes;
  one->at.uc_link = 0;
  makecontext(&one->at, begin, 0);
}
#endif
