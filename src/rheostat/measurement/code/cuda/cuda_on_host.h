/* CUDA on a CPU, for finding mistakes: the runtime, and blocks whose threads are fibres.

   Launches and copies wait until the program waits for them, as they may on a GPU.
   Blocks run one after the other; a thread runs until it meets a barrier or a warp function.  The
   environment's CUDA_ORDER says in which order: 0 forward, 1 backward, above that shuffled by this
   seed, so that a missing barrier shows in the output.  Under ThreadSanitizer each thread is a fibre
   of its own, and barriers, atomics and launches alone order them: races are named by their lines.
   Device memory cannot be touched by the host, nor may a launch be given the host's pointers. */
#pragma once
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <math.h>  /* as NVIDIA's compiler does: isnan and abs without std:: */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUDA_TSAN 1
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreWritesBegin(const char *file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif
#if __has_feature(address_sanitizer)
#define CUDA_ASAN 1
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifdef CUDA_TSAN
#define CUDA_UNSEEN __attribute__((disable_sanitizer_instrumentation, noinline))
#else
#define CUDA_UNSEEN
#endif

#define __global__
#define __device__
#define __host__
#define __managed__
#define __constant__
#define __shared__ static
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __CUDACC__ 1
#define CUDART_VERSION 13000

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
#define CUDA_VECTORS(T, N)                                                     \
  struct N##1 { T x; };                                                        \
  struct alignas(2 * sizeof(T)) N##2 { T x, y; };                              \
  struct N##3 { T x, y, z; };                                                  \
  struct alignas(sizeof(T) < 8 ? 4 * sizeof(T) : 16) N##4 { T x, y, z, w; };   \
  inline N##1 make_##N##1(T x) { return {x}; }                                 \
  inline N##2 make_##N##2(T x, T y) { return {x, y}; }                         \
  inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                 \
  inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CUDA_VECTORS(float, float)
CUDA_VECTORS(double, double)
CUDA_VECTORS(int, int)
CUDA_VECTORS(signed char, char)
CUDA_VECTORS(unsigned char, uchar)
CUDA_VECTORS(short, short)
CUDA_VECTORS(unsigned short, ushort)
CUDA_VECTORS(long long, longlong)
struct uint1 { unsigned x; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInvalidDevice = 101,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchFailure = 719,
  cudaErrorUnknown = 999
};
typedef cudaError_t cudaError;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};

extern "C" char **environ;

namespace cuda_on_host {
[[noreturn]] inline void stop(const char *what, const char *name = "", long a = 0, long b = 0) {
  std::fflush(stdout);
  std::fprintf(stderr, "cuda error: ");
  std::fprintf(stderr, what, name, a, b);
  std::fprintf(stderr, "\n");
  _exit(70);
}
/* The host's variable of a device variable's name is another one, which no kernel sees. */
inline void written_by_host(const char *name) {
  stop("%s is the device's: what the host assigns to it no kernel sees (cudaMemcpyToSymbol)", name);
}
inline int read_order() {
  for (char **e = environ; e && *e; e++)
    if (!std::strncmp(*e, "CUDA_ORDER=", 11)) return std::atoi(*e + 11);
  return 0;
}
inline const int ORDER = read_order();
inline const int FILL = ORDER % 2 ? 0x5A : 0xFF;  /* of memory that nobody has set: large, or NaN */

/* ---- device memory: an arena that is closed while the host runs ---- */
constexpr size_t ARENA_B = size_t(768) << 20, GAP_B = 256, PAGE_B = 4096;
inline void seen(char *p, size_t bytes, bool yes) {
#ifdef CUDA_ASAN
  if (yes) __asan_unpoison_memory_region(p, bytes);
  else __asan_poison_memory_region(p, bytes);
#else
  (void)p, (void)bytes, (void)yes;
#endif
}
struct Memory {
  char *start;
  size_t used = 0;
  std::map<const char *, size_t> given, shared_with_host;
  std::multimap<size_t, char *> free;

  Memory() {
    void *p = mmap(nullptr, ARENA_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) stop("no addresses for device memory%s");
    start = static_cast<char *>(p);
  }
  void open(bool yes) {
    size_t pages = (used + PAGE_B - 1) / PAGE_B * PAGE_B;
    if (pages) mprotect(start, pages, yes ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  bool holds(const void *p) const { return p >= start && p < start + ARENA_B; }
  static bool within(const std::map<const char *, size_t> &blocks, const void *p, size_t bytes) {
    auto block = blocks.upper_bound(static_cast<const char *>(p));
    if (block == blocks.begin()) return false;
    --block;
    return static_cast<const char *>(p) + bytes <= block->first + block->second;
  }
  static size_t room(size_t bytes) { return (bytes + 2 * GAP_B - 1) / GAP_B * GAP_B; }
  char *take(size_t bytes) {
    char *p = nullptr;
    auto again = free.find(room(bytes));
    if (again != free.end()) {
      p = again->second;
      free.erase(again);
    } else if (used + room(bytes) <= ARENA_B) {
      p = start + used;
      used += room(bytes);
    } else {
      return nullptr;
    }
    open(true);
    seen(p, room(bytes), true);
    std::memset(p, FILL, room(bytes));
    seen(p, room(bytes), false);
    seen(p, bytes, true);
    open(false);
    given[p] = bytes;
    return p;
  }
  bool give_back(char *p) {
    auto block = given.find(p);
    if (block == given.end()) return false;
    seen(p, room(block->second), false);
    free.emplace(room(block->second), p);
    given.erase(block);
    return true;
  }
};
inline Memory &memory() { static Memory one; return one; }

/* ---- a block: its threads are fibres; plain arrays, as ThreadSanitizer watches the library's ---- */
enum State { READY, AT_BARRIER, AT_WARP, DONE };
constexpr size_t STACK_B = 256 << 10;
constexpr int MOST_THREADS = 1024, WARP = 32, SITES = 64, NAMES = 183;
constexpr size_t SHARED_B = 227 << 10, TOKENS_B = 1024;
struct Fibre {
  ucontext_t context;
  Fibre *next;
  int name;
};
struct Thread {
  uint3 index;
  State state;
  Fibre *fibre;
  bool fenced;
  int line;
  unsigned mask, barriers, warp_barriers;
  unsigned long long value;  /* shown to the others of the warp or block */
};
struct Site { const void *key; char *p; };
struct Device {
  Thread threads[MOST_THREADS];
  int order[MOST_THREADS];
  Fibre *idle[NAMES] = {};
  int count = 0, alive = 0, current = 0, position = 0;
  long blocks_run = 0;
  Site sites[SITES];
  int sites_used = 0;
  size_t shared_used = 0;
  dim3 grid, block;
  uint3 block_index;
  size_t dynamic_b = 0;
  unsigned long long random = 88172645463325252ULL + ORDER;
  ucontext_t scheduler;
  void *host = nullptr, *names[NAMES] = {};  /* of ThreadSanitizer */
  char *tokens = nullptr, started, ended;
  bool in_parts[MOST_THREADS / WARP];  /* warps of which some threads waited without the others */
  const std::function<void()> *body = nullptr;
  const char *kernel = "";
};
inline Device the_device;

#ifdef CUDA_TSAN
#define CUDA_RELEASE(p) __tsan_release(p)
#define CUDA_ACQUIRE(p) __tsan_acquire(p)
#else
#define CUDA_RELEASE(p) (void)(p)
#define CUDA_ACQUIRE(p) (void)(p)
#endif

CUDA_UNSEEN inline Thread &self() { return the_device.threads[the_device.current]; }
CUDA_UNSEEN inline uint3 thread_index() { return self().index; }
CUDA_UNSEEN inline uint3 block_index() { return the_device.block_index; }
CUDA_UNSEEN inline dim3 block_size() { return the_device.block; }
CUDA_UNSEEN inline dim3 grid_size() { return the_device.grid; }

CUDA_UNSEEN inline void reorder(int *order, int count) {
  auto &x = the_device.random;
  for (int i = 0; i < count; i++) order[i] = ORDER == 1 ? count - 1 - i : i;
  for (int i = count; ORDER > 1 && i > 1; i--) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    int j = int(x % unsigned(i)), kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
  }
}

/* To the race checker each thread is someone else, with a stack of its own.  It knows 255 at a time,
   so that some share a name: never those that are a power of two apart, nor threads of blocks that
   follow each other, as what a block's barriers order would order its neighbour's accesses, too. */
CUDA_UNSEEN inline int name_of(int thread) {
#ifdef CUDA_TSAN
  return NAMES / 3 * int(the_device.blocks_run % 3) + thread % (NAMES / 3);
#else
  return thread & 0;
#endif
}
CUDA_UNSEEN inline void become(int thread) {
#ifdef CUDA_TSAN
  void *name = thread < 0 ? the_device.host : the_device.names[name_of(thread)];
  __tsan_switch_to_fiber(name, __tsan_switch_to_fiber_no_sync);
#else
  (void)thread;
#endif
}

CUDA_UNSEEN inline void to_scheduler(Fibre *fibre) {
  become(-1);
  swapcontext(&fibre->context, &the_device.scheduler);
}

/* The thread that comes next, if it has not started: a fibre that is through takes it over. */
CUDA_UNSEEN inline bool next_thread(Fibre *fibre) {
  Device &d = the_device;
  if (d.position + 1 == d.count) return false;
  Thread &next = d.threads[d.order[d.position + 1]];
  if (next.state != READY || next.fibre) return false;
  if (name_of(d.order[d.position + 1]) != fibre->name) return false;
  d.current = d.order[++d.position];
  next.fibre = fibre;
  return true;
}

CUDA_UNSEEN inline void run_threads() {
  Device &d = the_device;
  for (;;) {
    Fibre *fibre = self().fibre;
    do {
      become(d.current);
      CUDA_ACQUIRE(&d.started);
      (*d.body)();
      CUDA_RELEASE(&d.ended);
      self().state = DONE;
      d.alive--;
    } while (next_thread(fibre));
    fibre->next = d.idle[fibre->name];
    d.idle[fibre->name] = fibre;
    to_scheduler(fibre);
  }
}

CUDA_UNSEEN inline Fibre *new_fibre(int name) {
  Fibre *fibre = static_cast<Fibre *>(std::malloc(sizeof(Fibre)));
  void *stack = mmap(nullptr, STACK_B, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!fibre || stack == MAP_FAILED) stop("no memory for the threads of a block%s");
  fibre->name = name;
  getcontext(&fibre->context);
  fibre->context.uc_stack.ss_sp = stack;
  fibre->context.uc_stack.ss_size = STACK_B;
  fibre->context.uc_link = nullptr;
  makecontext(&fibre->context, run_threads, 0);
  return fibre;
}

CUDA_UNSEEN inline void resume(int thread) {
  Device &d = the_device;
  Thread &t = d.threads[thread];
  d.current = thread;
  if (!t.fibre) {
    int name = name_of(thread);
    t.fibre = d.idle[name] ? d.idle[name] : new_fibre(name);
    if (t.fibre == d.idle[name]) d.idle[name] = t.fibre->next;
  }
  become(thread);
  swapcontext(&d.scheduler, &t.fibre->context);
}

CUDA_UNSEEN inline bool release_warps() {
  Device &d = the_device;
  bool any = false;
  for (int first = 0; first < d.count; first += WARP) {
    int end = first + WARP < d.count ? first + WARP : d.count;
    for (int t = first; t < end; t++) {
      Thread &one = d.threads[t];
      if (one.state != AT_WARP) continue;
      bool all = true;
      for (int k = first; k < end; k++)
        if ((one.mask >> (k - first) & 1) && d.threads[k].state != AT_WARP && d.threads[k].state != DONE)
          all = false;
      for (int k = first; all && k < end; k++)
        if ((one.mask >> (k - first) & 1) && d.threads[k].state == AT_WARP) d.threads[k].state = READY;
      any |= all;
    }
  }
  return any;
}

CUDA_UNSEEN inline void release_barrier() {
  Device &d = the_device;
  int line = -1;
  for (int t = 0; t < d.count; t++) {
    Thread &one = d.threads[t];
    if (one.state == AT_WARP) stop("kernel %s, line %ld: threads of a warp wait for others that never come", d.kernel, one.line);
    if (one.state != AT_BARRIER) continue;
    if (line >= 0 && one.line != line) stop("kernel %s: threads of a block wait at different barriers, lines %ld and %ld", d.kernel, line, one.line);
    line = one.line;
  }
  for (int t = 0; t < d.count; t++)
    if (d.threads[t].state == AT_BARRIER) d.threads[t].state = READY;
}

/* Memory of one block; to the race checker it is new, and set by nobody. */
CUDA_UNSEEN inline char *block_memory(size_t bytes) {
#ifdef CUDA_TSAN
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  char *p = static_cast<char *>(std::malloc(bytes ? bytes : 1));
#ifdef CUDA_TSAN
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
#endif
  if (!p) stop("no shared memory%s");
  return p;
}
CUDA_UNSEEN inline void end_block() {
  Device &d = the_device;
#ifdef CUDA_TSAN
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  while (d.sites_used) std::free(d.sites[--d.sites_used].p);
  std::free(d.tokens);
#ifdef CUDA_TSAN
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
#endif
  d.shared_used = 0;
  d.blocks_run++;
}

CUDA_UNSEEN inline void run_block(unsigned x, unsigned y, unsigned z) {
  Device &d = the_device;
  d.block_index = {x, y, z};
  d.alive = d.count;
  d.tokens = block_memory(TOKENS_B);
  std::memset(d.in_parts, 0, sizeof d.in_parts);
  for (int t = 0; t < d.count; t++) {
    unsigned u = unsigned(t);
    d.threads[t] = Thread{{u % d.block.x, u / d.block.x % d.block.y, u / d.block.x / d.block.y},
                          READY, nullptr, false, 0, 0, 0, 0, 0};
  }
  CUDA_RELEASE(&d.started);
  while (d.alive) {
    reorder(d.order, d.count);
    for (d.position = 0; d.position < d.count; d.position++)
      if (d.threads[d.order[d.position]].state == READY) resume(d.order[d.position]);
    bool ready = false;
    for (int t = 0; t < d.count; t++) ready |= d.threads[t].state == READY;
    if (d.alive && !ready && !release_warps()) release_barrier();
  }
  end_block();
}

CUDA_UNSEEN inline void run_kernel(const std::function<void()> &body) {
  Device &d = the_device;
  d.body = &body;
#ifdef CUDA_TSAN
  d.host = __tsan_get_current_fiber();
  for (int k = 0; k < NAMES; k++)
    if (!d.names[k]) d.names[k] = __tsan_create_fiber(0);
#endif
  d.count = int(d.block.x * d.block.y * d.block.z);
  memory().open(true);
  long blocks = long(d.grid.x) * d.grid.y * d.grid.z;
  long stride = 1, start = 0;  /* in another order: backward, or by steps that meet every block */
  if (ORDER == 1) start = blocks - 1, stride = blocks - 1;
  if (ORDER > 1 && blocks > 2) {
    start = ORDER % blocks;
    stride = blocks / 2 + ORDER % 7;
    for (long a = stride, b = blocks; ; a = ++stride, b = blocks) {
      while (b) { long rest = a % b; a = b; b = rest; }
      if (a == 1) break;
    }
  }
  long at = start;
  for (long b = 0; b < blocks; b++, at = (at + stride) % blocks)
    run_block(unsigned(at % d.grid.x), unsigned(at / d.grid.x % d.grid.y), unsigned(at / d.grid.x / d.grid.y));
  memory().open(false);
  CUDA_ACQUIRE(&d.ended);
}

/* ---- what a kernel's threads say to each other ---- */
CUDA_UNSEEN inline void wait_for(State where, unsigned mask, char *token, int line) {
  Thread &t = self();
  t.state = where, t.mask = mask, t.line = line;
  CUDA_RELEASE(token);
  to_scheduler(t.fibre);
  CUDA_ACQUIRE(token);
}
/* Two tokens in turn: who waits at the next barrier already is not ordered before who leaves this one. */
CUDA_UNSEEN inline void barrier(int line) {
  size_t other = self().barriers++ % 2 ? TOKENS_B / 2 : 0;
  wait_for(AT_BARRIER, 0, the_device.tokens + other, line);
}
/* The same for a warp; where parts of it wait alone, their turns differ, so that both tokens count. */
CUDA_UNSEEN inline void warp_barrier(unsigned mask, int line) {
  Device &d = the_device;
  int warp = d.current / WARP, left = d.count - warp * WARP;
  unsigned lanes = left < WARP ? (1u << left) - 1 : ~0u;
  char *one = d.tokens + 8 * (1 + warp), *other = one + TOKENS_B / 2;
  if (self().warp_barriers++ % 2) std::swap(one, other);
  d.in_parts[warp] |= (mask & lanes) != lanes;
  if (d.in_parts[warp]) CUDA_RELEASE(other);
  wait_for(AT_WARP, mask | 1u << d.current % WARP, one, line);
  if (d.in_parts[warp]) CUDA_ACQUIRE(other);
}
CUDA_UNSEEN inline int counted(int predicate, int line) {
  Device &d = the_device;
  self().value = predicate != 0;
  barrier(line);
  int sum = 0;
  for (int t = 0; t < d.count; t++) sum += d.threads[t].state != DONE && d.threads[t].value;
  barrier(line);
  return sum;
}
CUDA_UNSEEN inline unsigned voted(unsigned mask, int predicate, int line) {
  Device &d = the_device;
  self().value = predicate != 0;
  int first = d.current / WARP * WARP;
  warp_barrier(mask, line);
  unsigned votes = 0;
  for (int k = 0; k < WARP && first + k < d.count; k++)
    if ((mask >> k & 1) && d.threads[first + k].state != DONE && d.threads[first + k].value) votes |= 1u << k;
  warp_barrier(mask, line);
  return votes;
}
CUDA_UNSEEN inline unsigned living_lanes() {
  Device &d = the_device;
  int first = d.current / WARP * WARP;
  unsigned lanes = 0;
  for (int k = 0; k < WARP && first + k < d.count; k++)
    if (d.threads[first + k].state != DONE) lanes |= 1u << k;
  return lanes;
}
CUDA_UNSEEN inline unsigned long long exchanged(unsigned mask, unsigned long long mine, int lane, int line) {
  Device &d = the_device;
  int first = d.current / WARP * WARP;
  self().value = mine;
  warp_barrier(mask, line);
  bool there = first + lane < d.count && d.threads[first + lane].state != DONE;
  unsigned long long theirs = there ? d.threads[first + lane].value : mine;
  warp_barrier(mask, line);
  return theirs;
}
template <class T>
T shuffled(unsigned mask, T value, int lane, int line) {
  static_assert(sizeof(T) <= 8, "a shuffle takes up to 8 bytes");
  unsigned long long bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchanged(mask, bits, lane, line);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
CUDA_UNSEEN inline int lane() { return the_device.current % WARP; }

CUDA_UNSEEN inline void *shared_bytes(const void *key, size_t bytes) {
  Device &d = the_device;
  for (int s = 0; s < d.sites_used; s++)
    if (d.sites[s].key == key) return d.sites[s].p;
  if (d.sites_used == SITES) stop("kernel %s: more than %ld shared variables", d.kernel, SITES);
  d.shared_used += bytes;
  if (d.shared_used > SHARED_B) stop("kernel %s: %ld bytes of shared memory are too many", d.kernel, long(d.shared_used));
  char *p = block_memory(bytes);
  for (size_t i = 0; i < bytes; i++) p[i] = char(FILL);
  d.sites[d.sites_used++] = {key, p};
  return p;
}
template <class T, int site>
T &shared() {
  static const char key = 0;
  return *static_cast<T *>(shared_bytes(&key, sizeof(T)));
}
inline void *dynamic_shared() { return shared_bytes(&the_device.dynamic_b, the_device.dynamic_b); }

/* ---- launches and copies, when the program waits for them ----
   In the order of the calls; where threads run in another order than theirs, streams do, too: of all
   work that nothing orders behind other work the latest is done first. */
struct Work {
  const char *kernel;
  dim3 grid, block;
  size_t dynamic_b;
  std::function<void()> body;
  void *stream = nullptr;
  long waits_for = 0, number = 0;
};
inline std::deque<Work> queue;
inline long works = 0;
inline size_t streams = 0;
inline long put(Work work) {
  work.number = ++works;
  queue.push_back(std::move(work));
  return works;
}
inline void *new_stream(bool waits_for_default) { return (void *)(++streams << 1 | waits_for_default); }
inline bool ordered(const Work &first, const Work &second) {
  auto blocks = [](void *s) { return size_t(s) & 1; };
  return first.stream == second.stream || second.waits_for == first.number ||
         (!first.stream && blocks(second.stream)) || (!second.stream && blocks(first.stream));
}
/* Which of the queue has to be done before some work: what comes before it, and before that. */
inline std::vector<char> needed_by(const Work &work) {
  std::vector<char> needed(queue.size());
  for (size_t i = queue.size(); i--; ) {
    needed[i] = ordered(queue[i], work);
    for (size_t k = i + 1; k < queue.size() && !needed[i]; k++) needed[i] = needed[k] && ordered(queue[i], queue[k]);
  }
  return needed;
}
inline size_t next_work(const std::vector<char> &needed) {
  size_t first = size_t(std::find(needed.begin(), needed.end(), 1) - needed.begin());
  for (size_t i = ORDER ? queue.size() - 1 : first; i > first; i--) {
    bool ready = needed[i];
    for (size_t k = 0; k < i && ready; k++) ready = !ordered(queue[k], queue[i]);
    if (ready) return i;
  }
  return first;
}
inline cudaError_t last_error = cudaSuccess;
inline size_t most_shared_b = 48 << 10;
inline void finish(std::vector<char> needed) {
  for (long left = std::count(needed.begin(), needed.end(), 1); left; left--) {
    size_t at = next_work(needed);
    Work work = std::move(queue[at]);
    queue.erase(queue.begin() + long(at));
    needed.erase(needed.begin() + long(at));
    if (!work.kernel) {
      memory().open(true);
      work.body();
      memory().open(false);
      continue;
    }
    Device &d = the_device;
    d.kernel = work.kernel, d.grid = work.grid, d.block = work.block, d.dynamic_b = work.dynamic_b;
    run_kernel(work.body);
  }
}
inline void finish() { finish(std::vector<char>(queue.size(), 1)); }
/* Who waits for a stream or an event waits for nothing else. */
inline void finish_before(void *stream, long waits_for = 0) {
  Work none{nullptr, {}, {}, 0, {}, stream};
  none.waits_for = waits_for;
  finish(needed_by(none));
}
inline bool is_done(long number) {
  return std::none_of(queue.begin(), queue.end(), [=](const Work &w) { return w.number == number; });
}
inline cudaError_t failed(cudaError_t error) { return error ? last_error = error : error; }

struct Config {
  dim3 grid, block;
  size_t dynamic_b;
  void *stream;
  Config(dim3 grid, dim3 block, size_t dynamic_b = 0, void *stream = nullptr)
      : grid(grid), block(block), dynamic_b(dynamic_b), stream(stream) {}
  bool valid() const {
    unsigned long threads = 1ul * block.x * block.y * block.z;
    return threads && threads <= 1024 && block.z <= 64 && grid.x && grid.y && grid.z &&
           grid.x <= INT_MAX && grid.y < 65536 && grid.z < 65536 && dynamic_b <= most_shared_b;
  }
};
template <class T>
void checked(const char *kernel, int number, const T &value) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
    const void *p = const_cast<const void *>(static_cast<const volatile void *>(value));
    Memory &m = memory();
    if (p && !m.holds(p) && !Memory::within(m.shared_with_host, p, 1))
      stop("kernel %s: argument %ld points at memory of the host", kernel, number);
    if (m.holds(p) && !Memory::within(m.given, p, 0))
      stop("kernel %s: argument %ld points at device memory that was freed", kernel, number);
  }
}
template <class F, class... A>
void launch(Config config, const char *kernel, F body, A... arguments) {
  int number = 0;
  (checked(kernel, ++number, arguments), ...);
  if (!config.valid()) {
    last_error = cudaErrorInvalidConfiguration;
    return;
  }
  static const bool without = std::getenv("RHEOSTAT_WITHOUT_KERNELS") != nullptr;
  if (without) return;
  put({kernel, config.grid, config.block, config.dynamic_b, [=]() { body(arguments...); }, config.stream});
}

inline cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, bool later, void *stream = nullptr) {
  Memory &m = memory();
  if (!bytes) return cudaSuccess;
  bool in = m.holds(to), out = m.holds(from);
  bool expects_in = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool expects_out = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  bool free_to = Memory::within(m.shared_with_host, to, bytes), free_from = Memory::within(m.shared_with_host, from, bytes);
  if (kind != cudaMemcpyDefault && ((in != expects_in && !free_to) || (out != expects_out && !free_from)))
    stop("cudaMemcpy: the direction does not fit the pointers%s");
  if ((in && !Memory::within(m.given, to, bytes)) || (out && !Memory::within(m.given, from, bytes)))
    stop("cudaMemcpy%s: %ld bytes are more than the device memory holds", "", long(bytes));
  if (later && (out || free_from)) {  /* page-locked memory is read when the copy's turn has come */
    put({nullptr, {}, {}, 0, [=]() { std::memcpy(to, from, bytes); }, stream});
    return cudaSuccess;
  }
  finish_before(stream);
  m.open(true);
  std::memmove(to, from, bytes);
  m.open(false);
  return cudaSuccess;
}
}  // namespace cuda_on_host

#define threadIdx (cuda_on_host::thread_index())
#define blockIdx (cuda_on_host::block_index())
#define blockDim (cuda_on_host::block_size())
#define gridDim (cuda_on_host::grid_size())
constexpr int warpSize = 32;

/* ---- functions of kernels ---- */
inline void __syncthreads(int line = __builtin_LINE()) { cuda_on_host::barrier(line); }
inline int __syncthreads_count(int p, int line = __builtin_LINE()) { return cuda_on_host::counted(p, line); }
inline int __syncthreads_or(int p, int line = __builtin_LINE()) { return cuda_on_host::counted(p, line) > 0; }
inline int __syncthreads_and(int p, int line = __builtin_LINE()) { return cuda_on_host::counted(!p, line) == 0; }
inline void __syncwarp(unsigned mask = ~0u, int line = __builtin_LINE()) { cuda_on_host::warp_barrier(mask, line); }
inline unsigned __activemask() { return cuda_on_host::living_lanes(); }
inline unsigned __ballot_sync(unsigned m, int p, int line = __builtin_LINE()) { return cuda_on_host::voted(m, p, line); }
inline int __any_sync(unsigned m, int p, int line = __builtin_LINE()) { return cuda_on_host::voted(m, p, line) != 0; }
inline int __all_sync(unsigned m, int p, int line = __builtin_LINE()) { return cuda_on_host::voted(m, !p, line) == 0; }
template <class T>
T __shfl_sync(unsigned m, T v, int from, int width = 32, int line = __builtin_LINE()) {
  int me = cuda_on_host::lane();
  return cuda_on_host::shuffled(m, v, me / width * width + (from & (width - 1)), line);
}
template <class T>
T __shfl_down_sync(unsigned m, T v, unsigned by, int width = 32, int line = __builtin_LINE()) {
  int me = cuda_on_host::lane(), from = me + int(by);
  return cuda_on_host::shuffled(m, v, from / width == me / width ? from : me, line);
}
template <class T>
T __shfl_up_sync(unsigned m, T v, unsigned by, int width = 32, int line = __builtin_LINE()) {
  int me = cuda_on_host::lane(), from = me - int(by);
  return cuda_on_host::shuffled(m, v, from >= me / width * width ? from : me, line);
}
template <class T>
T __shfl_xor_sync(unsigned m, T v, int bits, int width = 32, int line = __builtin_LINE()) {
  int me = cuda_on_host::lane(), from = me ^ bits;
  return cuda_on_host::shuffled(m, v, from < me / width * width + width ? from : me, line);
}
CUDA_UNSEEN inline void __threadfence() { cuda_on_host::self().fenced = true; }
CUDA_UNSEEN inline void __threadfence_block() { cuda_on_host::self().fenced = true; }
CUDA_UNSEEN inline void __threadfence_system() { cuda_on_host::self().fenced = true; }

namespace cuda_on_host {
CUDA_UNSEEN inline bool fenced() { return self().fenced; }
/* An update orders other accesses only where the thread has fenced them, as CUDA's do. */
template <class T, class F>
T atomically(T *p, F change) {
  T old, next;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  if (fenced()) {
    do next = change(old);
    while (!__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  } else {
    do next = change(old);
    while (!__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }
  return old;
}
}  // namespace cuda_on_host
#define CUDA_ATOMIC(name, expression)                                                       \
  template <class T, class U>                                                               \
  T name(T *p, U given) {                                                                   \
    T v = T(given);                                                                         \
    return cuda_on_host::atomically(p, [v](T old) -> T { return T(expression); });          \
  }                                                                                         \
  template <class T, class U>                                                               \
  T name##_block(T *p, U given) { return name(p, given); }                                  \
  template <class T, class U>                                                               \
  T name##_system(T *p, U given) { return name(p, given); }
CUDA_ATOMIC(atomicAdd, old + v)
CUDA_ATOMIC(atomicSub, old - v)
CUDA_ATOMIC(atomicMax, old < v ? v : old)
CUDA_ATOMIC(atomicMin, v < old ? v : old)
CUDA_ATOMIC(atomicAnd, old & v)
CUDA_ATOMIC(atomicOr, old | v)
CUDA_ATOMIC(atomicXor, old ^ v)
CUDA_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
CUDA_ATOMIC(atomicDec, old == 0 || old > v ? v : old - 1)
template <class T, class U>
T atomicExch(T *p, U given) {  /* locks are taken and left by these two: they always order */
  T v = T(given), old;
  __atomic_exchange(p, &v, &old, __ATOMIC_ACQ_REL);
  return old;
}
template <class T, class U, class V>
T atomicCAS(T *p, U expected, V given) {
  T old = T(expected), v = T(given);
  __atomic_compare_exchange(p, &old, &v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return old;
}

template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcs(const T *p) { return *p; }
template <class T> void __stcs(T *p, T v) { *p = v; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __mul24(int a, int b) { return int(unsigned(int(unsigned(a) << 8) >> 8) * unsigned(int(unsigned(b) << 8) >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; i++) y |= (x >> i & 1u) << (31 - i);
  return y;
}
#define CUDA_CAST(name, to, from) \
  inline to name(from v) { to w; static_assert(sizeof v == sizeof w, ""); std::memcpy(&w, &v, sizeof w); return w; }
CUDA_CAST(__float_as_int, int, float)
CUDA_CAST(__int_as_float, float, int)
CUDA_CAST(__float_as_uint, unsigned, float)
CUDA_CAST(__uint_as_float, float, unsigned)
CUDA_CAST(__double_as_longlong, long long, double)
CUDA_CAST(__longlong_as_double, double, long long)
#define CUDA_LEAST(T, A, B)                               \
  inline T min(A a, B b) { T x = a, y = b; return x < y ? x : y; } \
  inline T max(A a, B b) { T x = a, y = b; return x < y ? y : x; }
CUDA_LEAST(int, int, int)
CUDA_LEAST(unsigned, unsigned, unsigned)
CUDA_LEAST(unsigned, int, unsigned)
CUDA_LEAST(unsigned, unsigned, int)
CUDA_LEAST(long, long, long)
CUDA_LEAST(unsigned long, unsigned long, unsigned long)
CUDA_LEAST(unsigned long, long, unsigned long)
CUDA_LEAST(unsigned long, unsigned long, long)
CUDA_LEAST(long long, long long, long long)
CUDA_LEAST(unsigned long long, unsigned long long, unsigned long long)
CUDA_LEAST(float, float, float)
CUDA_LEAST(double, double, double)
CUDA_LEAST(double, float, double)
CUDA_LEAST(double, double, float)
inline long long clock64() { static long long ticks = 0; return ticks += 100; }

/* ---- the runtime ---- */
typedef struct CUstream_st *cudaStream_t;
struct cuda_event { long recorded; };
typedef cuda_event *cudaEvent_t;
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2;
constexpr unsigned cudaMemAttachGlobal = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2;
constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaDeviceScheduleAuto = 0;
constexpr int cudaCpuDeviceId = -1;
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr { cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrWarpSize = 10,
                      cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxThreadsPerMultiProcessor = 39,
                      cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76 };
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int major, minor, multiProcessorCount, maxThreadsPerMultiProcessor, concurrentKernels, unifiedAddressing, managedMemory;
};
inline const char *cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    default: return "unknown error";
  }
}
inline const char *cudaGetErrorName(cudaError_t e) { return cudaGetErrorString(e); }
inline cudaError_t cudaGetLastError() { return std::exchange(cuda_on_host::last_error, cudaSuccess); }
inline cudaError_t cudaPeekAtLastError() { return cuda_on_host::last_error; }
inline cudaError_t cudaDeviceSynchronize() { cuda_on_host::finish(); return cudaSuccess; }
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t s) { cuda_on_host::finish_before(s); return cudaSuccess; }
inline cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
template <class T>
cudaError_t cudaMalloc(T **p, size_t bytes) {
  *p = reinterpret_cast<T *>(cuda_on_host::memory().take(bytes));
  return *p ? cudaSuccess : cuda_on_host::failed(cudaErrorMemoryAllocation);
}
inline cudaError_t cudaFree(void *p) {
  cuda_on_host::finish();
  if (!p) return cudaSuccess;
  auto &m = cuda_on_host::memory();
  if (m.shared_with_host.erase(static_cast<char *>(p))) return std::free(p), cudaSuccess;
  return m.give_back(static_cast<char *>(p)) ? cudaSuccess : cuda_on_host::failed(cudaErrorInvalidValue);
}
template <class T>
cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned = 1) {
  *p = static_cast<T *>(std::malloc(bytes ? bytes : 1));
  std::memset((void *)*p, cuda_on_host::FILL, bytes);
  cuda_on_host::memory().shared_with_host[reinterpret_cast<const char *>(*p)] = bytes;
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned = 0) { return cudaMallocManaged(p, bytes); }
template <class T>
cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned = 0) { return cudaMallocManaged(p, bytes); }
inline cudaError_t cudaFreeHost(void *p) { return cudaFree(p); }
template <class T>
cudaError_t cudaGetSymbolAddress(void **p, T &symbol) {
  *p = (void *)&symbol;
  cuda_on_host::memory().shared_with_host[reinterpret_cast<const char *>(&symbol)] = sizeof(T);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return cuda_on_host::copy(to, from, bytes, kind, false);
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s = nullptr) {
  return cuda_on_host::copy(to, from, bytes, kind, true, s);
}
inline cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind) {
  for (size_t r = 0; r < rows; r++)
    cuda_on_host::copy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, width, kind, false);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) {
  if (offset + bytes > sizeof(T)) cuda_on_host::stop("cudaMemcpyToSymbol%s: %ld bytes are too many", "", long(bytes));
  cuda_on_host::finish_before(nullptr);
  cuda_on_host::memory().open(true);
  std::memcpy((char *)&symbol + offset, from, bytes);
  cuda_on_host::memory().open(false);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  if (offset + bytes > sizeof(T)) cuda_on_host::stop("cudaMemcpyFromSymbol%s: %ld bytes are too many", "", long(bytes));
  cuda_on_host::finish_before(nullptr);
  cuda_on_host::memory().open(true);
  std::memcpy(to, (const char *)&symbol + offset, bytes);
  cuda_on_host::memory().open(false);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s = nullptr) {
  auto &m = cuda_on_host::memory();
  if (!cuda_on_host::Memory::within(m.given, p, bytes) && !cuda_on_host::Memory::within(m.shared_with_host, p, bytes))
    cuda_on_host::stop("cudaMemset%s: %ld bytes are not in device memory", "", long(bytes));
  cuda_on_host::put({nullptr, {}, {}, 0, [=]() { std::memset(p, value, bytes); }, s});
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void *p, int value, size_t bytes) { return cudaMemsetAsync(p, value, bytes); }
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  *total = cuda_on_host::ARENA_B;
  *free = *total - cuda_on_host::memory().used;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
inline cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
inline cudaError_t cudaSetDevice(int device) { return device ? cuda_on_host::failed(cudaErrorInvalidDevice) : cudaSuccess; }
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
/* With each order the device is another one: what is right on one may hang on what it is. */
namespace cuda_on_host {
inline int multiprocessors() { return ORDER < 1 ? 8 : ORDER == 1 ? 1 : ORDER == 2 ? 132 : 47; }
inline int generation() { return ORDER < 1 ? 8 : ORDER == 1 ? 7 : ORDER == 2 ? 9 : 12; }
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  *p = cudaDeviceProp{"CPU", cuda_on_host::ARENA_B, 48 << 10, 65536, 32, 1024, {1024, 1024, 64},
                      {INT_MAX, 65535, 65535}, cuda_on_host::generation(), 0, cuda_on_host::multiprocessors(),
                      cuda_on_host::ORDER % 2 ? 1536 : 2048, 1, 1, 1};
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(p.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
  }
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
template <class F> cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) { return cudaSuccess; }
template <class F> cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute, int bytes) {
  if (bytes > 227 << 10) return cuda_on_host::failed(cudaErrorInvalidValue);
  cuda_on_host::most_shared_b = std::max(cuda_on_host::most_shared_b, size_t(bytes));
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) {
  *s = cudaStream_t(cuda_on_host::new_stream(flags != cudaStreamNonBlocking));
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithFlags(s, cudaStreamDefault); }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }  /* its work goes on */
inline cudaError_t cudaStreamQuery(cudaStream_t s) {
  auto needed = cuda_on_host::needed_by({nullptr, {}, {}, 0, {}, s});
  bool ready = std::find(needed.begin(), needed.end(), 1) == needed.end();
  cuda_on_host::finish(needed);
  return ready ? cudaSuccess : cudaErrorNotReady;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned = 0) {
  cuda_on_host::put({nullptr, {}, {}, 0, []() {}, s, e->recorded});
  return cudaSuccess;
}
namespace cuda_on_host {
inline double &event_s(long number) { static std::map<long, double> one; return one[number]; }
}
inline cudaError_t cudaEventCreate(cudaEvent_t *e) { *e = new cuda_event{0}; return cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { return cudaEventCreate(e); }
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = nullptr) {
  long number = cuda_on_host::works + 1;
  e->recorded = cuda_on_host::put({nullptr, {}, {}, 0, [number]() {
    cuda_on_host::event_s(number) = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }, s});
  return cudaSuccess;
}
namespace cuda_on_host {
inline void *const no_stream = (void *)(~size_t(0) << 1);  /* waits for its event alone */
inline void finish_event(cudaEvent_t e) { finish_before(no_stream, e->recorded); }
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t e) { cuda_on_host::finish_event(e); return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t e) {
  bool ready = cuda_on_host::is_done(e->recorded);
  cuda_on_host::finish_event(e);
  return ready ? cudaSuccess : cudaErrorNotReady;
}
inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  cuda_on_host::finish_event(from), cuda_on_host::finish_event(to);
  *ms = float(1e3 * (cuda_on_host::event_s(to->recorded) - cuda_on_host::event_s(from->recorded)));
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t e) { delete e; return cudaSuccess; }
