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
  printf("%.9g %.9g %.9g %.9g %.9g\n", sum, weighted, x[1], x[n / 3 + 1], x[n - 2]);
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 24;
  long steps = argc > 2 ? atol(argv[2]) : 2;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *d = malloc(n * n * sizeof *d), *total = calloc(n * n, sizeof *total);
  for (long s = 0; s < steps; s++) {
    for (long i = 0; i < n * n; i++) d[i] = 0.01 + uniform();
    for (long i = 0; i < n; i++) d[i * n + i] = 0;
    for (long k = 0; k < n; k++) {
#pragma omp parallel for schedule(static)
      for (long i = 0; i < n; i++) {
        if (i == k) continue;
        double first = d[i * n + k];
        for (long j = 0; j < n; j++) {
          double through = first + d[k * n + j];
          if (through < d[i * n + j]) d[i * n + j] = through;
        }
      }
    }
    for (long i = 0; i < n * n; i++) total[i] += d[i];
  }
  report(total, n * n);
  free(d);
  free(total);
  return 0;
}
