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

#define BINS 64

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(error));
  exit(1);
}

__global__ void histogram(const double *x, double power, double *counts, long n) {
  __shared__ unsigned mine[BINS];
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) mine[bin] = 0;
  __syncthreads();
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&mine[(int)(BINS * pow(x[i], power))], 1u);
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
    atomicAdd(&counts[bin], (double)mine[bin]);
  }
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *x = (double *)malloc(n * sizeof *x);
  double counts[BINS] = {0};
  for (long i = 0; i < n; i++) x[i] = uniform();
  const int threads = 128;
  const int blocks = (int)((n + threads - 1) / threads);
  double *dx;
  check(cudaMalloc(&dx, n * sizeof *dx));
  check(cudaMemcpy(dx, x, n * sizeof *dx, cudaMemcpyHostToDevice));
  double *dcounts;
  check(cudaMalloc(&dcounts, BINS * sizeof *dcounts));
  check(cudaMemcpy(dcounts, counts, BINS * sizeof *dcounts, cudaMemcpyHostToDevice));
  for (long s = 0; s < steps; s++) {
    double power = 1.0 + 0.01 * (double)s;
    histogram<<<blocks, threads>>>(dx, power, dcounts, n);
    check(cudaGetLastError());
  }
  check(cudaMemcpy(counts, dcounts, BINS * sizeof *dcounts, cudaMemcpyDeviceToHost));
  check(cudaFree(dx));
  check(cudaFree(dcounts));
  report(counts, BINS);
  free(x);
  return 0;
}
