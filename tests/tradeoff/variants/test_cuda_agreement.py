"""Barriers in loops and branches on what threads have read: they agree, or the program ends."""

import shutil
import subprocess

import pytest

from rheostat.errors import DataError
from rheostat.tradeoff.variants.from_cuda import from_cuda

pytest.importorskip("tree_sitter_cuda", reason="pip install 'rheostat[code]'")
compiles = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")

SORT = r"""
#include <cstdio>
__global__ void sorted(int *c, const int *count, const int *how) {
  __shared__ int again;
  int t = threadIdx.x, rounds;
  if (*count % 2 == 0) rounds = *count / 2;
  else rounds = *count / 2 + 1;
  if (t >= *count) return;
  for (int i = 0; i < rounds; i++) {
    for (int odd = 0; odd < 2; odd++) {
      if (t % 2 == odd && t + 1 < *count && c[t] > c[t + 1]) {
        int v = c[t];
        c[t] = c[t + 1];
        c[t + 1] = v;
      }
      __syncthreads();
    }
  }
  if (t == 0) again = how[0];
  __syncthreads();
  while (again) {
    int next = again - 1;
    __syncthreads();
    c[t] += 10;
    if (t == 0) again = next;
    __syncthreads();
    if (again == how[1]) break;
  }
  if (how[2 + c[0] % 2]) {
    c[t] += 100;
    __syncthreads();
    c[t] += c[0] > 100 ? 1000 : 0;
  } else {
    c[t] = 0;
  }
}
int main(int argc, char **argv) {
  const int n = 7;
  int h[n] = {5, 3, 9, 1, 6, 2, 8}, how[4] = {5, 2, 1, 1}, *c, *count, *k;
  cudaMalloc(&c, sizeof h);
  cudaMalloc(&count, sizeof n);
  cudaMalloc(&k, sizeof how);
  cudaMemcpy(c, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(count, &n, sizeof n, cudaMemcpyHostToDevice);
  cudaMemcpy(k, how, sizeof how, cudaMemcpyHostToDevice);
  sorted<<<1, 9>>>(c, count, k);
  cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost);
  for (int v : h) printf("%d ", v);
}
"""


def ran(text: str, folder) -> subprocess.CompletedProcess:
    (folder / "a.cc").write_text(from_cuda(text, "openmp").text)
    build = ["g++", "-w", "-O1", "-fopenmp", folder / "a.cc", "-o", folder / "a"]
    subprocess.run(build, check=True, capture_output=True)
    return subprocess.run([folder / "a"], check=False, capture_output=True, text=True, env={})


@compiles
def test_what_all_threads_read_alike_bounds_a_loop_around_a_barrier(tmp_path):
    values = [1, 2, 3, 5, 6, 8, 9]
    out = [v + 30 + 100 + (1000 if t >= 0 else 0) for t, v in enumerate(values)]
    assert [int(v) for v in ran(SORT, tmp_path).stdout.split()] == out


@compiles
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i < rounds", "i < rounds + (odd_one = !odd_one)"),
        ("how[2 + c[0] % 2]", "atomicAdd(c, 2) < 36"),
        ("again == how[1]", "atomicAdd(c, 1) == 34"),
    ],
)
def test_threads_that_part_before_a_barrier_end_the_program(old, new, tmp_path):
    assert old in SORT
    text = SORT.replace(old, new)
    if "odd_one" in new:
        text = text.replace("__global__", "__device__ int odd_one;\n__global__").replace(
            "rounds + (odd_one", "rounds - 3 * (odd_one"
        )
    run = ran(text, tmp_path)
    assert (run.returncode, run.stdout) == (-6, "")
    assert "threads of a block part before a barrier" in run.stderr


@pytest.mark.parametrize(
    "asked",
    ["again > threadIdx.x", "again > t", "again > 2 * rounds", "c[t]", "int own = c[1]"],
)
def test_what_hangs_on_the_index_of_a_thread_is_refused(asked):
    text = SORT.replace("while (again)", f"while ({asked})").replace(
        "rounds = *count / 2 + 1", "rounds = t"
    )
    with pytest.raises(DataError, match="a barrier that not all threads of a block may reach"):
        from_cuda(text, "openmp")
