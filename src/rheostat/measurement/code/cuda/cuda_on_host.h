/* CUDA on a CPU, for finding mistakes: the runtime, and blocks whose threads are fibres.

   Launches and copies wait until the program waits for them, as they may on a GPU.
   Blocks run one after the other; a thread runs until it meets a barrier or a warp function.  The
   environment's CUDA_ORDER says in which order: 0 forward, 1 backward, above that shuffled by this
   seed, so that a missing barrier shows in the output.  Under ThreadSanitizer each thread is a fibre
   of its own, and barriers, atomics and launches alone order them: races are named by their lines.
   Device memory cannot be touched by the host, nor may a launch be given the host's pointers. */
#pragma once
#include <ucontext.h>

#include <climits>
#include <math.h>  /* as NVIDIA's compiler does: isnan and abs without std:: */
#include <time.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUDA_UNSEEN __attribute__((disable_sanitizer_instrumentation, noinline))
#endif
#endif
#ifndef CUDA_UNSEEN
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
  unsigned long long random = 0;
  ucontext_t scheduler;
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
const char *cudaGetErrorString(cudaError_t e);
const char *cudaGetErrorName(cudaError_t e);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaThreadSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaDeviceReset();
template <class T>
cudaError_t cudaMalloc(T **p, size_t bytes) {
  *p = static_cast<T *>(cuda_on_host::taken(bytes));
  return *p ? cudaSuccess : cuda_on_host::failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void *p);
template <class T>
cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned = 1) {
  *p = static_cast<T *>(cuda_on_host::taken_of_host(bytes));
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned = 0) { return cudaMallocManaged(p, bytes); }
template <class T>
cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned = 0) { return cudaMallocManaged(p, bytes); }
cudaError_t cudaFreeHost(void *p);
template <class T>
cudaError_t cudaGetSymbolAddress(void **p, T &symbol) {
  *p = (void *)&symbol;
  cuda_on_host::share_with_device(&symbol, sizeof(T));
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s = nullptr);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind);
template <class T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) {
  cuda_on_host::to_symbol((void *)&symbol, sizeof(T), from, bytes, offset);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  cuda_on_host::from_symbol(to, (const void *)&symbol, sizeof(T), bytes, offset);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s = nullptr);
cudaError_t cudaMemset(void *p, int value, size_t bytes);
cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache);
template <class F> cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) { return cudaSuccess; }
template <class F> cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute, int bytes) {
  return cuda_on_host::most_shared(bytes);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t cudaStreamCreate(cudaStream_t *s);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned = 0);
cudaError_t cudaEventCreate(cudaEvent_t *e);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaEventDestroy(cudaEvent_t e);
