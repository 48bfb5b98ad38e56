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

__global__ void dot(const double *x, const double *y, double scale, double *sum, long n) {
  __shared__ double part[128];
  double mine = 0;
  long stride = gridDim.x * (long)blockDim.x;
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += stride) {
    mine += x[i] * (y[i] + scale);
  }
  part[threadIdx.x] = mine;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = (double *)malloc(n * sizeof *x), *y = (double *)malloc(n * sizeof *y);
  double *dots = (double *)malloc(steps * sizeof *dots);
  for (long i = 0; i < n; i++) {
    x[i] = uniform();
    y[i] = uniform() - 0.25;
  }
  double *dsums;
  double *dx;
  check(cudaMalloc(&dx, n * sizeof *dx));
  check(cudaMemcpy(dx, x, n * sizeof *dx, cudaMemcpyHostToDevice));
  double *dy;
  check(cudaMalloc(&dy, n * sizeof *dy));
  check(cudaMemcpy(dy, y, n * sizeof *dy, cudaMemcpyHostToDevice));
  check(cudaMalloc(&dsums, steps * sizeof *dsums));
  check(cudaMemset(dsums, 0, steps * sizeof *dsums));
  for (long s = 0; s < steps; s++) {
    double scale = 1.0 / (double)(s + 1);
    dot<<<16, 128>>>(dx, dy, scale, dsums + s, n);
    check(cudaGetLastError());
  }
  check(cudaMemcpy(dots, dsums, steps * sizeof *dots, cudaMemcpyDeviceToHost));
  check(cudaFree(dx));
  check(cudaFree(dy));
  check(cudaFree(dsums));
  report(dots, steps);
  free(x);
  free(y);
  free(dots);
  return 0;
}
