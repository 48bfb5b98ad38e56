"""The runtime of CUDA that programs meet on a host without a GPU."""

import re
import shutil
import subprocess

import pytest

from rheostat.measurement.code import Program
from rheostat.measurement.code.bundled import with_included
from rheostat.measurement.code.device_kernels.cuda_on_host import on_host, parser_absent
from rheostat.tradeoff.variants.from_cuda import from_cuda

LACKING = parser_absent() or "g++ is not installed" * (shutil.which("g++") is None)
needs = pytest.mark.skipif(bool(LACKING), reason=LACKING)

MEMORY = r"""
#include <cuda_profiler_api.h>
#include <memory>
#include <algorithm>
__device__ int table[3];
__noinline__ __device__ int twice(int v) { return 2 * v; }
__global__ void rows(const int *in, char *out, size_t pitch, int n) {
  int i = threadIdx.x;
  if (i < n) ((int *)(out + i * pitch))[0] = twice(in[i]) + table[2];
}
int main() {
  const int n = 4;
  int *h = (int *)malloc(n * sizeof(int)), *seen, got[n], blocks, threads, one = 100;
  for (int i = 0; i < n; i++) h[i] = i;
  cudaHostRegister(h, n * sizeof(int), cudaHostRegisterDefault | cudaHostRegisterMapped);
  cudaHostGetDevicePointer((void **)&seen, h, 0);
  size_t pitch, size;
  char *d;
  cudaStream_t s;
  cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, 0);
  cudaMallocPitch(&d, &pitch, sizeof(int), n);
  cudaMemset2D(d, pitch, 0, sizeof(int), n);
  cudaMemcpyToSymbol(table, &one, sizeof one, 2 * sizeof one);
  rows<<<1, 32>>>(seen, d, pitch, n);
  cudaMemcpy2D(got, sizeof(int), d, pitch, sizeof(int), n, cudaMemcpyDeviceToHost);
  cudaFreeAsync(d, s);
  cudaStreamSynchronize(s);
  cudaHostUnregister(h);
  cudaGetSymbolSize(&size, table);
  cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, rows, 0, 0);
  for (int v : got) printf("%d ", v);
  printf("%d %d %d %s %s|%s\n", int(size), blocks, threads, cudaGetErrorName(cudaHostUnregister(h)),
         cudaGetErrorName(cudaFree(d)), cudaGetErrorString(cudaErrorNoDevice));
  LAST
  free(h);
}
"""


def ran(text: str, folder) -> subprocess.CompletedProcess:
    made = on_host(Program({"a.cu": text}, "cuda"))
    for name, content in {**made.files, **with_included("cuda_on_host.cc")}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    build = ["g++", "-w", *made.flags, "-x", "c++", "a.cu", "cuda_on_host.cc", "-o", "a"]
    built = subprocess.run(build, cwd=folder, check=False, capture_output=True, text=True)
    assert not built.returncode, built.stderr
    return subprocess.run([folder / "a"], check=False, capture_output=True, text=True, env={})


@needs
def test_memory_of_the_host_rows_of_a_pitch_and_what_libraries_include(tmp_path):
    run = ran(MEMORY.replace("LAST", ""), tmp_path)
    assert run.stdout == (
        "100 102 104 106 12 16 1024 cudaErrorHostMemoryNotRegistered cudaErrorInvalidValue|"
        "no CUDA-capable device is detected\n"
    )


@needs
def test_a_translation_answers_as_the_runtime_does(tmp_path):
    text = re.sub("cudaGetErrorName.*cudaErrorNoDevice[)]", '"", "", ""', MEMORY, flags=re.DOTALL)
    text = text.replace("LAST", "")
    (tmp_path / "b.cc").write_text(from_cuda(text, "serial").text)
    subprocess.run(["g++", "-w", "b.cc", "-o", "b"], cwd=tmp_path, check=True)
    made = subprocess.run([tmp_path / "b"], check=False, capture_output=True, text=True, env={})
    assert made.stdout == "100 102 104 106 12 16 1024  |\n" == ran(text, tmp_path).stdout


@needs
def test_memory_that_is_registered_no_longer_is_the_hosts_alone(tmp_path):
    run = ran(MEMORY.replace("LAST", "rows<<<1, 1>>>(h, nullptr, 0, 0);"), tmp_path)
    assert run.returncode == 70
    assert "kernel rows: argument 1 points at memory of the host" in run.stderr


CONVERTS = r"""
#include <cstdio>
#include <cmath>
__global__ void k(float x, double y, unsigned u, long long l) {
  printf("%d %d %u %u %lld %lld ", __float2int_rn(x), __float2int_rz(-x), __float2uint_ru(x),
         __double2uint_rd(y), __double2ll_rn(y), __float2ll_ru(-x));
  printf("%llu %.1f %.1f %.1f %.1f ", __double2ull_rz(y), __uint2float_rn(u), __ll2double_rn(l),
         __double2float_rn(y), __int2float_rn(-3));
  printf("%d %d %.2f\n", __double2hiint(1.0), __double2loint(y), __hiloint2double(1072693248, 0));
}
int main() { k<<<1, 1>>>(2.5f, 3.75, 4000000000u, -5); cudaDeviceSynchronize(); }
"""


@needs
def test_conversions_round_as_their_names_say_here_and_translated(tmp_path):
    said = "2 -2 3 3 4 -2 3 4000000000.0 -5.0 3.8 -3.0 1072693248 0 1.00\n"
    assert ran(CONVERTS, tmp_path).stdout == said
    (tmp_path / "b.cc").write_text(from_cuda(CONVERTS, "serial").text)
    subprocess.run(["g++", "-w", tmp_path / "b.cc", "-o", tmp_path / "b"], check=True)
    made = subprocess.run([tmp_path / "b"], check=True, capture_output=True, text=True)
    assert made.stdout == said
