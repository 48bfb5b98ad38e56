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
  long n = argc > 1 ? atol(argv[1]) : 30;
  long steps = argc > 2 ? atol(argv[2]) : 5;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *a = malloc(n * n * sizeof *a), *b = malloc(n * sizeof *b);
  double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), change = 0;
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < n; j++) a[i * n + j] = uniform();
    a[i * n + i] += (double)n;
    b[i] = uniform();
    x[i] = 0;
  }
#pragma omp target data map(to : a[0 : n * n], b[0 : n]) map(tofrom : x[0 : n]) map(alloc : y[0 : n])
  for (long s = 0; s < steps; s++) {
#pragma omp target teams distribute parallel for
    for (long i = 0; i < n; i++) {
      double sum = b[i];
      for (long j = 0; j < n; j++) {
        if (j != i) sum -= a[i * n + j] * x[j];
      }
      y[i] = sum / a[i * n + i];
    }
    change = 0;
#pragma omp target teams distribute parallel for reduction(+ : change) map(tofrom : change)
    for (long i = 0; i < n; i++) {
      change += fabs(y[i] - x[i]);
      x[i] = y[i];
    }
  }
  report(x, n);
  printf("%.3e\n", change + 1.0);
  free(a);
  free(b);
  free(x);
  free(y);
  return 0;
}
