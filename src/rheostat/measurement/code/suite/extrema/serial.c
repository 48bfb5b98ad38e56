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
  double *x = malloc(n * sizeof *x);
  double *out = malloc(2 * steps * sizeof *out);
  for (long i = 0; i < n; i++) x[i] = 6.0 * uniform() - 3.0;
  for (long s = 0; s < steps; s++) {
    double most = -1e300, least = 1e300, phase = 0.1 * (double)s;
    for (long i = 0; i < n; i++) {
      double v = sin(x[i] + phase) * exp(-x[i] * x[i]);
      if (v > most) most = v;
      if (v < least) least = v;
    }
    out[2 * s] = most;
    out[2 * s + 1] = least;
  }
  report(out, 2 * steps);
  free(x);
  free(out);
  return 0;
}
