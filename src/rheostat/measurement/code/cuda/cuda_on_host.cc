/* What of ``cuda_on_host.h`` every program has alike: compiled once, and linked to each build.

   It is not instrumented; which checker watches the program is asked when it runs. */
#include "cuda_on_host.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

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
int order() { static const int one = read_order(); return one; }
#define ORDER order()
#define FILL fill()
int fill() { return ORDER % 2 ? 0x5A : 0xFF; }  /* of memory that nobody has set: large, or NaN */

/* ---- device memory: an arena that is closed while the host runs ---- */
constexpr size_t GAP_B = 256, PAGE_B = 4096;
void seen(char *p, size_t bytes, bool yes) {
  auto *change = yes ? __asan_unpoison_memory_region : __asan_poison_memory_region;
  if (change) change(p, bytes);
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
Memory &memory() { static Memory one; return one; }

/* ---- a block: its threads are fibres; plain arrays, as ThreadSanitizer watches the library's ---- */
Device the_device;
#define CUDA_TSAN (__tsan_switch_to_fiber != nullptr)
#define CUDA_RELEASE(p) (CUDA_TSAN ? __tsan_release(p) : void())
#define CUDA_ACQUIRE(p) (CUDA_TSAN ? __tsan_acquire(p) : void())

void reorder(int *places, int count) {
  auto &x = the_device.random;
  if (!x) x = 88172645463325252ULL + ORDER;
  for (int i = 0; i < count; i++) places[i] = ORDER == 1 ? count - 1 - i : i;
  for (int i = count; ORDER > 1 && i > 1; i--) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    int j = int(x % unsigned(i)), kept = places[i - 1];
    places[i - 1] = places[j];
    places[j] = kept;
  }
}

/* To the race checker each thread is someone else, with a stack of its own.  It knows 255 at a time,
   so that some share a name: never those that are a power of two apart, nor threads of blocks that
   follow each other, as what a block's barriers order would order its neighbour's accesses, too. */
int name_of(int thread) {
  return CUDA_TSAN ? NAMES / 3 * int(the_device.blocks_run % 3) + thread % (NAMES / 3) : 0;
}
void become(int thread) {
  if (!CUDA_TSAN) return;
  void *name = thread < 0 ? the_device.host : the_device.names[name_of(thread)];
  __tsan_switch_to_fiber(name, 1u << 0);  /* orders nothing */
}

void to_scheduler(Fibre *fibre) {
  become(-1);
  swapcontext(&fibre->context, &the_device.scheduler);
}

/* The thread that comes next, if it has not started: a fibre that is through takes it over. */
bool next_thread(Fibre *fibre) {
  Device &d = the_device;
  if (d.position + 1 == d.count) return false;
  Thread &next = d.threads[d.order[d.position + 1]];
  if (next.state != READY || next.fibre) return false;
  if (name_of(d.order[d.position + 1]) != fibre->name) return false;
  d.current = d.order[++d.position];
  next.fibre = fibre;
  return true;
}

void run_threads() {
  Device &d = the_device;
  for (;;) {
    Fibre *fibre = self().fibre;
    do {
      become(d.current);
      CUDA_ACQUIRE(&d.started);
      d.body->call(d.body->with);
      CUDA_RELEASE(&d.ended);
      self().state = DONE;
      d.alive--;
    } while (next_thread(fibre));
    fibre->next = d.idle[fibre->name];
    d.idle[fibre->name] = fibre;
    to_scheduler(fibre);
  }
}

Fibre *new_fibre(int name) {
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

void resume(int thread) {
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

bool release_warps() {
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

void release_barrier() {
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
char *block_memory(size_t bytes) {
  if (AnnotateIgnoreWritesBegin) AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  char *p = static_cast<char *>(std::malloc(bytes ? bytes : 1));
  if (AnnotateIgnoreWritesEnd) AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  if (!p) stop("no shared memory%s");
  return p;
}
void end_block() {
  Device &d = the_device;
  if (AnnotateIgnoreWritesBegin) AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  while (d.sites_used) std::free(d.sites[--d.sites_used].p);
  std::free(d.tokens);
  if (AnnotateIgnoreWritesEnd) AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  d.shared_used = 0;
  d.blocks_run++;
}

void run_block(unsigned x, unsigned y, unsigned z) {
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

void run_kernel(const Body &body) {
  Device &d = the_device;
  d.body = &body;
  if (CUDA_TSAN) {
    d.host = __tsan_get_current_fiber();
    for (int k = 0; k < NAMES; k++)
      if (!d.names[k]) d.names[k] = __tsan_create_fiber(0);
  }
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
void wait_for(State where, unsigned mask, char *token, int line) {
  Thread &t = self();
  t.state = where, t.mask = mask, t.line = line;
  CUDA_RELEASE(token);
  to_scheduler(t.fibre);
  CUDA_ACQUIRE(token);
}
/* Two tokens in turn: who waits at the next barrier already is not ordered before who leaves this one. */
void barrier(int line) {
  size_t other = self().barriers++ % 2 ? TOKENS_B / 2 : 0;
  wait_for(AT_BARRIER, 0, the_device.tokens + other, line);
}
/* The same for a warp; where parts of it wait alone, their turns differ, so that both tokens count. */
void warp_barrier(unsigned mask, int line) {
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
int counted(int predicate, int line) {
  Device &d = the_device;
  self().value = predicate != 0;
  barrier(line);
  int sum = 0;
  for (int t = 0; t < d.count; t++) sum += d.threads[t].state != DONE && d.threads[t].value;
  barrier(line);
  return sum;
}
unsigned voted(unsigned mask, int predicate, int line) {
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
unsigned living_lanes() {
  Device &d = the_device;
  int first = d.current / WARP * WARP;
  unsigned lanes = 0;
  for (int k = 0; k < WARP && first + k < d.count; k++)
    if (d.threads[first + k].state != DONE) lanes |= 1u << k;
  return lanes;
}
unsigned long long exchanged(unsigned mask, unsigned long long mine, int lane, int line) {
  Device &d = the_device;
  int first = d.current / WARP * WARP;
  self().value = mine;
  warp_barrier(mask, line);
  bool there = first + lane < d.count && d.threads[first + lane].state != DONE;
  unsigned long long theirs = there ? d.threads[first + lane].value : mine;
  warp_barrier(mask, line);
  return theirs;
}

void *shared_bytes(const void *key, size_t bytes) {
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
void *dynamic_shared() { return shared_bytes(&the_device.dynamic_b, the_device.dynamic_b); }

/* ---- launches and copies, when the program waits for them ----
   In the order of the calls; where threads run in another order than theirs, streams do, too: of all
   work that nothing orders behind other work the latest is done first. */
struct Work {
  const char *kernel;
  dim3 grid, block;
  size_t dynamic_b;
  Body body;
  void *stream = nullptr;
  long waits_for = 0, number = 0;
};
std::deque<Work> queue;
long works = 0;
size_t streams = 0;
long put(Work work) {
  work.number = ++works;
  queue.push_back(std::move(work));
  return works;
}
void *new_stream(bool waits_for_default) { return (void *)(++streams << 1 | waits_for_default); }
bool ordered(const Work &first, const Work &second) {
  auto blocks = [](void *s) { return size_t(s) & 1; };
  return first.stream == second.stream || second.waits_for == first.number ||
         (!first.stream && blocks(second.stream)) || (!second.stream && blocks(first.stream));
}
/* Which of the queue has to be done before some work: what comes before it, and before that. */
std::vector<char> needed_by(const Work &work) {
  std::vector<char> needed(queue.size());
  for (size_t i = queue.size(); i--; ) {
    needed[i] = ordered(queue[i], work);
    for (size_t k = i + 1; k < queue.size() && !needed[i]; k++) needed[i] = needed[k] && ordered(queue[i], queue[k]);
  }
  return needed;
}
size_t next_work(const std::vector<char> &needed) {
  size_t first = size_t(std::find(needed.begin(), needed.end(), 1) - needed.begin());
  for (size_t i = ORDER ? queue.size() - 1 : first; i > first; i--) {
    bool ready = needed[i];
    for (size_t k = 0; k < i && ready; k++) ready = !ordered(queue[k], queue[i]);
    if (ready) return i;
  }
  return first;
}
cudaError_t last_error = cudaSuccess;
size_t most_shared_b = 48 << 10;
void finish(std::vector<char> needed) {
  for (long left = std::count(needed.begin(), needed.end(), 1); left; left--) {
    size_t at = next_work(needed);
    Work work = std::move(queue[at]);
    queue.erase(queue.begin() + long(at));
    needed.erase(needed.begin() + long(at));
    if (!work.kernel) {
      memory().open(true);
      work.body.call(work.body.with);
      work.body.drop(work.body.with);
      memory().open(false);
      continue;
    }
    Device &d = the_device;
    d.kernel = work.kernel, d.grid = work.grid, d.block = work.block, d.dynamic_b = work.dynamic_b;
    run_kernel(work.body);
    work.body.drop(work.body.with);
  }
}
void finish() { finish(std::vector<char>(queue.size(), 1)); }
/* Who waits for a stream or an event waits for nothing else. */
void finish_before(void *stream, long waits_for = 0) {
  Work none{nullptr, {}, {}, 0, {}, stream};
  none.waits_for = waits_for;
  finish(needed_by(none));
}
bool is_done(long number) {
  return std::none_of(queue.begin(), queue.end(), [=](const Work &w) { return w.number == number; });
}
cudaError_t failed(cudaError_t error) { return error ? last_error = error : error; }

bool Config::valid() const {
  unsigned long threads = 1ul * block.x * block.y * block.z;
  return threads && threads <= 1024 && block.z <= 64 && grid.x && grid.y && grid.z &&
         grid.x <= INT_MAX && grid.y < 65536 && grid.z < 65536 && dynamic_b <= most_shared_b;
}
void check_argument(const char *kernel, int number, const void *p) {
  Memory &m = memory();
  if (p && !m.holds(p) && !Memory::within(m.shared_with_host, p, 1))
    stop("kernel %s: argument %ld points at memory of the host", kernel, number);
  if (m.holds(p) && !Memory::within(m.given, p, 0))
    stop("kernel %s: argument %ld points at device memory that was freed", kernel, number);
}
bool may_launch(const Config &config) {
  static const bool without = std::getenv("RHEOSTAT_WITHOUT_KERNELS") != nullptr;
  if (!config.valid()) last_error = cudaErrorInvalidConfiguration;
  return config.valid() && !without;
}
void launch_later(const Config &config, const char *kernel, Body body) {
  put({kernel, config.grid, config.block, config.dynamic_b, body, config.stream});
}
cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, bool later, void *stream = nullptr) {
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
    put({nullptr, {}, {}, 0, body_of([=]() { std::memcpy(to, from, bytes); }), stream});
    return cudaSuccess;
  }
  finish_before(stream);
  m.open(true);
  std::memmove(to, from, bytes);
  m.open(false);
  return cudaSuccess;
}
void *taken(size_t bytes) { return memory().take(bytes); }
void *taken_of_host(size_t bytes) {
  void *p = std::malloc(bytes ? bytes : 1);
  std::memset(p, FILL, bytes);
  share_with_device(p, bytes);
  return p;
}
void share_with_device(const void *p, size_t bytes) { memory().shared_with_host[static_cast<const char *>(p)] = bytes; }
void to_symbol(void *symbol, size_t symbol_b, const void *from, size_t bytes, size_t offset) {
  if (offset + bytes > symbol_b) stop("cudaMemcpyToSymbol%s: %ld bytes are too many", "", long(bytes));
  finish_before(nullptr);
  memory().open(true);
  std::memcpy(static_cast<char *>(symbol) + offset, from, bytes);
  memory().open(false);
}
void from_symbol(void *to, const void *symbol, size_t symbol_b, size_t bytes, size_t offset) {
  if (offset + bytes > symbol_b) stop("cudaMemcpyFromSymbol%s: %ld bytes are too many", "", long(bytes));
  finish_before(nullptr);
  memory().open(true);
  std::memcpy(to, static_cast<const char *>(symbol) + offset, bytes);
  memory().open(false);
}
cudaError_t most_shared(int bytes) {
  if (bytes > 227 << 10) return failed(cudaErrorInvalidValue);
  most_shared_b = std::max(most_shared_b, size_t(bytes));
  return cudaSuccess;
}
}  // namespace cuda_on_host

const char *cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    default: return "unknown error";
  }
}
const char *cudaGetErrorName(cudaError_t e) { return cudaGetErrorString(e); }
cudaError_t cudaGetLastError() { return std::exchange(cuda_on_host::last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return cuda_on_host::last_error; }
cudaError_t cudaDeviceSynchronize() { cuda_on_host::finish(); return cudaSuccess; }
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaStreamSynchronize(cudaStream_t s) { cuda_on_host::finish_before(s); return cudaSuccess; }
cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
cudaError_t cudaFree(void *p) {
  cuda_on_host::finish();
  if (!p) return cudaSuccess;
  auto &m = cuda_on_host::memory();
  if (m.shared_with_host.erase(static_cast<char *>(p))) return std::free(p), cudaSuccess;
  return m.give_back(static_cast<char *>(p)) ? cudaSuccess : cuda_on_host::failed(cudaErrorInvalidValue);
}
cudaError_t cudaFreeHost(void *p) { return cudaFree(p); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return cuda_on_host::copy(to, from, bytes, kind, false);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s) {
  return cuda_on_host::copy(to, from, bytes, kind, true, s);
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind) {
  for (size_t r = 0; r < rows; r++)
    cuda_on_host::copy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, width, kind, false);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s) {
  auto &m = cuda_on_host::memory();
  if (!cuda_on_host::Memory::within(m.given, p, bytes) && !cuda_on_host::Memory::within(m.shared_with_host, p, bytes))
    cuda_on_host::stop("cudaMemset%s: %ld bytes are not in device memory", "", long(bytes));
  cuda_on_host::put({nullptr, {}, {}, 0, cuda_on_host::body_of([=]() { std::memset(p, value, bytes); }), s});
  return cudaSuccess;
}
cudaError_t cudaMemset(void *p, int value, size_t bytes) { return cudaMemsetAsync(p, value, bytes); }
cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  *total = cuda_on_host::ARENA_B;
  *free = *total - cuda_on_host::memory().used;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device ? cuda_on_host::failed(cudaErrorInvalidDevice) : cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
/* With each order the device is another one: what is right on one may hang on what it is. */
namespace cuda_on_host {
int multiprocessors() { return ORDER < 1 ? 8 : ORDER == 1 ? 1 : ORDER == 2 ? 132 : 47; }
int generation() { return ORDER < 1 ? 8 : ORDER == 1 ? 7 : ORDER == 2 ? 9 : 12; }
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  *p = cudaDeviceProp{"CPU", cuda_on_host::ARENA_B, 48 << 10, 65536, 32, 1024, {1024, 1024, 64},
                      {INT_MAX, 65535, 65535}, cuda_on_host::generation(), 0, cuda_on_host::multiprocessors(),
                      cuda_on_host::ORDER % 2 ? 1536 : 2048, 1, 1, 1};
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device) {
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
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) {
  *s = cudaStream_t(cuda_on_host::new_stream(flags != cudaStreamNonBlocking));
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithFlags(s, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }  /* its work goes on */
cudaError_t cudaStreamQuery(cudaStream_t s) {
  auto needed = cuda_on_host::needed_by(cuda_on_host::Work{nullptr, {}, {}, 0, {}, s});
  bool ready = std::find(needed.begin(), needed.end(), 1) == needed.end();
  cuda_on_host::finish(needed);
  return ready ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  cuda_on_host::put({nullptr, {}, {}, 0, cuda_on_host::body_of([]() {}), s, e->recorded});
  return cudaSuccess;
}
namespace cuda_on_host {
double now_s() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
double &event_s(long number) { static std::map<long, double> one; return one[number]; }
}
cudaError_t cudaEventCreate(cudaEvent_t *e) { *e = new cuda_event{0}; return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { return cudaEventCreate(e); }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  long number = cuda_on_host::works + 1;
  e->recorded = cuda_on_host::put({nullptr, {}, {}, 0, cuda_on_host::body_of([number]() {
    cuda_on_host::event_s(number) = cuda_on_host::now_s();
  }), s});
  return cudaSuccess;
}
namespace cuda_on_host {
void *const no_stream = (void *)(~size_t(0) << 1);  /* waits for its event alone */
void finish_event(cudaEvent_t e) { finish_before(no_stream, e->recorded); }
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) { cuda_on_host::finish_event(e); return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t e) {
  bool ready = cuda_on_host::is_done(e->recorded);
  cuda_on_host::finish_event(e);
  return ready ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  cuda_on_host::finish_event(from), cuda_on_host::finish_event(to);
  *ms = float(1e3 * (cuda_on_host::event_s(to->recorded) - cuda_on_host::event_s(from->recorded)));
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) { delete e; return cudaSuccess; }
