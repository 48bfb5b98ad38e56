#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long state;

static double uniform(void) {
  state = state * 6364136223846793005UL + 1442695040888963407UL;
  return (double)(state >> 11) * 0x1p-53;
}

static void report(const double *x, long n) {
  double sum = 0, weighted = 0;
  for (long i = 0; i < n; i++) {
    sum += x[i];
    weighted += x[i] * (double)(1 + i % 7);
  }
  printf("%.9g %.9g %.9g %.9g %.9g\n", sum, weighted, x[0], x[n / 3], x[n - 1]);
}

static double hashed(unsigned long i) {
  i ^= i >> 33;
  i *= 0xff51afd7ed558ccdUL;
  i ^= i >> 33;
  i *= 0xc4ceb9fe1a85ec53UL;
  i ^= i >> 33;
  return ((double)(i >> 11) + 0.5) * 0x1p-53;
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *prices = malloc(steps * sizeof *prices);
  unsigned long offset = (unsigned long)(uniform() * 1e12);
  for (long s = 0; s < steps; s++) {
    double strike = 90.0 + (double)s, sum = 0;
    for (long i = 0; i < n; i++) {
      double u = hashed(offset + 2 * i), w = hashed(offset + 2 * i + 1);
      double normal = sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * w);
      double end = 100.0 * exp(0.02 - 0.02 + 0.2 * normal);
      if (end > strike) sum += end - strike;
    }
    prices[s] = sum / (double)n;
  }
  report(prices, steps);
  free(prices);
  return 0;
}
