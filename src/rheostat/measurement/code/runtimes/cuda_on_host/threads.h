/* Blocks, their threads and what these say to each other; launches. */
#pragma once
namespace cuda_on_host {
[[noreturn]] void stop(const char *what, const char *name = "", long a = 0, long b = 0);
void written_by_host(const char *name);
constexpr size_t ARENA_B = size_t(768) << 20;

/* What is done later: a kernel's body with its arguments, or a copy. */
struct Body {
  void (*call)(void *), (*drop)(void *);
  void *with;
};
template <class F>
Body body_of(F f) {
  return {[](void *p) { (*static_cast<F *>(p))(); }, [](void *p) { delete static_cast<F *>(p); }, new F(std::move(f))};
}

/* ---- a block: its threads are fibres; plain arrays, as ThreadSanitizer watches the library's ---- */
enum State { READY, AT_BARRIER, AT_WARP, DONE };
constexpr size_t STACK_B = 256 << 10;
constexpr int MOST_THREADS = 1024, WARP = 32, SITES = 64, NAMES = 183;
constexpr size_t SHARED_B = 227 << 10, TOKENS_B = 1024;
struct Fibre;
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
  unsigned long long random = 0;
  void *host = nullptr, *names[NAMES] = {};  /* of ThreadSanitizer */
  char *tokens = nullptr, started, ended;
  bool in_parts[MOST_THREADS / WARP];  /* warps of which some threads waited without the others */
  const Body *body = nullptr;
  const char *kernel = "";
};
extern Device the_device;

CUDA_UNSEEN inline Thread &self() { return the_device.threads[the_device.current]; }
CUDA_UNSEEN inline uint3 thread_index() { return self().index; }
CUDA_UNSEEN inline uint3 block_index() { return the_device.block_index; }
CUDA_UNSEEN inline dim3 block_size() { return the_device.block; }
CUDA_UNSEEN inline dim3 grid_size() { return the_device.grid; }
CUDA_UNSEEN inline int lane() { return the_device.current % WARP; }

/* ---- what a kernel's threads say to each other ---- */
void before_atomic();
void barrier(int line);
void warp_barrier(unsigned mask, int line);
int counted(int predicate, int line);
unsigned voted(unsigned mask, int predicate, int line);
unsigned living_lanes();
unsigned long long exchanged(unsigned mask, unsigned long long mine, int lane, int line);
template <class T>
T shuffled(unsigned mask, T value, int lane, int line) {
  static_assert(sizeof(T) <= 8, "a shuffle takes up to 8 bytes");
  unsigned long long bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchanged(mask, bits, lane, line);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
void *shared_bytes(const void *key, size_t bytes);
template <class T, int site>
T &shared() {
  static const char key = 0;
  return *static_cast<T *>(shared_bytes(&key, sizeof(T)));
}
void *dynamic_shared();

/* ---- launches and copies, when the program waits for them ---- */
struct Config {
  dim3 grid, block;
  size_t dynamic_b;
  void *stream;
  Config(dim3 grid, dim3 block, size_t dynamic_b = 0, void *stream = nullptr)
      : grid(grid), block(block), dynamic_b(dynamic_b), stream(stream) {}
  bool valid() const;
};
void check_argument(const char *kernel, int number, const void *p);
bool may_launch(const Config &config);
void launch_later(const Config &config, const char *kernel, Body body);
template <class T>
void checked(const char *kernel, int number, const T &value) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>)
    check_argument(kernel, number, const_cast<const void *>(static_cast<const volatile void *>(value)));
}
template <class F, class... A>
void launch(Config config, const char *kernel, F body, A... arguments) {
  int number = 0;
  (checked(kernel, ++number, arguments), ...);
  if (may_launch(config)) launch_later(config, kernel, body_of([=]() { body(arguments...); }));
}
/* ``cudaLaunchKernel``: arguments by their addresses, of the types that the kernel has. */
template <class... P, size_t... i>
void launch_with(const Config &config, const char *name, void (*kernel)(P...), void **from, std::index_sequence<i...>) {
  launch(config, name, kernel, *static_cast<std::decay_t<P> *>(from[i])...);
}
template <class... P>
void launch_by(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, void **from, size_t dynamic_b = 0,
               void *stream = nullptr) {
  launch_with(Config(grid, block, dynamic_b, stream), name, kernel, from, std::index_sequence_for<P...>());
}
void *taken(size_t bytes);
void *taken_of_host(size_t bytes);
void share_with_device(const void *p, size_t bytes);
cudaError_t failed(cudaError_t error);
void to_symbol(void *symbol, size_t symbol_b, const void *from, size_t bytes, size_t offset);
void from_symbol(void *to, const void *symbol, size_t symbol_b, size_t bytes, size_t offset);
cudaError_t most_shared(int bytes);
}  // namespace cuda_on_host

#define threadIdx (cuda_on_host::thread_index())
#define blockIdx (cuda_on_host::block_index())
#define blockDim (cuda_on_host::block_size())
#define gridDim (cuda_on_host::grid_size())
constexpr int warpSize = 32;
