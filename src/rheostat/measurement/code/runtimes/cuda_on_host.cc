/* What of ``cuda_on_host.h`` every program has alike: compiled once, and linked to each build.

   It is not instrumented; which checker watches the program is asked when it runs. */
#include "cuda_on_host.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "stacks.h"

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

extern "C" {
extern char **environ;
#define IF_THERE __attribute__((weak))
IF_THERE void *__tsan_get_current_fiber(void);
IF_THERE void *__tsan_create_fiber(unsigned flags);
IF_THERE void __tsan_switch_to_fiber(void *fiber, unsigned flags);
IF_THERE void __tsan_release(void *address);
IF_THERE void __tsan_acquire(void *address);
IF_THERE void AnnotateIgnoreWritesBegin(const char *file, int line);
IF_THERE void AnnotateIgnoreWritesEnd(const char *file, int line);
IF_THERE void __asan_poison_memory_region(const volatile void *p, size_t bytes);
IF_THERE void __asan_unpoison_memory_region(const volatile void *p, size_t bytes);
}

namespace cuda_on_host {
[[noreturn]] void stop(const char *what, const char *name, long a, long b) {
  std::fflush(stdout);
  std::fprintf(stderr, "cuda error: ");
  std::fprintf(stderr, what, name, a, b);
  std::fprintf(stderr, "\n");
  _exit(70);
}
/* The host's variable of a device variable's name is another one, which no kernel sees. */
void written_by_host(const char *name) {
  stop("%s is the device's: what the host assigns to it no kernel sees (cudaMemcpyToSymbol)", name);
}
int read_order() {
  for (char **e = environ; e && *e; e++)
    if (!std::strncmp(*e, "CUDA_ORDER=", 11)) return std::atoi(*e + 11);
  return 0;
}
/* Also for what a program does before main. */
int given_order() { static const int one = read_order(); return one; }
int order() { return given_order() < 0 ? -given_order() % 3 : given_order(); }
int device_number() { return given_order() < 0 ? 0 : given_order(); }
#define ORDER order()
#define DEVICE device_number()
#define FILL fill()
int fill() { return given_order() % 2 == 1 || given_order() == -3 ? 0x5A : 0xFF; }  /* of unset memory: large, or NaN */
}  // namespace cuda_on_host

#include "cuda_on_host/device_memory.h"
#include "cuda_on_host/blocks.h"
#include "cuda_on_host/between_threads.h"
#include "cuda_on_host/works.h"
#include "cuda_on_host/answers.h"
#include "cuda_on_host/registered.h"
