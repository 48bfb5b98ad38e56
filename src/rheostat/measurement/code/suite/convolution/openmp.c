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

#define R 2

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 20;
  long steps = argc > 2 ? atol(argv[2]) : 3;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *in = malloc(n * n * sizeof *in), *out = malloc(n * n * sizeof *out);
  double mask[2 * R + 1][2 * R + 1];
  for (long i = 0; i < n * n; i++) out[i] = in[i] = uniform();
  for (int p = 0; p <= 2 * R; p++) {
    for (int q = 0; q <= 2 * R; q++) mask[p][q] = uniform() / 13.0;
  }
  for (long s = 0; s < steps; s++) {
#pragma omp parallel for schedule(static)
    for (long i = R; i < n - R; i++) {
      for (long j = R; j < n - R; j++) {
        double sum = 0;
        for (int p = -R; p <= R; p++) {
          for (int q = -R; q <= R; q++) sum += mask[p + R][q + R] * in[(i + p) * n + j + q];
        }
        out[i * n + j] = sum;
      }
    }
    double *swap = in;
    in = out;
    out = swap;
  }
  report(in, n * n);
  free(in);
  free(out);
  return 0;
}
