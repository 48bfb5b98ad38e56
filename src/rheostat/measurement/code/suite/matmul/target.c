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
  long n = argc > 1 ? atol(argv[1]) : 20;
  long steps = argc > 2 ? atol(argv[2]) : 2;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b);
  double *c = calloc(n * n, sizeof *c);
  for (long i = 0; i < n * n; i++) {
    a[i] = uniform();
    b[i] = uniform();
  }
#pragma omp target data map(to : a[0 : n * n], b[0 : n * n]) map(tofrom : c[0 : n * n])
  for (long s = 0; s < steps; s++) {
#pragma omp target teams distribute parallel for
    for (long i = 0; i < n; i++) {
      for (long k = 0; k < n; k++) {
        for (long j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
      }
    }
  }
  report(c, n * n);
  free(a);
  free(b);
  free(c);
  return 0;
}
