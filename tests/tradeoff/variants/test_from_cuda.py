"""CUDA to OpenMP by rule: what it prints is what the serial program prints; the rest is refused."""

import re
import shutil
import subprocess

import pytest

from rheostat.errors import DataError
from rheostat.measurement.code.programs.kernel_suite import suite_kernels
from rheostat.tradeoff.variants.from_cuda import from_cuda

pytest.importorskip("tree_sitter_cuda", reason="pip install 'rheostat[code]'")
compiles = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")

ADD = """#include <cuda_runtime.h>
#define OK(x) do { cudaError_t e = (x); if (e != cudaSuccess) return 1; } while (0)
__global__ void add(const float *a, float *b, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  b[i] += a[i];
}
int main() {
  float *da, *db, h[3] = {0};
  OK(cudaMalloc((void **)&da, 12));
  if (cudaMalloc(&db, 12) != cudaSuccess) return 2;
  OK(cudaMemcpy(da, h, 12, cudaMemcpyHostToDevice));
  add<<<1, 32, 0, 0>>>(da, db, 3);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(da));
}
"""
WIDE = r"""
#include <cstdio>
__constant__ float taps[3];
__device__ __forceinline__ float square(float v) { return v * v; }
__global__ void smooth(const float *in, float *out, int n) {
  __shared__ float tile[34];
  int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + 1;
  float own = g < n ? in[g] : 0.f;
  tile[l] = own;
  if (threadIdx.x == 0) {
    tile[0] = g > 0 ? in[g - 1] : 0.f;
    tile[33] = g + 32 < n ? in[g + 32] : 0.f;
  }
  __syncthreads();
  if (g < n) out[g] = square(taps[0] * tile[l - 1] + taps[1] * own + taps[2] * tile[l + 1]);
}
__global__ void scan(float *data) {  // exclusive, of Blelloch
  extern __shared__ float temp[];
  int t = threadIdx.x, offset = 1, size = 2 * blockDim.x;
  temp[2 * t] = data[2 * t];
  temp[2 * t + 1] = data[2 * t + 1];
  for (int d = size >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) temp[size - 1] = 0;
  for (int d = 1; d < size; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int low = offset * (2 * t + 1) - 1, high = offset * (2 * t + 2) - 1;
      float before = temp[low];
      temp[low] = temp[high];
      temp[high] += before;
    }
  }
  __syncthreads();
  data[2 * t] = temp[2 * t];
  data[2 * t + 1] = temp[2 * t + 1];
}
template <typename T>
__global__ void largest(const T *x, int *top, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (x[i] < 0) return;
    atomicMax(top, (int)x[i]);
  }
}
__global__ void scale(float *x, float by, int n) {
  int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) x[i] *= by;
}
__global__ void steps(float *x, int rounds) {
  __shared__ float one[32];
  int i, tx = threadIdx.x;
  bool odd = tx % 2;
  one[tx] = x[tx];
  __syncthreads();
  for (i = 0; i < max(rounds, 1); i++) {
    float next = 0.f;
    for (int k = 0; k < 2; k++) next += one[(tx + k) % 32];
    __syncthreads();
    if (odd) one[tx] = next;
    if (i == 2) break;
    __syncthreads();
  }
  x[tx] = one[tx];
}
int main() {
  const int n = 64;
  float h[n], t[3] = {0.25f, 0.5f, 0.25f}, *x, *y;
  for (int i = 0; i < n; i++) h[i] = i % 9;
  int *top, highest;
  cudaMemcpyToSymbol(taps, t, sizeof t);
  cudaMalloc(&x, sizeof h); cudaMalloc(&y, sizeof h); cudaMalloc(&top, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(top, 0, 4);
  dim3 grid(2), block(32);
  smooth<<<grid, block>>>(x, y, n);
  steps<<<1, 32>>>(y, 9);
  scan<<<1, n / 2, n * sizeof(float)>>>(y);
  scale<<<3, 5>>>(y, 2.0f, n);
  largest<float><<<2, 16>>>(y, top, n);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(&highest, top, 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) printf("%g ", h[i]);
  printf("%d\n", highest);
}
"""


def kernel(body: str) -> str:
    return f"__global__ void k(int *a, int n) {{\n  int t = threadIdx.x;\n  {body}\n}}\n"


def printed(text: str, folder, *arguments: str, suffix: str = ".cc") -> str:
    source = folder / f"a{suffix}"
    source.write_text(text)
    compiler = "g++" if suffix == ".cc" else "gcc"
    build = [compiler, "-O1", "-fopenmp", source, "-o", folder / "a", "-lm"]
    subprocess.run(build, check=True, capture_output=True)
    return subprocess.run(
        [folder / "a", *arguments], check=True, capture_output=True, text=True,
        env={"OMP_NUM_THREADS": "3"},
    ).stdout  # fmt: skip


@compiles
@pytest.mark.parametrize("name", [n for n, k in suite_kernels().items() if "cuda" in k.versions])
def test_each_program_of_the_suite_prints_what_the_serial_one_does(name, tmp_path):
    versions = suite_kernels()[name]
    (cuda,), (serial,) = (versions.program(v).files.values() for v in ("cuda", "serial"))
    made = from_cuda(cuda, "openmp").text
    assert "pragma omp parallel for" in made
    got = printed(made, tmp_path, "137", "3", "5").split()
    want = printed(serial, tmp_path, "137", "3", "5", suffix=".c").split()
    assert [float(x) for x in got] == pytest.approx([float(x) for x in want], rel=1e-7)


@compiles
def test_barriers_shared_memory_and_symbols_against_plain_loops(tmp_path):
    h = [i % 9 for i in range(64)]
    padded = [0, *h, 0]
    smooth = [(0.25 * padded[i] + 0.5 * padded[i + 1] + 0.25 * padded[i + 2]) ** 2
              for i in range(64)]  # fmt: skip
    for _ in range(3):
        smooth[:32] = [smooth[i] + smooth[(i + 1) % 32] if i % 2 else smooth[i] for i in range(32)]
    sums = [2 * sum(smooth[:i]) for i in range(64)]
    for to in ("openmp", "serial"):
        *values, top = printed(from_cuda(WIDE, to).text, tmp_path).split()
        assert [float(v) for v in values] == pytest.approx(sums, rel=1e-5)
        assert int(top) == int(max(sums))


def test_the_runtime_becomes_the_hosts_and_checks_go():
    text = from_cuda(ADD, "openmp").text
    assert "OK(" not in text.replace("#define", "")
    assert "da = (decltype(da))malloc(12);" in text
    assert "if ((db = (decltype(db))malloc(12), 0) != 0) return 2;" in text
    assert "add(1, 32, da, db, 3);" in text
    assert "if (i >= n) continue;" in text
    assert not re.search(r"cuda|<<<|__global__", text)


def test_a_loop_over_a_share_of_the_elements_is_one_loop():
    text = from_cuda(WIDE, "openmp").text
    assert "for (int i = 0; i < n; i++) x[i] *= by;" in text


STRIDED = r"""
#include <cstdio>
__global__ void rows(const int *x, int *r, int n, int wide) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    x += i * wide;
    r[i] = x[0];
  }
}
int main() {
  int x[40], r[10], *dx, *dr;
  for (int i = 0; i < 40; i++) x[i] = i;
  cudaMalloc(&dx, sizeof x);
  cudaMalloc(&dr, sizeof r);
  cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
  rows<<<2, 8>>>(dx, dr, 10, 4);
  cudaMemcpy(r, dr, sizeof r, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 10; i++) printf("%d ", r[i]);
}
"""


@compiles
@pytest.mark.parametrize("to", ["openmp", "serial"])
def test_a_parameter_that_threads_move_in_a_strided_loop_is_each_threads_own(to, tmp_path):
    assert printed(from_cuda(STRIDED, to).text, tmp_path).split() == [str(4 * i) for i in range(10)]


def test_a_kernel_that_is_launched_with_one_block_has_no_loop_over_blocks():
    body = "__shared__ int s[8]; int t = threadIdx.x; s[t] = t; __syncthreads(); a[t] = s[7 - t];"
    text = f"__global__ void k(int *a) {{ {body} }}\nint main() {{ k<<<{{}}, 8>>>(0); }}\n"
    assert "block_x" not in from_cuda(text.replace("{}", "1"), "openmp").text
    assert "block_x < gridDim.x" in from_cuda(text.replace("{}", "2"), "openmp").text
    assert "i < (int)(blockDim.x)" in from_cuda(ADD, "openmp").text
    named = text.replace("{}", "g").replace("main() {", "main() { dim3 g (1);")
    assert "block_x" not in from_cuda(named, "openmp").text
    for change in ("g.y = 2;", "g = dim3(3);", "} void f(dim3 g) {"):
        made = from_cuda(named.replace("(1);", f"(1); {change}"), "openmp").text
        assert "block_x < gridDim.x" in made


def test_axes_along_which_a_launch_has_one_have_no_loop():
    """One that counts to 1 whatever the input would be doubted by `code verify`."""
    body = "__shared__ int s[8]; s[threadIdx.x] = 1; __syncthreads(); a[blockIdx.y] = s[7];"
    text = f"__global__ void k(int *a) {{ {body} }}\nvoid f(int n) {{ DECLARED k<<<g, b>>>(0); }}\n"
    made = from_cuda(text.replace("DECLARED", "dim3 g(n / 8, (n + 1) / 2), b(8);"), "openmp").text
    assert re.findall(r"for \(unsigned (\w+) ", made) == [
        "block_y",
        "block_x",
        "thread_x",
        "thread_x",
    ]
    for block in ("dim3 b(8, n);", "dim3 b(8); b.y = n;", "dim3 b = wide(n);", "int b = 8;"):
        made = from_cuda(text.replace("DECLARED", f"dim3 g(1, n); {block}"), "openmp").text
        assert "thread_y < blockDim.y" in made
        assert "block_x" not in made


def test_a_factor_that_is_one_in_every_launch_stands_in_no_bound():
    body = "int j = blockIdx.y * blockDim.y + threadIdx.y; if (threadIdx.x == 0) a[j] = 1;"
    body = body.replace("threadIdx.x == 0", "blockIdx.x * blockDim.x + threadIdx.x < n")
    text = f"__global__ void k(int *a, int n) {{ {body} }}\n"
    text += "void f(int n) { dim3 g(n, n), b(8, 1); k<<<g, b>>>(0, n); }\n"
    made = from_cuda(text, "openmp").text
    assert "index_y < (long)(gridDim.y);" in made
    assert "index_x < (long)(gridDim.x * blockDim.x);" in made
    made = from_cuda(text.replace("b(8, 1)", "b(1)"), "openmp").text
    assert "index_x < (long)(gridDim.x);" in made


def test_comments_and_strings_of_a_kernel_name_no_index():
    said = 'int i = threadIdx.x + blockIdx.x * blockDim.x; // blockIdx.y\n printf("threadIdx");'
    made = from_cuda(f"__global__ void k() {{ {said} }}\n", "openmp").text
    assert "for (int i = 0; i < (int)(gridDim.x * blockDim.x); i++)" in made
    made = from_cuda("// of __host__ or __device__ \n__host__ __device__ int f();\n", "serial").text
    assert made.splitlines()[-1] == "int f();"


def test_a_variable_that_is_named_as_the_runtime_names_its_own_is_the_programs():
    made = from_cuda("int main() { cudaError_t cudaStatus = cudaDeviceSynchronize();\n"
                     "  return cudaStatus; }\n", "openmp")  # fmt: skip
    assert "return cudaStatus;" in made.text


UNITS = {
    "k.h": "#ifndef K\n#define K\n#include <cuda.h>\nstruct Pair { int a, b; };\n"
    "__global__ void sums(Pair *p, int n);\nint least(int a, int b);\n#endif\n",
    "k.cu": '#include "k.h"\nint least(int a, int b) { return a < b ? a : b; }\n'
    "__global__ void sums(Pair *p, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) p[i].a += p[i].b;\n}\n",
}
UNIT_MAIN = r"""
#include <cstdio>
#include "k.h"
int main() {
  Pair h[5], *d;
  for (int i = 0; i < 5; i++) h[i] = {i, least(i, 2)};
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  sums<<<1, 8>>>(d, 5);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  for (auto &p : h) printf("%d ", p.a);
}
"""


@compiles
def test_a_second_source_in_cuda_becomes_one_with_the_first(tmp_path):
    made = from_cuda(UNIT_MAIN, "openmp", files=UNITS).text
    assert made.count("struct Pair") == 1
    assert printed(made, tmp_path) == "0 2 4 5 6 "
    more = {**UNITS, "k.cu": UNITS["k.cu"] + "void f() { cudaGridSync(); }\n"}
    with pytest.raises(DataError, match=r"k\.cu, line 7: cudaGridSync"):
        from_cuda(UNIT_MAIN, "openmp", files=more)


REUSED = r"""
#include <cstdio>
__global__ void planes(const int *in, int *out, int deep) {
  __shared__ int row[8];
  int k, at;
  k = threadIdx.x * 3;
  at = k % 8;
  for (k = 0; k < deep; k++) {
    row[threadIdx.x] = in[8 * k + threadIdx.x];
    __syncthreads();
    out[8 * k + threadIdx.x] = row[at] + k;
    __syncthreads();
  }
  for (k = deep; k < 3; k++) out[k] = 0;
}
int main() {
  int h[24], *in, *out;
  for (int i = 0; i < 24; i++) h[i] = 10 * i;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof h);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  planes<<<1, 8>>>(in, out, 3);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  for (int v : h) printf("%d ", v);
}
"""


@compiles
def test_a_variable_of_a_thread_may_count_a_loop_around_a_barrier_later(tmp_path):
    want = [10 * (8 * k + 3 * t % 8) + k for k in range(3) for t in range(8)]
    assert [int(x) for x in printed(from_cuda(REUSED, "openmp").text, tmp_path).split()] == want


def test_what_hangs_on_the_index_is_recomputed_and_the_rest_kept():
    text = from_cuda(WIDE, "openmp").text
    smooth = text[text.index("void smooth") : text.index("void scan")]
    assert smooth.count("const int l = threadIdx.x + 1;") == 2
    assert "std::vector<float> own_of(blockDim.x);" in smooth
    assert smooth.count("auto &own = own_of[thread_x];") == 2
    assert "own = g < n ? in[g] : 0.f;" in smooth


@pytest.mark.parametrize("body", [
    "a[4 * blockIdx.x + threadIdx.x] = 1;",  # another index than that of the whole launch
    "__shared__ int s[1]; int i = blockIdx.x * blockDim.x + threadIdx.x; a[i] = s[0];",
    "int i = blockIdx.x * blockDim.x + threadIdx.x; a[i] = 1; __syncthreads();",
])  # fmt: skip
def test_what_hangs_on_blocks_has_loops_over_blocks_and_threads(body):
    text = from_cuda(f"__global__ void k(int *a) {{\n  {body}\n}}\n", "openmp").text
    assert "for (unsigned block_x = 0; block_x < gridDim.x; block_x++) {" in text
    assert "for (unsigned thread_x = 0; thread_x < blockDim.x; thread_x++) {" in text


def test_a_variable_of_one_phase_is_not_kept_for_the_next():
    body = "__shared__ int s[9]; int one = a[t], both = 2 * t; s[t] = one + both; __syncthreads();"
    text = from_cuda(kernel(f"{body} a[t] = both + a[t] + s[0];"), "openmp").text
    assert "int one = a[t];" in text
    assert "std::vector" not in text  # `both` hangs on t alone and is computed anew
    text = from_cuda(kernel(f"{body} a[t] = one + s[0];"), "openmp").text
    assert text.count("std::vector<") == 1
    assert "std::vector<int> one_of(blockDim.x);" in text


KEPT = r"""#include <stdio.h>
__device__ void mark(bool *far) { *far = true; }
__global__ void k(int *a) {
  __shared__ int s[16];
  int t = threadIdx.y * blockDim.x + threadIdx.x, sums[2][2];
  bool far = false;
  for (int i = 0; i < 4; i++) sums[i / 2][i % 2] = t * i;
  if (t > 5) mark(&far);
  s[t] = t;
  __syncthreads();
  sums[1][0] += s[(t + 1) % 16];
  __syncthreads();
  a[t] = far ? -sums[1][0] : sums[1][1] + sums[1][0];
}
int main() {
  int h[16], *d;
  cudaMalloc(&d, sizeof h);
  k<<<1, dim3(4, 4)>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  for (int x : h) printf("%d ", x);
}
"""


@compiles
def test_an_array_and_a_flag_whose_address_is_taken_are_kept_over_barriers(tmp_path):
    of = [2 * t + (t + 1) % 16 for t in range(16)]
    want = [3 * t + of[t] if t < 6 else -of[t] for t in range(16)]
    made = from_cuda(KEPT, "openmp").text
    assert "std::deque<bool> far_of(" in made
    assert "struct sums_of_thread { int own[2][2]; };" in made
    assert "new" not in made  # its check for room never holds, which `code verify` would doubt
    assert "  sums[1][0] += s[(t + 1) % 16];\n" in made  # lines stay the kernel's own
    assert [int(x) for x in printed(made, tmp_path).split()] == want


ASKED = r"""#include <stdio.h>
#ifdef WITH_DNN
#include <cudnn.h>
#endif
__global__ void k(int *a) { a[threadIdx.x] = threadIdx.x / warpSize; }
int main() {
  cudaDeviceProp of;
  int most, h[64], *d;
  cudaGetDeviceProperties(&of, 0);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlock, 0);
#ifdef WITH_DNN
  cudnnCreate();
#endif
  cudaMalloc(&d, sizeof h);
  k<<<1, 64>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%s %d %d %d", of.name, of.maxGridSize[1], most, h[31] + h[32]);
}
"""


@compiles
def test_a_device_is_asked_for_what_every_one_has(tmp_path):
    assert printed(from_cuda(ASKED, "openmp").text, tmp_path) == "CPU 65535 49152 1"
    with pytest.raises(DataError, match="line 18: clockRate: no rule for it"):
        from_cuda(ASKED.replace("of.name, ", "of.name,\n  of.clockRate, "), "openmp")
    with pytest.raises(DataError, match="line 10: cudaDeviceGetAttribute: no rule for it"):
        from_cuda(ASKED.replace("MaxSharedMemoryPerBlock", "ClockRate"), "openmp")


def test_a_library_that_the_build_asks_for_is_refused():
    with pytest.raises(DataError, match=r"line 3: cudnn\.h is cuDNN"):
        from_cuda(ASKED, "openmp", ("-O2", "-DWITH_DNN"))
    with pytest.raises(DataError, match=r"line 4: cudnn\.h is cuDNN"):
        from_cuda("#define WITH_DNN\n" + ASKED, "openmp")


def test_calls_that_do_nothing_leave_no_line_and_a_statement_where_one_is_needed():
    text = from_cuda("""int main(int n, char **v) {
  if (n) cudaDeviceSynchronize();
  cudaDeviceSynchronize(); n = 1;
  cudaDeviceSynchronize();
  n = 2;
}
""", "openmp").text  # fmt: skip
    assert text[text.index("int main") :] == (
        "int main(int n, char **v) {\n  if (n) ;\n   n = 1;\n  n = 2;\n}\n"
    )


def test_bounds_of_a_launch_and_hints_to_unroll_go_and_lines_stay():
    text = """__global__ void __launch_bounds__(256,
    2) k(int *a) {
  #pragma unroll 4
  for (int i = 0; i < 4; i++) a[i] += __match_any_sync(~0u, a[i]);
}
"""
    with pytest.raises(DataError, match="line 4: __match_any_sync is of a warp"):
        from_cuda(text, "openmp")
    made = from_cuda(text.replace("__match_any_sync(~0u, a[i])", "1"), "openmp").text
    assert not re.search("launch_bounds|unroll", made)


def test_a_loop_within_a_phase_may_be_left():
    body = "for (int k = 0; k < n; k++) { if (a[k] > 3) break; a[t] = k; }\n  __syncthreads();"
    text = from_cuda(kernel(f"{body} a[t] += 1;"), "openmp").text
    assert "if (a[k] > 3) break;" in text
    assert text.count("for (unsigned thread_x = 0;") == 2


@pytest.mark.parametrize(("head", "call", "included"), [
    ("", "n = 1;", []), ("", "cudaFree(p);", ["stdlib.h"]),
    ("#include <cstdlib>\n", "cudaFree(p);", ["cstdlib"]),
    ("#include <stdlib.h>\n", "cudaFree(p);", ["stdlib.h"]),
    ("#include <cstdio>\n", "cudaMemset(p, 0, n);", ["cstdio", "string.h"]),
    ("#include <string>\n", "cudaMemset(p, 0, n);", ["string", "string.h"]),
    ("#include <cuda_runtime.h>\n", "cudaEventRecord(e);", ["omp.h"]),
])  # fmt: skip
def test_headers_are_those_that_are_used_once_each(head, call, included):
    text = from_cuda(f"{head}void f(int n, float *p, double e) {{ {call} }}\n", "openmp").text
    assert re.findall(r"#include <([\w.]+)>", text) == included


@pytest.mark.parametrize(("statement", "call"), [
    ("if (i > n) return;", "continue;"), ("while (n) if (i > n) return;", "[&] {"),
    ("switch (n) { case 1: return; }", "[&] {"), ("n += 1; if (i > n) return;", "[=]() mutable {"),
])  # fmt: skip
def test_a_thread_that_returns_goes_on_with_the_next(statement, call):
    index = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    text = from_cuda(
        f"__global__ void k(int *a, int n) {{ {index} {statement} a[i] = n; }}", "serial"
    ).text
    assert call in text
    assert ("return;" in text) is ("{" in call)


def test_code_right_behind_a_deleted_check_is_translated():
    text = "void check(cudaError_t e) { if (e) throw 1; }\n\ncudaError_t last;\n"
    assert from_cuda(text, "serial").text.endswith("int last;\n")
    assert "check" not in from_cuda(text, "serial").text


ENDS = r"""
#include <cstdio>
__global__ void k(int *a, int n) {
  __shared__ int s[8];
  int t = threadIdx.x, gone = 2 * t;
  s[t] = 0;
  if (t >= n) return;
  s[t] = 1;
  __syncthreads();
  for (int i = 0; i < 3; i++) {
    a[t] += s[(t + 1) % 8];
    for (int j = 0; j < 2; j++)
      if (t == i && j) return;
    __syncthreads();
    a[t] += 10;
  }
  for (int j = 0; j < 5; j++) {
    if (j == t) return;
    a[t] += 100 + gone;
  }
}
int main() {
  int h[8] = {0}, *d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 8>>>(d, 6);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  for (int x : h) printf("%d ", x);
}
"""


@compiles
@pytest.mark.parametrize("to", ["openmp", "serial"])
def test_a_thread_that_ends_before_a_barrier_takes_part_in_nothing_after_it(to, tmp_path):
    want = []
    for t in range(8):
        near = int((t + 1) % 8 < 6)
        rounds = min(t, 3)
        value = rounds * (near + 10) + (near if t < 3 else min(t, 5) * (100 + 2 * t))
        want.append(value if t < 6 else 0)
    got = printed(from_cuda(ENDS, to).text, tmp_path).split()
    assert [int(x) for x in got] == want


@compiles
def test_a_condition_that_says_the_same_behind_a_barrier_ends_threads_again(tmp_path):
    body = """__shared__ int s[8];
  int t = threadIdx.x;
  if (t >= n) return;
  s[t] = a[t];
  __syncthreads();
  int next = s[(t + 1) % n];
  __syncthreads();
  for (int i = 0; i < 3; i++) { if (i > t) return; a[t] += next; }"""
    text = f"""#include <stdio.h>
__global__ void k(int *a, int n) {{
  {body}
}}
int main() {{
  int h[8] = {{1, 2, 3, 4, 5, 6, 7, 8}}, *d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 8>>>(d, 5);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  for (int x : h) printf("%d ", x);
}}
"""
    made = from_cuda(text, "openmp").text
    assert made.count("if (t >= n) continue;") == 3
    assert "gone" not in made
    assert printed(made, tmp_path).split() == ["3", "8", "15", "19", "8", "6", "7", "8"]
    changing = text.replace("__syncthreads();\n  int", "__syncthreads(); t += 0;\n  int")
    assert "gone[thread_x] = 1" in from_cuda(changing, "openmp").text


def test_a_name_of_an_inner_scope_is_another_variable():
    body = """__shared__ int s[32];
  for (int i = t; i < n; i += 32) s[i % 32] = i;
  __syncthreads();
  int near = a[t];
  for (int i = 0; i < n; i++) {
    if (t == i) { int near = 3; s[t] += near; }
    __syncthreads();
  }
  a[t] = s[t] + near;"""
    text = from_cuda(kernel(body), "openmp").text
    assert "for (int i = 0; i < n; i++) {" in text
    assert "near = a[t];" in text
    assert text.count("auto &near = near_of[thread_x];") == 2  # the loop's names another
    assert "{ int near = 3; s[t] += near; }" in text
    assert "a[t] = s[t] + near;" in text
    inner = "{ int v = a[t]; s[t] = v; } __syncthreads(); int v = s[n]; __syncthreads(); a[t] = v;"
    made = from_cuda(kernel(f"__shared__ int s[9]; {inner}"), "openmp").text
    assert "int v = a[t]; s[t] = v;" in made
    assert "v = s[n];" in made
    assert made.count("auto &v = v_of[thread_x];") == 2


OWN = """#include <stdio.h>
__global__ void k(int *__restrict__ a, unsigned int n, const int from) {
  __shared__ int s[8];
  int t = threadIdx.x;
  a += blockIdx.x * blockDim.x;
  n -= t;
  s[t] = n;
  __syncthreads();
  if (t > 0) n += s[t - 1];
  a[t] = n + from;
}
int main() {
  int h[16], *d;
  cudaMalloc(&d, sizeof h);
  k<<<2, 8>>>(d, 100, 1000);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  for (int x : h) printf("%d ", x);
}
"""


@compiles
@pytest.mark.parametrize("to", ["openmp", "serial"])
def test_a_parameter_that_threads_change_beside_a_barrier_is_each_threads_own(to, tmp_path):
    made = from_cuda(OWN, to).text
    assert "int *__restrict__ a_given, unsigned int n_given, const int from)" in made
    of_block = [1100 - t + (101 - t if t else 0) for t in range(8)]
    assert [int(x) for x in printed(made, tmp_path).split()] == of_block * 2


def test_a_cast_of_what_is_the_same_in_a_block_is_the_same():
    loop = "for (int i = 0; i < m; i++) { __syncthreads(); a[t] += i; }"
    for cast in ("static_cast<int>(blockDim.x)", "int(blockDim.x)"):
        assert "i < m" in from_cuda(kernel(f"const int m = {cast}; {loop}"), "openmp").text


def test_what_is_recomputed_in_a_phase_brings_what_it_hangs_on():
    body = "int *p = a + t; int *q = p; q[0] = 1; __syncthreads(); q[1] += 2;"
    assert from_cuda(kernel(body), "openmp").text.count("int *p = a + t;") == 2


def test_a_library_is_refused_where_a_name_of_it_is_used():
    text = "#include <curand.h>\n#include <cooperative_groups.h>\n" + kernel(
        "a[t] = n;  // cg::sync"
    )
    assert "include <cu" not in (made := from_cuda(text, "openmp").text)
    assert "cooperative" not in made
    with pytest.raises(DataError, match="cooperative groups, which has no rule"):
        from_cuda(text.replace("// ", ""), "openmp")


def test_a_launch_of_one_thread_is_no_loop():
    for body, made in (
        ("for (int i = 1; i < n; i++) a[i] += a[i - 1];", "for (int i = 1; i < n; i++)"),
        ("int i = blockIdx.x * blockDim.x + threadIdx.x; if (n < 1) return; a[i] = n;",
         "const long index_x = 0;"),
    ):  # fmt: skip
        text = f"__global__ void k(int *a, int n) {{ {body} }}\nvoid f() {{ k<<<1, 1>>>(a, 3); }}"
        got = from_cuda(text, "openmp").text
        assert made in got
        assert "pragma" not in got
        assert "continue" not in got
        assert "pragma omp" in from_cuda(text.replace("1, 1", "1, 2"), "openmp").text


def test_serial_has_no_pragma():
    assert "#pragma" not in from_cuda(ADD, "serial").text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("a[t] = __match_any_sync(~0u, t);", "line 3: __match_any_sync is of a warp"),
        ("a[t] = n && __any_sync(~0u, t);", "line 3: __any_sync is of a warp"),
        ("int v[] = {1}; v[0] = t; __syncthreads(); a[t] = v[0];", "v is kept over a barrier and"),
        (
            "\n#define N n\nn -= t; __syncthreads(); a[t] = N;",
            "n is a parameter that threads change",
        ),
        ("switch (n) { case 1: __syncthreads(); }", "a barrier within this statement"),
        ("for (int i = 0; i < n; i++) { int t = a[i]; __syncthreads(); a[t] = 1; }", "t hides"),
        ("cudaGridSync(); a[t] = 1;", "cudaGridSync: no rule for it"),
    ],
)
def test_what_no_rule_knows_is_refused_with_its_line(body, reason):
    with pytest.raises(DataError, match=re.escape(reason)):
        from_cuda(kernel(body), "openmp")


def test_a_pointer_before_a_strided_loop_is_no_index():
    """Its declarator is no name: as a pattern it was none either."""
    text = ADD.replace(
        "int i = threadIdx.x + blockIdx.x * blockDim.x;\n  if (i >= n) return;\n  b[i] += a[i];",
        "float *p = b;\n  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; "
        "i += blockDim.x * gridDim.x) p[i] += a[i];",
    )
    assert "p[i] += a[i]" in from_cuda(text, "openmp").text
