"""CUDA as people write it, with headers, macros and indices in functions, becomes C++ that runs."""

import shutil
import struct
import subprocess

import pytest

from rheostat.errors import DataError
from rheostat.tradeoff.variants.cuda_text import one_text, without_hidden_macros
from rheostat.tradeoff.variants.from_cuda import from_cuda

pytest.importorskip("tree_sitter_cuda", reason="pip install 'rheostat[code]'")
compiles = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")

ASKED = "__global__ void asks(int *a) { a[f(1)] = 2; }\n"
TWO_MEANINGS = "#define H __host__\n#define H __device__\n"
SHARED = """#pragma once
#define BOTH __host__ __device__
struct Pair { float2 v; };
BOTH inline float middle(float2 v) { return 0.5f * (v.x + v.y); }
__device__ int column() { return threadIdx.x + blockIdx.x * blockDim.x; }
__device__ __forceinline__ int place(int width) { return column() + 0 * width; }
__global__ void halves(const float2 *in, float *out, int n);
"""
KERNEL = """#include "pair.h"
__global__ void halves(const float2 *in, float *out, int n) {
  int i = place(n);
  if (i < n) out[i] = middle(in[i]);
}
"""
MAIN = r"""
#include <cmath>
#include <cuda_runtime.h>
#include "kernel.cuh"
#include "pair.h"
#define EACH(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); \
                        i += blockDim.x * gridDim.x)
#define RUN(kernel, blocks, ...)      \
  do {                                \
    kernel<<<blocks, 8>>>(__VA_ARGS__); \
  } while (0)
using namespace std;
__device__ int seen;
template <int by> __global__ void turn(float *x, int n) {
  EACH(i, n) {
    x[i] = __expf(0.f) * abs(x[i]) + by * __popc(i) + max(i, (unsigned)1) - __ldg(x + i);
    atomicInc((unsigned *)&seen, 1000u);
  }
}
int main() {
  const int n = 12;
  float2 h[n];
  float out[n], *d[2];
  float2 *in;
  for (int i = 0; i < n; i++) h[i] = make_float2(-i, i - 3);
  cudaMalloc(reinterpret_cast<void **>(&in), sizeof h);
  for (int k = 0; k < 2; k++) cudaMalloc(&d[k], sizeof out);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  RUN(halves, 2, in, d[1], n);
  RUN(turn<2>, 1, d[1], n);
  cudaMemcpy(out, d[1], sizeof out, cudaMemcpyDeviceToHost);
  int count;
  cudaMemcpyFromSymbol(&count, seen, sizeof count);
  for (int i = 0; i < n; i++) printf("%g ", out[i]);
  printf("%d\n", count);
}
"""


@compiles
@pytest.mark.parametrize("to", ["openmp", "serial"])
def test_headers_macros_indices_and_intrinsics_do_what_cuda_does(to, tmp_path):
    made = from_cuda(MAIN, to, files={"pair.h": SHARED, "kernel.cuh": KERNEL}).text
    (tmp_path / "a.cc").write_text(made)
    build = ["g++", "-O1", "-fopenmp", tmp_path / "a.cc", "-o", tmp_path / "a"]
    subprocess.run(build, check=True, capture_output=True)
    got = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True).stdout
    want = [1.5 + 2 * bin(i).count("1") + max(i, 1) + 1.5 for i in range(12)]
    assert [float(x) for x in got.split()] == [*want, 12]


def test_a_header_without_cuda_stays_included_and_lines_are_named_by_their_file():
    files = {"a.cu": 'int a;\n#include "k.h"\n#include "plain.h"\n', "plain.h": "int p;\n",
             "k.h": "\n__device__ int k;\n"}  # fmt: skip
    made = one_text("a.cu", files)
    assert made.text == 'int a;\n\n__device__ int k;\n#include "plain.h"\n'
    assert [made.place(i) for i in (1, 3, 4)] == ["line 1", "k.h, line 2", "line 3"]


def test_a_header_that_includes_itself_ends():
    files = {"a.cu": '#include "k.h"\n', "k.h": '#include "k.h"\n__device__ int k;\n'}
    assert "__device__ int k;" in one_text("a.cu", files).text


@pytest.mark.parametrize(("text", "made"), [
    ("#define N 4\nint a[N];", "#define N 4\nint a[N];"),  # hides nothing
    ("#define T threadIdx.x\n#ifdef T\nf(T);\n#endif", "\n#ifdef T\nf(threadIdx.x);\n#endif"),
    ("#define C(a, b) a##_##b[threadIdx.x]\nC(x,\n  y);", "\nx_y[threadIdx.x]\n;"),
    ("#define S(x) #x threadIdx\nS(1);", "#define S(x) #x threadIdx\nS(1);"),
    ("#define K __global__\n#define V K void\nV f(); // K", "\n\n__global__ void f(); // K"),
    ("#define I(a) a + threadIdx.x\nI(I(1));", "\n1 + threadIdx.x + threadIdx.x;"),
    ("#define H\n#define H __host__\nH int a;", "\n\n__host__ int a;"),
    (f"{TWO_MEANINGS}H a;", f"{TWO_MEANINGS}H a;"),
])  # fmt: skip
def test_macros_that_hide_what_only_cuda_has_are_written_out(text, made):
    assert without_hidden_macros(text) == made


@pytest.mark.parametrize(("text", "reason"), [
    ("\n#include <curand.h>\ncurandState *s;\n",
     "line 2: curand.h is cuRAND, which has no rule: random numbers by"),
    ("__global__ void k(cudaTextureObject_t t, float *a) { a[0] = tex1Dfetch<float>(t, 3); }\n"
     "void f() { cudaResourceDesc d; cudaUnknown(&d); }",
     "line 1: cudaTextureObject_t: no rule for it nor for other textures: read the array by its "
     "index; line 2: cudaUnknown: no rule for it$"),
    ("#include <cuda_fp16.h>\n__half h;\n", "line 1: cuda_fp16.h is arithmetic of half precision"),
    ("#include <thrust/scan.h>\nusing thrust::plus;\n", "thrust/scan.h is Thrust"),
    ("__device__ int f(int v) {\n  return __shfl_down_sync(~0u, v, 1);\n}\n" + ASKED,
     "line 2: __shfl_down_sync is of a warp"),
    ("__device__ int f(int v) { __syncthreads(); return v; }\n" + ASKED,
     "line 1: a barrier within f, a function that"),
    ("__device__ int f(int v) { __shared__ int s; return v; }\n" + ASKED,
     "line 1: shared memory within f"),
    ("__device__ int f(int a) {\n  return __dp4a(a, a, a);\n}\n", "line 2: __dp4a: no rule for it"),
    ("__device__ int f() { asm volatile(\"nop;\"); }\n", "line 1: asm: no rule for it"),
    ("void f(int (*k)(int)) {\n  k<<<1, 2>>>(3);\n}\n", "line 2: a launch of what is no kernel"),
    ("int f() {\n  cudaUUID_t p;\n}\n", "line 2: cudaUUID_t: no rule for it"),
])  # fmt: skip
def test_what_has_no_rule_is_refused_by_its_name(text, reason):
    with pytest.raises(DataError, match=reason):
        from_cuda(text, "openmp")


def test_constants_of_the_runtime_that_change_nothing_on_a_host_are_numbers():
    text = "void f(float *p) { int how = cudaHostAllocMapped; cudaHostAlloc(&p, 8, how); }\n"
    made = from_cuda(text, "serial").text
    assert "int how = 0;" in made
    assert "p = (decltype(p))malloc(8);" in made
    waits = "void f(cudaEvent_t e) { cudaError r; do r = cudaEventQuery(e); while (r == W); }\n"
    made = from_cuda(waits.replace("W", "cudaErrorNotReady"), "serial").text
    assert "int r; do r = 0; while (r == 600);" in made
    kind = from_cuda("cudaMemcpyKind k = cudaMemcpyHostToDevice;\n", "serial").text
    assert kind.endswith("int k = 0;\n")


def test_a_check_of_which_the_value_is_used_stays():
    check = "bool ok(cudaError_t e) { return e == cudaSuccess; }\n"
    used = check + "int f(int *p) {\n  if (!ok(cudaMalloc(&p, 8))) return 1;\n}\n"
    made = from_cuda(used, "serial").text
    assert "bool ok(int e) { return e == 0; }" in made
    assert "if (!ok((p = (decltype(p))malloc(8), 0))) return 1;" in made
    made = from_cuda(check + "void f(int *p) {\n  ok(cudaMalloc(&p, 8));\n}\n", "serial").text
    assert "ok" not in made
    assert "  p = (decltype(p))malloc(8);" in made


@compiles
def test_casts_and_bits_are_those_of_cuda(tmp_path):
    text = r"""
__global__ void k(double *x, long long *y) {
  y[0] = __double2int_rn(x[0]) + 100 * __float2int_ru((float)x[0]) + __double2loint(x[1]);
  y[1] = __double2hiint(x[1]) ^ __brev(1u) ^ __clz(8) ^ __mulhi(1 << 30, 12);
  y[2] = __hiloint2double(__double2hiint(x[1]), __double2loint(x[1])) == x[1] && !signbit(x[0]);
}
int main() {
  double x[2] = {2.5, -7.25};
  long long y[3];
  k<<<1, 1>>>(x, y);
  printf("%lld %lld %lld", y[0], y[1], y[2]);
}
"""
    (tmp_path / "a.cc").write_text(from_cuda(text, "serial").text)
    build = ["g++", "-O1", tmp_path / "a.cc", "-o", tmp_path / "a"]
    subprocess.run(build, check=True, capture_output=True)
    got = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True).stdout
    high = int.from_bytes(struct.pack(">d", -7.25)[:4], "big")
    bits = high ^ (1 << 31) ^ 28 ^ 3
    assert [int(x) % 2**32 for x in got.split()] == [2 + 300, bits, 1]


def test_streams_of_strings_are_no_launches():
    text = '#include <iostream>\nvoid f(int x) { std::cout<<"a"<<"b"<<x; }\n'
    assert 'std::cout<<"a"<<"b"<<x;' in from_cuda(text, "serial").text


LARGEST = r"""
__device__ void largest(float *top, float value) {
  unsigned now = __float_as_uint(*top);
  while (value > __uint_as_float(now)) {
    unsigned before = now;
    if ((now = atomicCAS((unsigned *)top, before, __float_as_uint(value))) == before) break;
  }
}
__global__ void k(float *top) { largest(top, threadIdx.x * 7 % 31); }
int main() {
  float top = -1;
  k<<<1, 31>>>(&top);
  printf("%g", top);
}
"""


@compiles
def test_a_value_that_is_swapped_is_read_atomically(tmp_path):
    made = from_cuda(LARGEST, "openmp").text
    assert "__float_as_uint(atomic_read(top))" in made
    (tmp_path / "a.cc").write_text(made)
    build = ["g++", "-O1", "-fopenmp", tmp_path / "a.cc", "-o", tmp_path / "a"]
    subprocess.run(build, check=True, capture_output=True)
    got = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True).stdout
    assert got == "30"


@compiles
def test_methods_are_code_of_the_device(tmp_path):
    """What they call is defined, also where no function of that name stands alone."""
    method = "struct Largest { __device__ void operator()(float *top, float value) {"
    text = LARGEST.replace("__device__ void largest(float *top, float value) {", method)
    text = text.replace("  }\n}\n__global__", "  }\n} };\n__global__")
    text = text.replace("{ largest(top,", "{ Largest()(top,")
    (tmp_path / "a.cc").write_text(from_cuda(text, "openmp").text)
    build = ["g++", "-fsyntax-only", "-fopenmp", tmp_path / "a.cc"]
    subprocess.run(build, check=True, capture_output=True)


def test_a_condition_on_openmp_is_decided_as_for_cuda():
    text = "#if defined(_OPENMP)\nint a;\n#endif\nint b;\n"
    assert "#if 0\nint a;" in from_cuda(text, "openmp").text
    assert "#if defined(_OPENMP)" in from_cuda(text, "openmp", ("-O2", "-fopenmp")).text


def test_pragmas_that_the_build_of_the_original_does_not_read_stay_unread():
    """A sum of the host in another order is another sum."""
    text = "#pragma omp parallel for \\\n  reduction(+:s)\nfor (int i = 0; i < 9; i++) s += i;\n"
    made = from_cuda(f"void f(int s) {{\n{text}}}\n", "openmp").text
    assert "pragma" not in made
    assert made.count("\n") == from_cuda("void f(int s) {\n\n\n\n}\n", "openmp").text.count("\n")
    assert "pragma" in from_cuda(f"void f(int s) {{\n{text}}}\n", "openmp", ("-fopenmp",)).text


def test_macros_that_nothing_names_need_no_rule():
    text = "#define OK(x) { cublasStatus_t s = x; }\n#define TWICE(x) OK(x) OK(x)\nint a;\n"
    assert "int a;" in from_cuda(text, "openmp").text
    with pytest.raises(DataError, match="line 1: cublasStatus_t: no rule for it"):
        from_cuda(f"{text}void f() {{ OK(0) }}\n", "openmp")


def test_a_problem_in_a_header_is_named_by_it():
    header = "\n__device__ int f(int v) { return __ballot_sync(~0u, v); }\n" + ASKED
    with pytest.raises(DataError, match=r"k\.h, line 2: __ballot_sync is of a warp"):
        from_cuda('#include "k.h"\n', "openmp", files={"k.h": header})


def test_the_start_of_a_copy_within_a_symbol_is_kept():
    text = "__constant__ float c[4];\nvoid f(float *h) { cudaMemcpyToSymbol(c, h, 4, 8); }\n"
    assert "memcpy((char *)&c + 8, h, 4);" in from_cuda(text, "serial").text


def test_definitions_stand_before_the_first_code_that_needs_them():
    text = (
        "#include <stdio.h>\nfloat4 a;\n#include <stdlib.h>\n__device__ float f() { return 1; }\n"
    )
    made = from_cuda(text, "serial").text
    assert made.index("struct float4") < made.index("float4 a;")


INNER = r"""
#include <cstdio>
#define AT(i, wide) (i + __mul24(i, wide))
__global__ void fill(int *a) {
  int t = AT(threadIdx.x, 0);
#define WIDE 4
#define EDGE (WIDE + 1)
  __shared__ int s[2 * EDGE];
  s[t] = t;
  __syncthreads();
  a[t] = t ? s[WIDE - t] : WIDE;
}
int main() {
  int h[4], *d;
  cudaMalloc(&d, sizeof h);
  fill<<<1, WIDE>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d", max(h[0], h[1]), min(h[2], 7L));
}
"""


@compiles
def test_macros_of_a_kernel_stand_before_it_and_what_the_host_has_of_cuda_is_known(tmp_path):
    made = from_cuda(INNER, "openmp").text
    (tmp_path / "a.cc").write_text(made)
    build = ["g++", "-O1", "-fopenmp", tmp_path / "a.cc", "-o", tmp_path / "a"]
    subprocess.run(build, check=True, capture_output=True)
    got = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True).stdout
    assert got == "4 2"
