/* A block: its threads take turns. Plain arrays, as ThreadSanitizer watches the library's. */
namespace cuda_on_host {
Device the_device;
struct Fibre {
  Stack stack;
  Fibre *next;
  int name;
};
Stack scheduler;
#define CUDA_TSAN (__tsan_switch_to_fiber != nullptr)
#define CUDA_RELEASE(p) (CUDA_TSAN ? __tsan_release(p) : void())
#define CUDA_ACQUIRE(p) (CUDA_TSAN ? __tsan_acquire(p) : void())

unsigned drawn() {
  auto &x = the_device.random;
  if (!x) x = 88172645463325252ULL + ORDER;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return unsigned(x >> 20);
}
void reorder(int *places, int count) {
  for (int i = 0; i < count; i++) places[i] = ORDER == 1 ? count - 1 - i : i;
  for (int i = count; ORDER > 1 && i > 1; i--) {
    int j = int(drawn() % unsigned(i)), kept = places[i - 1];
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
  change_stacks(&fibre->stack, &scheduler);
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
  void *low = mmap(nullptr, STACK_B, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!fibre || low == MAP_FAILED) stop("no memory for the threads of a block%s");
  fibre->name = name;
  begin_stack(&fibre->stack, static_cast<char *>(low), STACK_B, run_threads);
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
  change_stacks(&scheduler, &t.fibre->stack);
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
}  // namespace cuda_on_host
