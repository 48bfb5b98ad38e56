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
  long n = argc > 1 ? atol(argv[1]) : 1000;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
  for (long i = 0; i < n; i++) {
    x[i] = uniform();
    y[i] = uniform();
  }
#pragma omp target data map(to : x[0 : n]) map(tofrom : y[0 : n])
  for (long s = 0; s < steps; s++) {
    double a = 0.5 / (double)(s + 1);
#pragma omp target teams distribute parallel for
    for (long i = 0; i < n; i++) y[i] = a * x[i] + y[i];
  }
  report(y, n);
  free(x);
  free(y);
  return 0;
}
