"""How CUDA's programs launch kernels, as calls of functions with loops."""

import shutil
import subprocess

import pytest

from rheostat.errors import DataError
from rheostat.measurement.code.bundled import with_included
from rheostat.measurement.code.device_kernels.cuda_on_host import on_host
from rheostat.measurement.code.programs.program import Program
from rheostat.tradeoff.variants.from_cuda import from_cuda

pytest.importorskip("tree_sitter_cuda", reason="pip install 'rheostat[code]'")

FILL = """__global__ void {0}(int *a, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = {1};
}}
"""


def test_kernels_of_one_program_share_how_many_threads_a_launch_has():
    alone = from_cuda(FILL.format("zeros", 0), "openmp").text
    assert "i < (int)(gridDim.x * blockDim.x); i++" in alone
    assert "threads_along" not in alone
    both = from_cuda(FILL.format("zeros", 0) + FILL.format("ones", 1), "openmp").text
    assert both.count("i < (int)threads_along(gridDim.x, blockDim.x); i++") == 2
    assert both.count("unsigned threads_along(unsigned blocks, unsigned threads)") == 1


ARRAYS = r"""
#include <cstdio>
#include <cstdlib>
#define OK(x) do { if ((x) != cudaSuccess) exit(1); } while (0)
#define cudaCheckErrors(m) do { \
    cudaError_t e = cudaGetLastError(); \
    if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", m, cudaGetErrorString(e)); exit(1); } \
  } while (0)
struct Line { int a, b; };
static void cudaSays(enum cudaError e, int v) { if (e == cudaSuccess) printf("%d ", v); }
template <class T> __global__ void apply(T *a, Line l, int n) {
  extern __shared__ T own[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    own[threadIdx.x] = l.a * a[i] + l.b;
    __syncthreads();
    if (threadIdx.x + 1 < blockDim.x && i + 1 < n) a[i] = own[threadIdx.x + 1];
  }
}
template __global__ void apply<int>(int *, Line, int);
__global__ void count(unsigned *c) { atomicInc(&c[0], UINT_MAX); atomicInc(&c[1], 4); }
int main() {
  int n = 6, *d;
  unsigned *c, h[2] = {4294967294u, 3};
  Line l = {2, 1};
  OK(cudaMallocManaged(&d, n * sizeof(int)));
  OK(cudaMalloc(&c, sizeof h));
  OK(cudaMemcpy(c, h, sizeof h, cudaMemcpyHostToDevice));
  for (int i = 0; i < n; i++) d[i] = i;
  void *all[] = {(void *)&d, &l, (void **)&n};
  n = 5;
  OK(cudaLaunchKernel((const void *)&apply<int>, dim3(2), dim3(4), all, 4 * sizeof(int), 0));
  cudaCheckErrors("launch");
  void *one[1] = {&c};
  cudaError_t e = cudaLaunchKernel(reinterpret_cast<void *>(count), 1, 5, one, 0, NULL);
  OK(cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 6; i++) cudaSays(e, d[i]);
  cudaSays(e, h[0]);
  cudaSays(e, h[1]);
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_launches_by_an_array_of_addresses(tmp_path):
    text = from_cuda("#include <climits>\n" + ARRAYS, "openmp").text
    assert "  apply<int>(dim3(2), dim3(4), 4 * sizeof(int), d, l, n);" in text
    assert "int e = (count(1, 5, c), 0);" in text
    assert "void *all" not in text
    (tmp_path / "a.cc").write_text(text)
    build = ["g++", "-w", "-O1", "-fopenmp", tmp_path / "a.cc", "-o", tmp_path / "a"]
    subprocess.run(build, check=True, capture_output=True)
    run = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["3", "5", "7", "3", "4", "5", "3", "3"]


@pytest.mark.parametrize("line", [
    "void *all[] = {(void *)&d, &l, p};", "void *all[3]; all[0] = &d; all[1] = &l; all[2] = &n;",
    "void *all[] = {&d, &l, &n}; all[2] = p;", "int n = 4; void *all[] = {&d, &l, &n};",
])  # fmt: skip
def test_an_array_whose_addresses_are_not_in_sight_is_refused(line):
    text = ARRAYS.replace("void *all[] = {(void *)&d, &l, (void **)&n};", line)
    with pytest.raises(DataError, match="line 32: cudaLaunchKernel: no rule for it"):
        from_cuda(text, "openmp")


def test_copies_of_what_may_be_empty_are_given_no_null_to_memcpy():
    text = """#include <vector>
void f(int *d, std::vector<int> &v, int *p) {
  cudaMemcpy(v.data(), d, v.size() * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(p, d, sizeof(int), cudaMemcpyDeviceToHost);
}
"""
    made = from_cuda(text, "openmp").text
    assert "copy_bytes(v.data(), d, v.size() * sizeof(int));" in made
    assert "  memcpy(p, d, sizeof(int));" in made
    assert "#include <algorithm>" in made


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_the_program_itself_launches_so_without_a_gpu(tmp_path):
    made = on_host(Program({"a.cu": "#include <climits>\n" + ARRAYS}, "cuda"))
    for name, content in {**made.files, **with_included("cuda_on_host.cc")}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    build = ["g++", "-w", "-O1", "-x", "c++", *made.flags, "a.cu", "cuda_on_host.cc", "-o", "a"]
    subprocess.run(build, check=True, capture_output=True, cwd=tmp_path)
    run = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["3", "5", "7", "3", "4", "5", "3", "3"]
