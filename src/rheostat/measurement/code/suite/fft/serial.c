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
  long n = argc > 1 ? atol(argv[1]) : 8;
  long steps = argc > 2 ? atol(argv[2]) : 2;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  long size = 1L << n;
  double *re = malloc(size * sizeof *re), *im = malloc(size * sizeof *im);
  double *c = malloc(size * sizeof *c), *d = malloc(size * sizeof *d);
  for (long i = 0; i < size; i++) {
    re[i] = uniform();
    im[i] = 0;
    c[i] = cos(-2.0 * M_PI * (double)i / (double)size);
    d[i] = sin(-2.0 * M_PI * (double)i / (double)size);
  }
  for (long s = 0; s < steps; s++) {
    for (long i = 0, j = 0; i < size; i++) {
      if (i < j) {
        double t = re[i];
        re[i] = re[j];
        re[j] = t;
        t = im[i];
        im[i] = im[j];
        im[j] = t;
      }
      long bit = size >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
    }
    for (long half = 1; half < size; half *= 2) {
      for (long b = 0; b < size / 2; b++) {
        long k = b % half;
        long p = (b / half) * 2 * half + k, q = p + half;
        long w = k * (size / (2 * half));
        double tr = c[w] * re[q] - d[w] * im[q];
        double ti = c[w] * im[q] + d[w] * re[q];
        re[q] = re[p] - tr;
        im[q] = im[p] - ti;
        re[p] += tr;
        im[p] += ti;
      }
    }
    double scale = 1.0 / sqrt((double)size);
    for (long i = 0; i < size; i++) {
      re[i] *= scale;
      im[i] *= scale;
    }
  }
  report(re, size);
  report(im, size);
  free(re);
  free(im);
  free(c);
  free(d);
  return 0;
}
