"""CUDA on the host: what is rewritten, and mistakes that a GPU would not name."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import Program, Verifier, verifier
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.device_kernels.cuda_on_host import parser_absent, rewritten
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.reached.marked_runs import unreached
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent, symbolizer_absent
from rheostat.tradeoff.variants.from_cuda import from_cuda

SUM = """#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
__global__ void sum(const double *a, double *out, int n) {
  __shared__ double s[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? a[i] : 0;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, s[0]);
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  double *a = (double *)malloc(n * sizeof *a), *d, *o, r = 0;
  for (int i = 0; i < n; i++) a[i] = i * 37 % 101;
  cudaMalloc(&d, n * sizeof *d);
  cudaMalloc(&o, sizeof *o);
  cudaMemcpy(d, a, n * sizeof *d, cudaMemcpyHostToDevice);
  cudaMemset(o, 0, sizeof *o);
  if (n < 9)
    sum<<<1, 128>>>(d, o, n);
  else
    sum<<<(n + 127) / 128, 128>>>(d, o, n);
  cudaMemcpy(&r, o, sizeof r, cudaMemcpyDeviceToHost);
  printf("%.12g\\n", r);
  free(a);
  return isnan(0.5);
}
"""
LACKING = Bubblewrap().why() or absent("g++", "clang++") or parser_absent()
needs = pytest.mark.skipif(bool(LACKING), reason=LACKING)
INPUTS = ProgramInputs({"n": InputRange(300, 900)}, ("{n}",))


def program(text: str) -> Program:
    return Program({"sum.cu": text}, "cuda", inputs=INPUTS, name="sum")


@pytest.fixture(scope="module")
def checked():
    with verifier(program(SUM), seed=1, count=1) as one:
        one.reference.clean = False  # ASan's builds are tested with OpenMP's
        yield one


@pytest.mark.slow
@needs
@pytest.mark.parametrize(
    ("old", "new", "rung", "said"),
    [
        ("i * 37", "37 * i", "", ""),
        ("atomicAdd(out, s[0])", "*out += s[0]", "races",
         "data race" if symbolizer_absent() else "sum.cu:13: data race"),
        ("cudaMemcpy(d, a, n * sizeof *d, cudaMemcpyHostToDevice);", "", "output", "got '-nan'"),
        ("(d, o, n)", "(a, o, n)", "output", "argument 1 points at memory of the host"),
        ("s[t] += s[t + k];\n    __syncthreads();", "s[t] += s[t + k];", "threads",
         "threads shuffled"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_by_its_rung(checked: Verifier, old, new, rung, said) -> None:
    assert old in SUM
    rungs = {"threads": ("output", "threads"), "output": ("output",)}.get(rung, ("output", "races"))
    verdict = checked.verify(program(SUM.replace(old, new)), rungs=rungs, all_rungs=True)
    failed = [e for e in verdict.evidence if e.state == "failed"]
    assert ([e.rung for e in failed][-1:] or [""]) == [rung]
    assert any(said in f.words for f in verdict.findings) == bool(said)


@pytest.mark.skipif(bool(parser_absent()), reason=parser_absent())
@pytest.mark.slow
@needs
def test_what_no_input_decides_in_a_kernel_is_named_by_its_line(checked: Verifier) -> None:
    text = SUM.replace("(t == 0)", "(t == 0 && n != 777)")
    for candidate, lines in ((text, [13]), (SUM.replace("t == 0", "!t"), [])):
        assert [f.line for f in unreached(Case(program(candidate), checked.reference))] == lines
    loops = Program({"sum.cc": from_cuda(SUM, "openmp").text}, "openmp", inputs=INPUTS)
    assert not unreached(Case(loops, checked.reference))  # a call stands for a launch


FAILURES = SUM.replace("#include <stdio.h>", "#include <stdio.h>\n#include <new>").replace(
    "  cudaMalloc(&d,",
    """  cudaError_t s;
  try {
    s = cudaSetDevice(0);
    if (n % 599 == 3) throw std::bad_alloc();
    if (s != cudaSuccess) {
      printf("%s\\n", cudaGetErrorString(s));
    }
  } catch (std::bad_alloc &) {
    printf("no room\\n");
    cudaFree(d);
  }
  cudaMalloc(&d,""",
)


@pytest.mark.skipif(bool(parser_absent()), reason=parser_absent())
@pytest.mark.slow
@needs
def test_what_the_original_has_and_never_reaches_is_its_own_but_nothing_beside_it() -> None:
    made = from_cuda(FAILURES, "openmp").text
    wrong = [("if (s != 0)", "if (s != 0 || n % 587 == 5)"), ("    free(d);", "    a[0] = n;")]
    with verifier(program(FAILURES), seed=1, count=1) as one:
        for old, new in [("", ""), *wrong]:
            assert old in made
            candidate = Program({"sum.cc": made.replace(old, new, 1)}, "openmp", inputs=INPUTS)
            lines = [f.line for f in unreached(Case(candidate, one.reference))]
            assert lines == [made[: made.index(old)].count("\n") + 1] * bool(old)


def test_every_line_stays_where_it_was() -> None:
    text = """#define RUN(n) k<float><<<1, n>>>(0, n)
template <class T> __global__ void __launch_bounds__(64) k(T *p, int n) {
  extern __shared__ __align__(16) T more[];
  __shared__ float tile[16][17], one;
}
void f(int n) {
  k<double><<<dim3(n),
              32, n * 4>>>(
      nullptr, n);
  RUN(3); puts("a<<<b>>>(c)"); // k<<<1, 1>>>()
}
"""
    made = rewritten(text)
    assert made.count("\n") == text.count("\n")
    assert made.splitlines()[-1] == text.splitlines()[-1]
    assert "k<float>(x...)" in made.splitlines()[0]
    assert "T *more = (T *)cuda_on_host::dynamic_shared();" in made.splitlines()[2]
    assert "float (&tile)[16][17] = cuda_on_host::shared<float[16][17]," in made
    assert 'Config(dim3(n),\n              32, n * 4), "k"' in made
    assert 'puts("a<<<b>>>(c)"); // k<<<1, 1>>>()' in made


def test_variables_of_the_host_may_be_named_as_indices_of_the_device() -> None:
    host = "void f(int n) { dim3 gridDim(n), blockDim(8); k<<<gridDim, blockDim>>>(n); }\n"
    made = rewritten("__global__ void k(int n) { dim3 b = blockDim; }\n" + host)
    assert "dim3 b = blockDim;" in made
    assert "dim3 gridDim_(n), blockDim_(8);" in made
    assert "Config(gridDim_, blockDim_)" in made


def test_the_angles_of_a_launch_may_stand_apart() -> None:
    made = rewritten("void f(int n) {\n  k << <n, 8 >> > (n);\n}\n")
    assert 'Config(n, 8 ), "k"' in made
