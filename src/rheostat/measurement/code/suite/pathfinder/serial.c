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
  double *cost = malloc(n * sizeof *cost), *next = malloc(n * sizeof *next);
  double *toll = malloc(n * sizeof *toll);
  for (long j = 0; j < n; j++) {
    toll[j] = uniform();
    cost[j] = 0;
  }
  for (long s = 0; s < steps; s++) {
    double phase = 0.37 * (double)s;
    for (long j = 0; j < n; j++) {
      double least = cost[j];
      if (j > 0) least = fmin(least, cost[j - 1]);
      if (j < n - 1) least = fmin(least, cost[j + 1]);
      next[j] = least + fabs(toll[j] - phase + floor(phase));
    }
    double *swap = cost;
    cost = next;
    next = swap;
  }
  report(cost, n);
  free(cost);
  free(next);
  free(toll);
  return 0;
}
