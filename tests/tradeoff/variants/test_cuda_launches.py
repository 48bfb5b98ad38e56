"""How CUDA's programs launch kernels, as calls of functions with loops."""

import pytest

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
