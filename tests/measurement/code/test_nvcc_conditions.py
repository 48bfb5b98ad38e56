"""Branches that only NVIDIA's compiler reads: the host and the translation read them as it does."""

from __future__ import annotations

import pytest

from rheostat.measurement.code.device_kernels.cuda_on_host import parser_absent, rewritten
from rheostat.measurement.code.device_kernels.nvcc_conditions import as_nvcc_reads

HEAD = """#ifdef __CUDACC__
#define BOTH __host__ __device__
__global__ void work(int *a, int n)
#else
#define BOTH
void *work(void *p)
#endif
{
#ifndef __CUDACC__
  int i = *(int *)p;
#else
  int i = threadIdx.x;
#endif
  a[i] = n;
}
int main() {
  int *a;
#if defined(__CUDACC__)  // the device
  work<<<1, 32>>>(a, 3);
#endif
}
"""


@pytest.mark.parametrize(("text", "wanted"), [
    ("#if !defined(__NVCC__)\na\n#else\nb\n#endif", "\n\n\nb\n"),
    ("#if (defined __CUDACC__)\na\n#endif", "\na\n"),
    ("#ifndef __CUDACC__\n#ifdef X\na\n#else\nb\n#endif\n#endif\nc", "\n\n\n\n\n\n\nc"),
    ("#ifdef X\n#ifdef __CUDACC__\na\n#endif\n#endif", "#ifdef X\n\na\n\n#endif"),
    ("#if X || defined(__CUDACC__)\na\n#elif Y\nb\n#endif",
     "#if X || 1\na\n#elif Y\nb\n#endif"),
])  # fmt: skip
def test_what_nvcc_does_not_read_is_blank(text, wanted):
    assert as_nvcc_reads(text) == wanted


@pytest.mark.parametrize("text", ["#ifdef __CUDA_ARCH__\na\n#endif", "#ifdef X\na\n#endif"])
def test_other_conditions_stay(text):
    assert as_nvcc_reads(text) == text


@pytest.mark.skipif(bool(parser_absent()), reason=parser_absent() or "there")
def test_a_kernel_whose_head_has_two_texts_is_run_and_translated():
    from rheostat.tradeoff.variants.from_cuda import from_cuda

    assert "threadIdx_" not in rewritten(HEAD)
    assert "static void work(dim3 gridDim, dim3 blockDim, int *a, int n)" in (
        text := from_cuda(HEAD, "openmp").text
    )
    assert "work(1, 32, a, 3);" in text
    assert "void *work" not in text


@pytest.mark.skipif(bool(parser_absent()), reason=parser_absent() or "there")
def test_helpers_stand_behind_the_condition_of_the_last_include():
    from rheostat.tradeoff.variants.from_cuda import from_cuda

    text = '#include <cstdio>\n#ifdef OTHER\n#include "other.h"\n#endif\nint a;\n' + HEAD
    made = from_cuda(text, "openmp").text
    assert made.index("#endif") < made.index("struct dim3")
