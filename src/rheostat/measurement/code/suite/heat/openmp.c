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
  long n = argc > 1 ? atol(argv[1]) : 20;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double (*u)[n] = malloc(sizeof(double[n][n])), (*v)[n] = malloc(sizeof(double[n][n]));
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < n; j++) u[i][j] = v[i][j] = uniform();
  }
  for (long s = 0; s < steps; s++) {
#pragma omp parallel for schedule(static)
    for (long i = 1; i < n - 1; i++) {
      for (long j = 1; j < n - 1; j++) {
        v[i][j] = u[i][j] + 0.2 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] -
                                   4.0 * u[i][j]);
      }
    }
    double (*swap)[n] = u;
    u = v;
    v = swap;
  }
  report(&u[0][0], n * n);
  free(u);
  free(v);
  return 0;
}
