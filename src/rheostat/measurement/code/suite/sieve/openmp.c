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

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 2000;
  long steps = argc > 2 ? atol(argv[2]) : 3;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  char *composite = malloc(n + 1);
  double *counts = malloc(steps * sizeof *counts);
  for (long s = 0; s < steps; s++) {
    long limit = n - s;
    for (long i = 0; i <= limit; i++) composite[i] = 0;
    for (long p = 2; p * p <= limit; p++) {
      if (composite[p]) continue;
#pragma omp parallel for schedule(static)
      for (long m = p * p; m <= limit; m += p) composite[m] = 1;
    }
    long primes = 0;
#pragma omp parallel for schedule(static) reduction(+ : primes)
    for (long i = 2; i <= limit; i++) primes += !composite[i];
    counts[s] = (double)primes + 0.001 * uniform();
  }
  report(counts, steps);
  free(composite);
  free(counts);
  return 0;
}
