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

__global__ void spread(const double *u, double *v, long n) {
  long j = blockIdx.x * (long)blockDim.x + threadIdx.x + 1;
  long i = blockIdx.y * (long)blockDim.y + threadIdx.y + 1;
  if (i >= n - 1 || j >= n - 1) return;
  long c = i * n + j;
  v[c] = u[c] + 0.2 * (u[c - n] + u[c + n] + u[c - 1] + u[c + 1] - 4.0 * u[c]);
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 20;
  long steps = argc > 2 ? atol(argv[2]) : 4;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *u = (double *)malloc(n * n * sizeof *u), *du, *dv;
  for (long i = 0; i < n * n; i++) u[i] = uniform();
  check(cudaMalloc(&du, n * n * sizeof *du));
  check(cudaMalloc(&dv, n * n * sizeof *dv));
  check(cudaMemcpy(du, u, n * n * sizeof *u, cudaMemcpyHostToDevice));
  check(cudaMemcpy(dv, u, n * n * sizeof *u, cudaMemcpyHostToDevice));
  dim3 threads(32, 4), blocks((unsigned)((n + 31) / 32), (unsigned)((n + 3) / 4));
  for (long s = 0; s < steps; s++) {
    spread<<<blocks, threads>>>(du, dv, n);
    check(cudaGetLastError());
    double *swap = du;
    du = dv;
    dv = swap;
  }
  check(cudaMemcpy(u, du, n * n * sizeof *u, cudaMemcpyDeviceToHost));
  report(u, n * n);
  check(cudaFree(du));
  check(cudaFree(dv));
  free(u);
  return 0;
}
