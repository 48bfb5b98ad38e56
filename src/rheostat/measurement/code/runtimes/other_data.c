/* Other data than a program draws, from what it could have drawn: parts of random numbers are replaced
   by what RHEOSTAT_DATA says.  RHEOSTAT_NOISE: what floating point rounds is one step more or less.
   Calls to these stand in the place of the instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif
enum { PLAIN, FEW, GREATEST, EQUAL, TWO, SPARSE, OUTLIERS, RISING, FALLING, BLOCKS, NARROW, NARROW_TOO, GUIDED };
enum { FEWEST = 8, SMALL = 1 << 17, STEPS = 4096, BLOCK = 24, WIDTHS = 13, NARROW_ALREADY = 256 };
enum { LESS = 100 };
static int kind, less;
static unsigned long noise, order;
#include "guided_data.h"

__attribute__((constructor(101))) static void begin(void) {
  const char *said = getenv("RHEOSTAT_DATA"), *seed = getenv("RHEOSTAT_NOISE");
  kind = said ? atoi(said) % LESS : PLAIN;
  less = said && atoi(said) >= LESS;
  noise = seed ? strtoul(seed, 0, 10) * 2654435761ul : 0;
  if (kind == GUIDED) guided_begin();
  unsetenv("RHEOSTAT_DATA");
  unsetenv("RHEOSTAT_NOISE");
}

/* Who draws the same in another order has other data by its place: what tells the order is printed. */
__attribute__((destructor)) static void tell(void) {
  if (kind == GUIDED) guided_end();
  if (kind >= RISING) printf("\nrheostat drew %lx\n", order);
}

/* How many were drawn before that can be as great, as a part of a number is often a part once more. */
typedef struct { unsigned long greatest, many, kept; } Drawn;
static Drawn *drawn_of(unsigned long greatest) {
  static Drawn drawn[16];
  Drawn *one = drawn;
  while (one < drawn + 15 && one->many && one->greatest != greatest) one++;
  one->greatest = greatest;
  return one;
}

static unsigned long risen(unsigned long greatest) {
  unsigned long n = drawn_of(greatest)->many++ % STEPS;
  return greatest < STEPS ? n % (greatest + 1) : greatest / STEPS * n;
}

static unsigned long again(unsigned long v, unsigned long greatest) {
  Drawn *one = drawn_of(greatest);
  if (one->many++ % BLOCK == 0 || one->kept > greatest) one->kept = v;
  return one->kept;
}

/* A range of its own for each greatest value, another one in each run: of 1 to 4,096 values at the lower
   end, in the middle or at the upper end, or as drawn: one in eight, three in four of what has few values. */
static unsigned long narrow(unsigned long v, unsigned long greatest) {
  static unsigned long run;
  if (!run) run = (v ^ v >> 9 ^ (unsigned long)kind << 40) * 11400714819323198485ul | 1;
  unsigned long own = (run ^ greatest) * 6364136223846793005ul >> 40, wide = own % WIDTHS;
  int drawn = greatest < NARROW_ALREADY ? (own >> 20 & 3) != 0 : (own >> 20 & 7) == 0;
  if (drawn || greatest >> wide == 0) return v;
  unsigned long room = greatest - ((1ul << wide) - 1);
  return (own >> 8) % 3 * (room / 2) + (v & ((1ul << wide) - 1));
}

static unsigned long other(unsigned long v, unsigned long greatest) {
  order = (order ^ v) * 6364136223846793005ul + greatest;
  unsigned long bits = v ^ v >> 3 ^ v >> 7, step = greatest / FEWEST + 1, half = greatest - greatest / 2;
  switch (kind) {
    case FEW: return greatest < FEWEST ? v & 1 : greatest < SMALL ? v & (FEWEST - 1) : v / step * step;
    case GREATEST: return bits & 1 ? greatest : greatest - greatest / 16;
    case EQUAL: return half;
    case TWO: return bits & 1 ? half : 0;
    case SPARSE: return bits & 7 ? 0 : v;
    case OUTLIERS: return (bits ^ bits >> 21) % 61 ? v : greatest - (greatest >> (3 + (bits >> 9) % 26));
    case RISING: return risen(greatest);
    case FALLING: return greatest - risen(greatest);
    case BLOCKS: return again(v, greatest);
    case GUIDED: return guided_draw(v, greatest);
    case NARROW:
    case NARROW_TOO: return narrow(v, greatest);
    default: return v;
  }
}

/* What is added to what is drawn, so that there is at least one, or none. */
int rheostat_base_i32(int base) { return less ? 0 : base; }
long rheostat_base_i64(long base) { return less ? 0 : base; }

unsigned rheostat_data_i32(unsigned v, unsigned greatest) { return (unsigned)other(v, greatest); }
unsigned long rheostat_data_i64(unsigned long v, unsigned long greatest) { return other(v, greatest); }
int rheostat_signed_data_i32(int v, int greatest) {
  if (greatest < 0) return v;
  return v < 0 ? -(int)other(-(unsigned)v, greatest) : (int)other(v, greatest);
}
long rheostat_signed_data_i64(long v, long greatest) {
  if (greatest < 0) return v;
  return v < 0 ? -(long)other(-(unsigned long)v, greatest) : (long)other(v, greatest);
}

static int drawn(void) {
  noise ^= noise << 13;
  noise ^= noise >> 7;
  noise ^= noise << 17;
  return noise >> 40 & 1 ? 1 : -1;
}
static double near_double(double v) {
  long bits;
  if (!noise || v == 0 || v - v != 0) return v;
  memcpy(&bits, &v, sizeof bits);
  bits += drawn();
  memcpy(&v, &bits, sizeof bits);
  return v;
}
static float near_float(float v) {
  int bits;
  if (!noise || v == 0 || v - v != 0) return v;
  memcpy(&bits, &v, sizeof bits);
  bits += drawn();
  memcpy(&v, &bits, sizeof bits);
  return v;
}
/* What is exact stays: sums of whole numbers are the same in any order. */
#define ROUNDED(name, type, wide, op) \
  type rheostat_##name##_##type(type a, type b) { \
    type v = a op b; \
    return (wide)v == (wide)a op (wide)b ? v : near_##type(v); \
  }
#define BOTH(name, op) ROUNDED(name, double, long double, op) ROUNDED(name, float, double, op)
BOTH(fadd, +)
BOTH(fsub, -)
BOTH(fmul, *)
BOTH(fdiv, /)
double rheostat_near_double(double v) { return near_double(v); }
float rheostat_near_float(float v) { return near_float(v); }
#ifdef __cplusplus
}
#endif
