"""What threads of a warp tell each other, and functions with barriers, become C++ that runs."""

import shutil
import subprocess

import pytest

from rheostat.tradeoff.variants.from_cuda import from_cuda

pytest.importorskip("tree_sitter_cuda", reason="pip install 'rheostat[code]'")
compiles = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")

LANES = r"""
#include <cstdio>
#include <cuda_runtime.h>
#define FULL 0xffffffff
template <typename T> __inline__ __device__ T warpSum(T val) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    val += __shfl_down_sync(FULL, val, offset);
  return val;
}
__inline__ __device__ float blockSum(float val) {
  static __shared__ float shared[32];
  int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
  val = warpSum(val);  // of each warp
  if (lane == 0) shared[wid] = val;
  __syncthreads();
  val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
  if (wid == 0) val = warpSum(val);
  return val;
}
__device__ void best(int &value, int &at) {
  for (int k = 16; k > 0; k /= 2) {
    auto other = __shfl_xor_sync(FULL, value, k);
    auto place = __shfl_xor_sync(FULL, at, k);
    if (other > value || (other == value && place < at)) {
      value = other;
      at = place;
    }
  }
}
__global__ void sums(const float *in, float *out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  float all = blockSum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = all;
}
__global__ void rows(const int *a, int *out, int n, int wide) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  int value = lane < wide ? a[row * wide + lane] : -1, at = lane;
  best(value, at);
  if (lane == 0) out[row] = 100 * value + at;
}
__global__ void votes(const int *a, unsigned *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? a[i] : 0;
  unsigned ballot = __ballot_sync(FULL, v > 3);
  int any = __any_sync(FULL, v > 8), all = __all_sync(FULL, v >= 1);
  if (threadIdx.x % 32 == 5) b[i / 32] = ballot + any + 2 * all;
  if (threadIdx.x < 32) {
    int w = __shfl_up_sync(FULL, v, 3, 8) + __shfl_sync(FULL, v, 2);
    if (threadIdx.x == 4) b[4] = w;
  } else if (threadIdx.x == 40) {
    b[5] = v;
  }
  __syncwarp();
}
template <class T> void show(const T *x, int n) {
  for (int i = 0; i < n; i++) printf("%.10g ", (double)x[i]);
}
int main() {
  const int n = 96;
  float h[n], r[2], *in, *sum;
  int a[n], best[5], *d, *e;
  unsigned c[6] = {0}, *b;
  for (int i = 0; i < n; i++) h[i] = a[i] = i * 7 % 10;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&sum, sizeof r);
  cudaMalloc(&d, sizeof a);
  cudaMalloc(&e, sizeof best);
  cudaMalloc(&b, sizeof c);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(d, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemset(b, 0, sizeof c);
  sums<<<2, 64>>>(in, sum, n);
  rows<<<3, 64>>>(d, e, 5, 19);
  votes<<<1, 100>>>(d, b, n);
  cudaMemcpy(r, sum, sizeof r, cudaMemcpyDeviceToHost);
  cudaMemcpy(best, e, sizeof best, cudaMemcpyDeviceToHost);
  cudaMemcpy(c, b, sizeof c, cudaMemcpyDeviceToHost);
  show(r, 2);
  show(best, 5);
  show(c, 6);
}
"""


def wanted() -> list[float]:
    a = [i * 7 % 10 for i in range(96)] + [0] * 4
    rows = [a[19 * k : 19 * k + 19] for k in range(5)]
    warps = [a[k : k + 32] for k in range(0, 100, 32)]
    votes = [
        sum((v > 3) << i for i, v in enumerate(w)) + any(v > 8 for v in w) + 2 * all(w)
        for w in warps[:3]
    ]
    best = [100 * max(r) + r.index(max(r)) for r in rows]
    return [sum(a), sum(a), *best, *votes, 0, a[1] + a[2], a[40]]


@compiles
@pytest.mark.parametrize("to", ["openmp", "serial"])
def test_shuffles_votes_and_functions_with_barriers_do_what_cuda_does(to, tmp_path):
    made = from_cuda(LANES, to).text
    assert "static float shared" not in made  # which blocks would share
    (tmp_path / "a.cc").write_text(made)
    build = ["g++", "-O1", "-fopenmp", tmp_path / "a.cc", "-o", tmp_path / "a"]
    subprocess.run(build, check=True, capture_output=True)
    got = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True).stdout
    assert [float(x) for x in got.split()] == wanted()


def test_lines_behind_a_function_that_is_written_out_stay():
    text = "__device__ int f(int v) {\n  __syncthreads();\n  return v;\n}\n"
    text += "__global__ void k(int *a) {\n  int b =\n    f(a[0]);\n  a[1] = b;\n}\n"
    made = from_cuda(text, "serial").text
    assert "__syncthreads" not in made
    assert "int f(" not in made
    with pytest.raises(Exception, match="line 11: cudaGridSync"):
        from_cuda(text + "int g() {\n  cudaGridSync();\n}\n", "serial")
