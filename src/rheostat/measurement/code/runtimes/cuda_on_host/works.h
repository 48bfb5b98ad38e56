/* Launches and copies, done when the program waits for them.
   In the order of the calls; where threads run in another order than theirs, streams do, too: of all
   work that nothing orders behind other work the latest is done first. */
namespace cuda_on_host {
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
  memory().registered.erase(static_cast<char *>(p));  /* freed since, and never unregistered */
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
