"""Kernels that are launched by a pointer become calls by one."""

import shutil
import subprocess

import pytest

from rheostat.errors import DataError
from rheostat.tradeoff.variants.from_cuda import from_cuda

pytest.importorskip("tree_sitter_cuda", reason="pip install 'rheostat[code]'")
compiles = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")

MANY = r"""
#include <cstdio>
__global__ void adds(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += i;
}
__global__ void turns(int *a, int n) {
  __shared__ int s[4];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? a[i] : 0;
  __syncthreads();
  if (i < n) a[i] = s[3 - threadIdx.x];
}
using Kernel = void (*)(int *, int);
static void run(Kernel one, void (*other)(int *, int), int *a) {
  one<<<2, 4>>>(a, 8);
  other<<<2, 4>>>(a, 8);
}
int main() {
  int h[8] = {0}, *a;
  cudaMalloc(&a, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  adds<<<1, 4>>>(a, 4);
  run(adds, turns, a);
  Kernel all[] = {turns, adds};
  for (int k = 0; k < 2; k++) all[k]<<<2, 4>>>(a, 8);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  for (int v : h) printf("%d ", v);
}
"""


@compiles
def test_pointers_to_kernels_by_a_type_a_parameter_and_an_array(tmp_path):
    (tmp_path / "a.cc").write_text(from_cuda(MANY, "openmp").text)
    build = ["g++", "-w", "-fopenmp", tmp_path / "a.cc", "-o", tmp_path / "a"]
    subprocess.run(build, check=True, capture_output=True)
    made = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True)
    values = [0, 1, 2, 3, 0, 0, 0, 0]
    values = [v + i for i, v in enumerate(values)]
    assert [int(v) for v in made.stdout.split()] == [v + i for i, v in enumerate(values)]


@pytest.mark.parametrize("kind", ["template <class F> void f(F k)", "void f(int (*k)(int))"])
def test_a_pointer_to_no_known_kind_of_kernel_is_refused(kind):
    with pytest.raises(DataError, match="line 2: a launch of what is no kernel by its name"):
        from_cuda(f"{kind} {{\n  k<<<1, 2>>>(3);\n}}\n", "openmp")
