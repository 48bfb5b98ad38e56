/* Functions of kernels: barriers, warps, atomics, arithmetic. */
#pragma once
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
  before_atomic();
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
  cuda_on_host::before_atomic();
  __atomic_exchange(p, &v, &old, __ATOMIC_ACQ_REL);
  return old;
}
template <class T, class U, class V>
T atomicCAS(T *p, U expected, V given) {
  T old = T(expected), v = T(given);
  cuda_on_host::before_atomic();
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
/* Conversions; where to round is in the name. */
#define CUDA_WHOLE(name, to, from, round) inline to name(from x) { return (to)round(x); }
#define CUDA_CONVERSIONS(kind, to)                                       \
  CUDA_WHOLE(__float2##kind##_rn, to, float, rintf)                       \
  CUDA_WHOLE(__float2##kind##_rz, to, float, truncf)                      \
  CUDA_WHOLE(__float2##kind##_ru, to, float, ceilf)                       \
  CUDA_WHOLE(__float2##kind##_rd, to, float, floorf)                      \
  CUDA_WHOLE(__double2##kind##_rn, to, double, rint)                      \
  CUDA_WHOLE(__double2##kind##_rz, to, double, trunc)                     \
  CUDA_WHOLE(__double2##kind##_ru, to, double, ceil)                      \
  CUDA_WHOLE(__double2##kind##_rd, to, double, floor)                     \
  inline float __##kind##2float_rn(to x) { return float(x); }             \
  inline double __##kind##2double_rn(to x) { return double(x); }
CUDA_CONVERSIONS(int, int)
CUDA_CONVERSIONS(uint, unsigned)
CUDA_CONVERSIONS(ll, long long)
CUDA_CONVERSIONS(ull, unsigned long long)
inline float __double2float_rn(double x) { return float(x); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b >> 64; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __tanf(float x) { return tanf(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline void __sincosf(float x, float *s, float *c) { sincosf(x, s, c); }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
template <class T> T __ldca(const T *p) { return *p; }
template <class T> T __ldcg(const T *p) { return *p; }
template <class T> T __ldcv(const T *p) { return *p; }
template <class T> void __stcg(T *p, T v) { *p = v; }
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
