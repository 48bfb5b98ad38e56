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

#define BINS 64

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = malloc(n * sizeof *x);
  double counts[BINS] = {0};
  for (long i = 0; i < n; i++) x[i] = uniform();
#pragma omp target data map(to : x[0 : n]) map(tofrom : counts)
  for (long s = 0; s < steps; s++) {
    double power = 1.0 + 0.01 * (double)s;
#pragma omp target teams distribute parallel for
    for (long i = 0; i < n; i++) {
      int bin = (int)(BINS * pow(x[i], power));
#pragma omp atomic
      counts[bin] += 1.0;
    }
  }
  report(counts, BINS);
  free(x);
  return 0;
}
