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

#define TILE 16

__global__ void multiply(const double *a, const double *b, double *c, long n) {
  __shared__ double left[TILE][TILE], right[TILE][TILE];
  long row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  double sum = 0;
  for (long first = 0; first < n; first += TILE) {
    long across = first + threadIdx.x, down = first + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < n && across < n ? a[row * n + across] : 0;
    right[threadIdx.y][threadIdx.x] = down < n && column < n ? b[down * n + column] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] += sum;
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 20;
  long steps = argc > 2 ? atol(argv[2]) : 2;
  state = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
  double *a = (double *)malloc(n * n * sizeof *a), *b = (double *)malloc(n * n * sizeof *b);
  double *c = (double *)calloc(n * n, sizeof *c);
  for (long i = 0; i < n * n; i++) {
    a[i] = uniform();
    b[i] = uniform();
  }
  const unsigned tiles = (unsigned)((n + TILE - 1) / TILE);
  double *da;
  check(cudaMalloc(&da, n * n * sizeof *da));
  check(cudaMemcpy(da, a, n * n * sizeof *da, cudaMemcpyHostToDevice));
  double *db;
  check(cudaMalloc(&db, n * n * sizeof *db));
  check(cudaMemcpy(db, b, n * n * sizeof *db, cudaMemcpyHostToDevice));
  double *dc;
  check(cudaMalloc(&dc, n * n * sizeof *dc));
  check(cudaMemcpy(dc, c, n * n * sizeof *dc, cudaMemcpyHostToDevice));
  for (long s = 0; s < steps; s++) {
    multiply<<<dim3(tiles, tiles), dim3(TILE, TILE)>>>(da, db, dc, n);
    check(cudaGetLastError());
  }
  check(cudaMemcpy(c, dc, n * n * sizeof *dc, cudaMemcpyDeviceToHost));
  check(cudaFree(da));
  check(cudaFree(db));
  check(cudaFree(dc));
  report(c, n * n);
  free(a);
  free(b);
  free(c);
  return 0;
}
