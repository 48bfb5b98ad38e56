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
  int *now = malloc(n * n * sizeof *now), *next = malloc(n * n * sizeof *next);
  double *alive = calloc(n * n, sizeof *alive);
  for (long i = 0; i < n * n; i++) now[i] = uniform() < 0.35;
  for (long s = 0; s < steps; s++) {
    for (long i = 0; i < n; i++) {
      long up = (i + n - 1) % n * n, here = i * n, down = (i + 1) % n * n;
      for (long j = 0; j < n; j++) {
        long l = (j + n - 1) % n, r = (j + 1) % n;
        int around = now[up + l] + now[up + j] + now[up + r] + now[here + l] + now[here + r] +
                     now[down + l] + now[down + j] + now[down + r];
        next[here + j] = around == 3 || (around == 2 && now[here + j]);
        alive[here + j] += (double)next[here + j];
      }
    }
    int *swap = now;
    now = next;
    next = swap;
  }
  report(alive, n * n);
  free(now);
  free(next);
  free(alive);
  return 0;
}
