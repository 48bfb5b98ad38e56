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
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = malloc(3 * n * sizeof *x), *v = calloc(3 * n, sizeof *v);
  for (long i = 0; i < 3 * n; i++) x[i] = uniform();
#pragma omp target data map(tofrom : x[0 : 3 * n]) map(to : v[0 : 3 * n])
  for (long s = 0; s < steps; s++) {
#pragma omp target teams distribute parallel for
    for (long i = 0; i < n; i++) {
      double ax = 0, ay = 0, az = 0;
      for (long j = 0; j < n; j++) {
        double dx = x[3 * j] - x[3 * i];
        double dy = x[3 * j + 1] - x[3 * i + 1];
        double dz = x[3 * j + 2] - x[3 * i + 2];
        double r2 = dx * dx + dy * dy + dz * dz + 0.01;
        double inverse = 1.0 / (r2 * sqrt(r2));
        ax += dx * inverse;
        ay += dy * inverse;
        az += dz * inverse;
      }
      v[3 * i] += 1e-4 * ax;
      v[3 * i + 1] += 1e-4 * ay;
      v[3 * i + 2] += 1e-4 * az;
    }
#pragma omp target teams distribute parallel for
    for (long i = 0; i < 3 * n; i++) x[i] += 1e-2 * v[i];
  }
  report(x, 3 * n);
  free(x);
  free(v);
  return 0;
}
