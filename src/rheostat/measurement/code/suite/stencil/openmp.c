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
  long n = argc > 1 ? atol(argv[1]) : 12;
  long steps = argc > 2 ? atol(argv[2]) : 3;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  long cells = n * n * n;
  double *a = malloc(cells * sizeof *a), *b = malloc(cells * sizeof *b);
  for (long c = 0; c < cells; c++) b[c] = a[c] = uniform();
  for (long s = 0; s < steps; s++) {
#pragma omp parallel for collapse(2) schedule(static)
    for (long i = 1; i < n - 1; i++) {
      for (long j = 1; j < n - 1; j++) {
        for (long k = 1; k < n - 1; k++) {
          long c = (i * n + j) * n + k;
          b[c] = 0.4 * a[c] + 0.1 * (a[c - 1] + a[c + 1] + a[c - n] + a[c + n] +
                                     a[c - n * n] + a[c + n * n]);
        }
      }
    }
    double *swap = a;
    a = b;
    b = swap;
  }
  report(a, cells);
  free(a);
  free(b);
  return 0;
}
