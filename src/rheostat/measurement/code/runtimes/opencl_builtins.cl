/* Functions of OpenCL C that kernels call: of scalars, and of vectors element by element.

   Floating point is the C library's. What is not here leaves a build without a symbol. */
#pragma clang diagnostic ignored "-Wincompatible-library-redeclaration"
#define OF __attribute__((overloadable))
#define FENCED(name) void OF name(cl_mem_fence_flags f) { barrier(f); }
void OF barrier(cl_mem_fence_flags f);
FENCED(work_group_barrier)
void OF mem_fence(cl_mem_fence_flags f) {}
void OF read_mem_fence(cl_mem_fence_flags f) {}
void OF write_mem_fence(cl_mem_fence_flags f) {}

/* ---- the same of each element ---- */
#define SIZES(D, ...) D(2, __VA_ARGS__) D(3, __VA_ARGS__) D(4, __VA_ARGS__)
#define ONE_OF(n, R, name, A) R##n OF name(A##n a) { R##n r; for (int i = 0; i < n; i++) r[i] = name(a[i]); return r; }
#define TWO_OF(n, R, name, A, B) R##n OF name(A##n a, B##n b) { R##n r; for (int i = 0; i < n; i++) r[i] = name(a[i], b[i]); return r; }
#define BY_SCALAR(n, R, name, A, B) R##n OF name(A##n a, B b) { R##n r; for (int i = 0; i < n; i++) r[i] = name(a[i], b); return r; }
#define THREE_OF(n, R, name, A, B, C) R##n OF name(A##n a, B##n b, C##n c) { R##n r; for (int i = 0; i < n; i++) r[i] = name(a[i], b[i], c[i]); return r; }
#define BY_SCALARS(n, R, name, A, B, C) R##n OF name(A##n a, B b, C c) { R##n r; for (int i = 0; i < n; i++) r[i] = name(a[i], b, c); return r; }
#define TO_LAST(n, R, name, A, B, C) R##n OF name(A##n a, B##n b, C c) { R##n r; for (int i = 0; i < n; i++) r[i] = name(a[i], b[i], c); return r; }
#define F1(R, name, A, ...) R OF name(A a) { return __VA_ARGS__; } SIZES(ONE_OF, R, name, A)
#define F2(R, name, A, B, ...) R OF name(A a, B b) { return __VA_ARGS__; } SIZES(TWO_OF, R, name, A, B)
#define F3(R, name, A, B, C, ...) R OF name(A a, B b, C c) { return __VA_ARGS__; } SIZES(THREE_OF, R, name, A, B, C)

/* ---- whole numbers ---- */
#define WHOLE(T, U, W, bits, low, high)                                                    \
  F2(T, min, T, T, b < a ? b : a) SIZES(BY_SCALAR, T, min, T, T)                           \
  F2(T, max, T, T, a < b ? b : a) SIZES(BY_SCALAR, T, max, T, T)                           \
  F3(T, clamp, T, T, T, a < b ? b : a > c ? c : a) SIZES(BY_SCALARS, T, clamp, T, T, T)    \
  F1(U, abs, T, a < 0 ? (U)-(U)a : (U)a)                                                   \
  F2(U, abs_diff, T, T, a > b ? (U)a - (U)b : (U)b - (U)a)                                 \
  F2(T, rotate, T, T, (T)(((U)a << ((U)b & (bits - 1))) | ((U)a >> ((bits - ((U)b & (bits - 1))) & (bits - 1))))) \
  F1(T, popcount, T, (T)__builtin_popcountl((ulong)(U)a))                                 \
  F1(T, clz, T, (T)(a ? __builtin_clzl((ulong)(U)a) - (64 - bits) : bits))                \
  F1(T, ctz, T, (T)(a ? __builtin_ctzl((ulong)(U)a) : bits))                              \
  F2(T, hadd, T, T, (a & b) + ((a ^ b) >> 1))                                              \
  F2(T, rhadd, T, T, (a | b) - ((a ^ b) >> 1))                                             \
  F2(T, add_sat, T, T, ({ T r_; __builtin_add_overflow(a, b, &r_) ? (b < 0 ? low : high) : r_; })) \
  F2(T, sub_sat, T, T, ({ T r_; __builtin_sub_overflow(a, b, &r_) ? (b < 0 ? high : a < 0 || !low ? low : low) : r_; })) \
  F2(T, mul_hi, T, T, (T)(((W)a * (W)b) >> bits))                                          \
  F3(T, mad_hi, T, T, T, (T)(((W)a * (W)b) >> bits) + c)
WHOLE(char, uchar, int, 8, CHAR_MIN, CHAR_MAX)
WHOLE(uchar, uchar, uint, 8, 0, UCHAR_MAX)
WHOLE(short, ushort, int, 16, SHRT_MIN, SHRT_MAX)
WHOLE(ushort, ushort, uint, 16, 0, USHRT_MAX)
WHOLE(int, uint, long, 32, INT_MIN, INT_MAX)
WHOLE(uint, uint, ulong, 32, 0, UINT_MAX)
WHOLE(long, ulong, __int128, 64, LONG_MIN, LONG_MAX)
WHOLE(ulong, ulong, unsigned __int128, 64, 0, ULONG_MAX)
#define SHORT(T) F2(T, mul24, T, T, a * b) F3(T, mad24, T, T, T, a * b + c)
SHORT(int)
SHORT(uint)

/* ---- floating point ---- */
#define BY_C1(T, s, name) F1(T, name, T, __builtin_##name##s(a))
#define BY_C2(T, s, name) F2(T, name, T, T, __builtin_##name##s(a, b))
#define EVERY1(T, s)                                                                       \
  BY_C1(T, s, acos) BY_C1(T, s, acosh) BY_C1(T, s, asin) BY_C1(T, s, asinh) BY_C1(T, s, atan) BY_C1(T, s, atanh) \
  BY_C1(T, s, cbrt) BY_C1(T, s, ceil) BY_C1(T, s, cos) BY_C1(T, s, cosh) BY_C1(T, s, erf) BY_C1(T, s, erfc) \
  BY_C1(T, s, exp) BY_C1(T, s, exp2) BY_C1(T, s, expm1) BY_C1(T, s, fabs) BY_C1(T, s, floor) BY_C1(T, s, log) \
  BY_C1(T, s, log2) BY_C1(T, s, log10) BY_C1(T, s, log1p) BY_C1(T, s, rint) BY_C1(T, s, round) BY_C1(T, s, sin) \
  BY_C1(T, s, sinh) BY_C1(T, s, sqrt) BY_C1(T, s, tan) BY_C1(T, s, tanh) BY_C1(T, s, tgamma) BY_C1(T, s, lgamma) \
  BY_C1(T, s, trunc) BY_C1(T, s, logb)
#define EVERY2(T, s)                                                                       \
  BY_C2(T, s, atan2) BY_C2(T, s, copysign) BY_C2(T, s, fdim) BY_C2(T, s, fmod) BY_C2(T, s, hypot) BY_C2(T, s, nextafter) \
  BY_C2(T, s, pow) BY_C2(T, s, remainder) BY_C2(T, s, fmax) BY_C2(T, s, fmin)              \
  SIZES(BY_SCALAR, T, fmax, T, T) SIZES(BY_SCALAR, T, fmin, T, T)
#define OTHERS(T, I, s, PI)                                                                \
  F3(T, fma, T, T, T, __builtin_fma##s(a, b, c)) F3(T, mad, T, T, T, a * b + c)            \
  F1(T, exp10, T, __builtin_pow##s((T)10, a)) F1(T, rsqrt, T, 1 / __builtin_sqrt##s(a))         \
  F1(T, sinpi, T, __builtin_sin##s(a * PI)) F1(T, cospi, T, __builtin_cos##s(a * PI)) F1(T, tanpi, T, __builtin_tan##s(a * PI)) \
  F1(T, asinpi, T, __builtin_asin##s(a) / PI) F1(T, acospi, T, __builtin_acos##s(a) / PI) F1(T, atanpi, T, __builtin_atan##s(a) / PI) \
  F2(T, powr, T, T, __builtin_pow##s(a, b)) F2(T, pown, T, int, __builtin_pow##s(a, (T)b)) \
  F2(T, rootn, T, int, __builtin_pow##s(a, 1 / (T)b)) F2(T, ldexp, T, int, __builtin_ldexp##s(a, b)) \
  SIZES(BY_SCALAR, T, ldexp, T, int)                                                       \
  F2(T, maxmag, T, T, fabs(a) > fabs(b) ? a : fabs(b) > fabs(a) ? b : fmax(a, b))          \
  F2(T, minmag, T, T, fabs(a) < fabs(b) ? a : fabs(b) < fabs(a) ? b : fmin(a, b))          \
  F1(int, ilogb, T, __builtin_ilogb##s(a))                                                 \
  F2(T, min, T, T, b < a ? b : a) SIZES(BY_SCALAR, T, min, T, T)                           \
  F2(T, max, T, T, a < b ? b : a) SIZES(BY_SCALAR, T, max, T, T)                           \
  F3(T, clamp, T, T, T, fmin(fmax(a, b), c)) SIZES(BY_SCALARS, T, clamp, T, T, T)          \
  F3(T, mix, T, T, T, a + (b - a) * c) SIZES(TO_LAST, T, mix, T, T, T)                     \
  F2(T, step, T, T, b < a ? 0 : 1)                                                         \
  F3(T, smoothstep, T, T, T, ({ T t_ = fmin(fmax((c - a) / (b - a), (T)0), (T)1); t_ * t_ * (3 - 2 * t_); })) \
  F1(T, sign, T, a > 0 ? 1 : a < 0 ? -1 : a == 0 ? a : 0)                                  \
  F1(T, degrees, T, 180 / PI * a) F1(T, radians, T, PI / 180 * a)                          \
  T OF dot(T a, T b) { return a * b; }                                                     \
  T OF length(T a) { return fabs(a); }                                                     \
  T OF distance(T a, T b) { return fabs(a - b); }                                          \
  T OF normalize(T a) { return sign(a); }                                                  \
  GEOMETRY(2, T, s) GEOMETRY(3, T, s) GEOMETRY(4, T, s)                                    \
  T##3 OF cross(T##3 a, T##3 b) { return (T##3)(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); } \
  T##4 OF cross(T##4 a, T##4 b) { return (T##4)(cross(a.xyz, b.xyz), 0); }                 \
  POINTED(T, s, __global) POINTED(T, s, __local) POINTED(T, s, __private)                  \
  int OF isnan(T a) { return a != a; }                                                     \
  int OF isinf(T a) { return __builtin_isinf(a); }                                         \
  int OF isfinite(T a) { return __builtin_isfinite(a); }                                   \
  int OF isnormal(T a) { return __builtin_isnormal(a); }                                   \
  int OF signbit(T a) { return __builtin_signbit##s(a) != 0; }                             \
  int OF isequal(T a, T b) { return a == b; }                                              \
  int OF isnotequal(T a, T b) { return a != b; }                                           \
  int OF isgreater(T a, T b) { return a > b; }                                             \
  int OF isgreaterequal(T a, T b) { return a >= b; }                                       \
  int OF isless(T a, T b) { return a < b; }                                                \
  int OF islessequal(T a, T b) { return a <= b; }                                          \
  int OF isordered(T a, T b) { return a == a && b == b; }                                  \
  int OF isunordered(T a, T b) { return a != a || b != b; }                                \
  F3(T, select, T, T, I, c ? b : a) F3(T, select, T, T, U##I, c ? b : a)
#define Uint uint
#define Ulong ulong
#define GEOMETRY(n, T, s)                                                                  \
  T OF dot(T##n a, T##n b) { T r = 0; for (int i = 0; i < n; i++) r += a[i] * b[i]; return r; } \
  T OF length(T##n a) { return __builtin_sqrt##s(dot(a, a)); }                             \
  T OF distance(T##n a, T##n b) { return length(a - b); }                                  \
  T##n OF normalize(T##n a) { T l = length(a); return l == 0 ? a : a / l; }
#define POINTED(T, s, S)                                                                   \
  T OF sincos(T a, S T *c) { *c = __builtin_cos##s(a); return __builtin_sin##s(a); }       \
  T OF modf(T a, S T *w) { T t = __builtin_trunc##s(a); *w = t; return __builtin_copysign##s(__builtin_isinf(a) ? (T)0 : a - t, a); } \
  T OF fract(T a, S T *w) { T t = __builtin_floor##s(a); *w = t; return fmin(a - t, (T)(sizeof(T) == 4 ? 0x1.fffffep-1f : 0x1.fffffffffffffp-1)); } \
  T OF frexp(T a, S int *e) { int k; T r = __builtin_frexp##s(a, &k); *e = k; return r; }
EVERY1(float, f)
EVERY2(float, f)
EVERY1(double, )
EVERY2(double, )
OTHERS(float, int, f, M_PI_F)
OTHERS(double, long, , M_PI)
#define QUICK1(name, base) F1(float, name, float, base(a))
QUICK1(native_cos, cos) QUICK1(native_exp, exp) QUICK1(native_exp2, exp2) QUICK1(native_exp10, exp10) QUICK1(native_log, log)
QUICK1(native_log2, log2) QUICK1(native_log10, log10) QUICK1(native_rsqrt, rsqrt) QUICK1(native_sin, sin) QUICK1(native_sqrt, sqrt)
QUICK1(native_tan, tan) QUICK1(half_cos, cos) QUICK1(half_exp, exp) QUICK1(half_log, log) QUICK1(half_sin, sin) QUICK1(half_sqrt, sqrt)
QUICK1(half_rsqrt, rsqrt)
F1(float, native_recip, float, 1 / a) F1(float, half_recip, float, 1 / a)
F2(float, native_divide, float, float, a / b) F2(float, half_divide, float, float, a / b)
F2(float, native_powr, float, float, pow(a, b)) F2(float, half_powr, float, float, pow(a, b))
float OF fast_length(float2 a) { return length(a); }
float OF fast_length(float3 a) { return length(a); }
float OF fast_length(float4 a) { return length(a); }
float OF fast_distance(float2 a, float2 b) { return length(a - b); }
float OF fast_distance(float3 a, float3 b) { return length(a - b); }
float OF fast_distance(float4 a, float4 b) { return length(a - b); }
float2 OF fast_normalize(float2 a) { return normalize(a); }
float3 OF fast_normalize(float3 a) { return normalize(a); }
float4 OF fast_normalize(float4 a) { return normalize(a); }

/* ---- of vectors of whole numbers ---- */
#define TRUE_OF(n, T) int OF any(T##n a) { int r = 0; for (int i = 0; i < n; i++) r |= a[i] < 0; return r; } \
  int OF all(T##n a) { int r = 1; for (int i = 0; i < n; i++) r &= a[i] < 0; return r; }
#define CHOOSE(T, U) int OF any(T a) { return a < 0; } int OF all(T a) { return a < 0; } SIZES(TRUE_OF, T) \
  T OF select(T a, T b, T c) { return c ? b : a; } T OF select(T a, T b, U c) { return c ? b : a; } \
  U OF select(U a, U b, T c) { return c ? b : a; } U OF select(U a, U b, U c) { return c ? b : a; } \
  SIZES(CHOSEN_BY, T, T, T) SIZES(CHOSEN_BY, T, U, U) SIZES(CHOSEN_BY, U, T, T) SIZES(CHOSEN_BY, U, U, U) \
  F3(T, bitselect, T, T, T, (a & ~c) | (b & c)) F3(U, bitselect, U, U, U, (a & ~c) | (b & c))
#define CHOSEN_BY(n, T, C, D) T##n OF select(T##n a, T##n b, C##n c) { T##n r; for (int i = 0; i < n; i++) r[i] = ((c[i] >> (sizeof(c[i]) * 8 - 1)) & 1) ? b[i] : a[i]; return r; }
CHOOSE(char, uchar)
CHOOSE(short, ushort)
CHOOSE(int, uint)
CHOOSE(long, ulong)

/* ---- vectors in memory ---- */
#define IN_SPACE(n, T, S)                                                                  \
  T##n OF vload##n(size_t k, const S T *p) { T##n r; for (int i = 0; i < n; i++) r[i] = p[k * n + i]; return r; }
#define TO_SPACE(n, T, S)                                                                  \
  void OF vstore##n(T##n v, size_t k, S T *p) { for (int i = 0; i < n; i++) p[k * n + i] = v[i]; }
#define MEMORY(T)                                                                          \
  SIZES(IN_SPACE, T, __global) SIZES(IN_SPACE, T, __local) SIZES(IN_SPACE, T, __private) SIZES(IN_SPACE, T, __constant) \
  SIZES(TO_SPACE, T, __global) SIZES(TO_SPACE, T, __local) SIZES(TO_SPACE, T, __private)
MEMORY(char) MEMORY(uchar) MEMORY(short) MEMORY(ushort) MEMORY(int) MEMORY(uint) MEMORY(long) MEMORY(ulong) MEMORY(float) MEMORY(double)

/* ---- atomics: one work-item runs at a time, and others may come before ---- */
void rheostat_before_atomic(void);
#define CHANGED(name, T, takes, ...)                                                       \
  T OF atomic_##name takes { rheostat_before_atomic(); T was = *p; *p = __VA_ARGS__; return was; } \
  T OF atom_##name takes { rheostat_before_atomic(); T was = *p; *p = __VA_ARGS__; return was; }
#define CHANGE(name, T, S, ...) CHANGED(name, T, (volatile S T *p, T v), __VA_ARGS__)
#define ATOMICS(T, S)                                                                      \
  CHANGE(add, T, S, was + v) CHANGE(sub, T, S, was - v) CHANGE(xchg, T, S, v) CHANGE(min, T, S, v < was ? v : was) \
  CHANGE(max, T, S, v > was ? v : was) CHANGE(and, T, S, was & v) CHANGE(or, T, S, was | v) CHANGE(xor, T, S, was ^ v) \
  CHANGED(inc, T, (volatile S T *p), was + 1) CHANGED(dec, T, (volatile S T *p), was - 1)  \
  CHANGED(cmpxchg, T, (volatile S T *p, T c, T v), was == c ? v : was)
ATOMICS(int, __global) ATOMICS(int, __local) ATOMICS(uint, __global) ATOMICS(uint, __local)
ATOMICS(long, __global) ATOMICS(long, __local) ATOMICS(ulong, __global) ATOMICS(ulong, __local)
CHANGE(xchg, float, __global, v) CHANGE(xchg, float, __local, v)

/* ---- conversions: as C does, to the nearest, or to what fits ---- */
#define TURN(T, F)                                                                         \
  T OF convert_##T(F a) { return (T)a; }                                                   \
  TURN_V(2, T, F) TURN_V(3, T, F) TURN_V(4, T, F)
#define TURN_V(n, T, F) T##n OF convert_##T##n(F##n a) { T##n r; for (int i = 0; i < n; i++) r[i] = (T)a[i]; return r; }
#define TURN_ALL(T) TURN(T, char) TURN(T, uchar) TURN(T, short) TURN(T, ushort) TURN(T, int) TURN(T, uint) TURN(T, long) TURN(T, ulong) TURN(T, float) TURN(T, double)
TURN_ALL(char) TURN_ALL(uchar) TURN_ALL(short) TURN_ALL(ushort) TURN_ALL(int) TURN_ALL(uint) TURN_ALL(long) TURN_ALL(ulong) TURN_ALL(float) TURN_ALL(double)
#define WAY(T, F, way, fn) T OF convert_##T##way(F a) { return (T)fn(a); }
#define WAYS(T)                                                                            \
  WAY(T, float, _rte, rint) WAY(T, double, _rte, rint) WAY(T, float, _rtz, trunc) WAY(T, double, _rtz, trunc) \
  WAY(T, float, _rtp, ceil) WAY(T, double, _rtp, ceil) WAY(T, float, _rtn, floor) WAY(T, double, _rtn, floor)
WAYS(char) WAYS(uchar) WAYS(short) WAYS(ushort) WAYS(int) WAYS(uint) WAYS(long) WAYS(ulong)
#define FIT(T, F, low, high) T OF convert_##T##_sat(F a) { return (T)(a < (F)low ? (F)low : a > (F)high ? (F)high : a); }
#define FITS(T, low, high) FIT(T, int, low, high) FIT(T, long, low, high) FIT(T, float, low, high) FIT(T, double, low, high)
FITS(char, CHAR_MIN, CHAR_MAX) FITS(short, SHRT_MIN, SHRT_MAX)
#define FITS_U(T, high) FIT(T, int, 0, high) FIT(T, long, 0, high) FIT(T, uint, 0, high) FIT(T, ulong, 0, high) FIT(T, float, 0, high) FIT(T, double, 0, high)
FITS_U(uchar, UCHAR_MAX) FITS_U(ushort, USHRT_MAX)
