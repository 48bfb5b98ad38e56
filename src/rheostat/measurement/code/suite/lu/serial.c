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
  long n = argc > 1 ? atol(argv[1]) : 24;
  long steps = argc > 2 ? atol(argv[2]) : 2;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *a = malloc(n * n * sizeof *a), *total = calloc(n * n, sizeof *total);
  for (long s = 0; s < steps; s++) {
    for (long i = 0; i < n * n; i++) a[i] = uniform();
    for (long i = 0; i < n; i++) a[i * n + i] += (double)n;
    for (long k = 0; k < n; k++) {
      for (long i = k + 1; i < n; i++) {
        double factor = a[i * n + k] / a[k * n + k];
        a[i * n + k] = factor;
        for (long j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
      }
    }
    for (long i = 0; i < n * n; i++) total[i] += a[i];
  }
  report(total, n * n);
  free(a);
  free(total);
  return 0;
}
