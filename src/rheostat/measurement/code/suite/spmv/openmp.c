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
  long n = argc > 1 ? atol(argv[1]) : 200;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  long width = 12;
  long *start = malloc((n + 1) * sizeof *start), *column = malloc(n * width * sizeof *column);
  double *value = malloc(n * width * sizeof *value);
  double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
  start[0] = 0;
  for (long i = 0; i < n; i++) {
    long entries = 1 + (long)(uniform() * (double)(width - 1));
    start[i + 1] = start[i] + entries;
    for (long e = start[i]; e < start[i + 1]; e++) {
      column[e] = (long)(uniform() * (double)n);
      value[e] = uniform() / (double)width;
    }
    x[i] = uniform();
  }
  for (long s = 0; s < steps; s++) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
      double sum = 0.1 * x[i];
      for (long e = start[i]; e < start[i + 1]; e++) sum += value[e] * x[column[e]];
      y[i] = sum;
    }
    double *swap = x;
    x = y;
    y = swap;
  }
  report(x, n);
  free(start);
  free(column);
  free(value);
  free(x);
  free(y);
  return 0;
}
