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

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(error));
  exit(1);
}

__global__ void axpy(double a, const double *x, double *y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = (double *)malloc(n * sizeof *x), *y = (double *)malloc(n * sizeof *y);
  for (long i = 0; i < n; i++) {
    x[i] = uniform();
    y[i] = uniform();
  }
  const int threads = 128;
  const int blocks = (int)((n + threads - 1) / threads);
  double *dx;
  check(cudaMalloc(&dx, n * sizeof *dx));
  check(cudaMemcpy(dx, x, n * sizeof *dx, cudaMemcpyHostToDevice));
  double *dy;
  check(cudaMalloc(&dy, n * sizeof *dy));
  check(cudaMemcpy(dy, y, n * sizeof *dy, cudaMemcpyHostToDevice));
  for (long s = 0; s < steps; s++) {
    double a = 0.5 / (double)(s + 1);
    axpy<<<blocks, threads>>>(a, dx, dy, n);
    check(cudaGetLastError());
  }
  check(cudaMemcpy(y, dy, n * sizeof *dy, cudaMemcpyDeviceToHost));
  check(cudaFree(dx));
  check(cudaFree(dy));
  report(y, n);
  free(x);
  free(y);
  return 0;
}
