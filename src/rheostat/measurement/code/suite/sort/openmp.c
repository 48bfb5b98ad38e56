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

static void merge(const double *from, double *to, long low, long middle, long high) {
  long i = low, j = middle;
  for (long k = low; k < high; k++) {
    if (i < middle && (j >= high || from[i] <= from[j])) {
      to[k] = from[i++];
    } else {
      to[k] = from[j++];
    }
  }
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 500;
  long steps = argc > 2 ? atol(argv[2]) : 2;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = malloc(n * sizeof *x), *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (long i = 0; i < n; i++) x[i] = uniform();
  for (long s = 0; s < steps; s++) {
    for (long i = 0; i < n; i++) a[i] = fabs(x[i] - 0.1 * (double)s);
    for (long width = 1; width < n; width *= 2) {
#pragma omp parallel for schedule(static)
      for (long low = 0; low < n; low += 2 * width) {
        long middle = low + width < n ? low + width : n;
        long high = low + 2 * width < n ? low + 2 * width : n;
        merge(a, b, low, middle, high);
      }
      double *swap = a;
      a = b;
      b = swap;
    }
  }
  report(a, n);
  free(x);
  free(a);
  free(b);
  return 0;
}
