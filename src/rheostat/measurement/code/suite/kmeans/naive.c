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

#define CENTRES 16

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 500;
  long steps = argc > 2 ? atol(argv[2]) : 3;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = malloc(2 * n * sizeof *x), cx[CENTRES], cy[CENTRES];
  int *nearest = malloc(n * sizeof *nearest);
  for (long i = 0; i < 2 * n; i++) x[i] = uniform();
  for (int c = 0; c < CENTRES; c++) {
    cx[c] = uniform();
    cy[c] = uniform();
  }
  for (long s = 0; s < steps; s++) {
    for (long i = 0; i < n; i++) {
      double least = 1e300;
      for (int c = 0; c < CENTRES; c++) {
        double dx = x[2 * i] - cx[c], dy = x[2 * i + 1] - cy[c];
        double d = sqrt(pow(dx, 2) + pow(dy, 2));
        if (d < least) {
          least = d;
          nearest[i] = c;
        }
      }
    }
    double sx[CENTRES] = {0}, sy[CENTRES] = {0}, members[CENTRES] = {0};
    for (long i = 0; i < n; i++) {
      sx[nearest[i]] += x[2 * i];
      sy[nearest[i]] += x[2 * i + 1];
      members[nearest[i]] += 1.0;
    }
    for (int c = 0; c < CENTRES; c++) {
      if (members[c] > 0) {
        cx[c] = sx[c] / members[c];
        cy[c] = sy[c] / members[c];
      }
    }
  }
  report(cx, CENTRES);
  report(cy, CENTRES);
  free(x);
  free(nearest);
  return 0;
}
