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

static double normal(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 500;
  long steps = argc > 2 ? atol(argv[2]) : 3;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *spot = malloc(n * sizeof *spot), *strike = malloc(n * sizeof *strike);
  double *years = malloc(n * sizeof *years), *price = calloc(n, sizeof *price);
  for (long i = 0; i < n; i++) {
    spot[i] = 50.0 + 100.0 * uniform();
    strike[i] = 50.0 + 100.0 * uniform();
    years[i] = 0.1 + 2.0 * uniform();
  }
  for (long s = 0; s < steps; s++) {
    double rate = 0.01 + 0.001 * (double)s, sigma = 0.2;
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
      double root = sigma * sqrt(years[i]);
      double d1 = (log(spot[i] / strike[i]) + (rate + 0.5 * sigma * sigma) * years[i]) / root;
      double d2 = d1 - root;
      price[i] += spot[i] * normal(d1) - strike[i] * exp(-rate * years[i]) * normal(d2);
    }
  }
  report(price, n);
  free(spot);
  free(strike);
  free(years);
  free(price);
  return 0;
}
