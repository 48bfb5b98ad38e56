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
  long steps = argc > 2 ? atol(argv[2]) : 40;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *count = malloc(n * n * sizeof *count);
  double left = -2.0 - 0.1 * uniform(), top = -1.2 - 0.1 * uniform(), width = 2.6;
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < n; j++) {
      double cr = left + width * (double)j / (double)n, ci = top + width * (double)i / (double)n;
      double zr = 0, zi = 0;
      long k = 0;
      while (k < steps && sqrt(pow(zr, 2) + pow(zi, 2)) < 2.0) {
        double t = pow(zr, 2) - pow(zi, 2) + cr;
        zi = 2.0 * zr * zi + ci;
        zr = t;
        k++;
      }
      count[i * n + j] = (double)k;
    }
  }
  report(count, n * n);
  free(count);
  return 0;
}
