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
  long n = argc > 1 ? atol(argv[1]) : 200;
  long steps = argc > 2 ? atol(argv[2]) : 3;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  long degree = 8;
  long *edge = malloc(n * degree * sizeof *edge);
  int *level = malloc(n * sizeof *level);
  double *distance = calloc(n, sizeof *distance);
  for (long e = 0; e < n * degree; e++) edge[e] = (long)(uniform() * (double)n);
  for (long s = 0; s < steps; s++) {
    for (long i = 0; i < n; i++) level[i] = -1;
    level[s % n] = 0;
    long changed = 1;
    for (int depth = 1; changed > 0; depth++) {
      changed = 0;
      for (long i = 0; i < n; i++) {
        if (level[i] >= 0) continue;
        for (long e = i * degree; e < (i + 1) * degree; e++) {
          int there;
          there = level[edge[e]];
          if (there == depth - 1) {
            level[i] = depth;
            changed++;
            break;
          }
        }
      }
    }
    for (long i = 0; i < n; i++) distance[i] += (double)level[i];
  }
  report(distance, n);
  free(edge);
  free(level);
  free(distance);
  return 0;
}
