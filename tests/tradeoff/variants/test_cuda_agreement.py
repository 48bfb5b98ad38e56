"""Barriers in loops and branches on what threads have read: they agree, or the program ends."""

import re
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


def ran(text: str, folder, *given: str) -> subprocess.CompletedProcess:
    (folder / "a.cc").write_text(from_cuda(text, "openmp").text)
    build = ["g++", "-w", "-O1", "-fopenmp", folder / "a.cc", "-o", folder / "a"]
    subprocess.run(build, check=True, capture_output=True)
    return subprocess.run(
        [folder / "a", *given], check=False, capture_output=True, text=True, env={}
    )


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
    assert (run.returncode, run.stdout) == (1, "")
    assert "threads of a block part before a barrier" in run.stderr


@compiles
@pytest.mark.parametrize("asked", ["again > threadIdx.x", "again > t", "again > 2 * rounds"])
def test_what_hangs_on_the_index_of_a_thread_is_asked_of_each(asked, tmp_path):
    text = SORT.replace("while (again)", f"while ({asked})").replace(
        "rounds = *count / 2 + 1", "rounds = t"
    )
    run = ran(text, tmp_path)
    assert run.returncode == 1
    assert re.fullmatch(r"line \d+: threads of a block part before a barrier\n", run.stderr)


def test_a_condition_that_declares_is_refused():
    with pytest.raises(DataError, match="a barrier that not all threads of a block may reach"):
        from_cuda(SORT.replace("while (again)", "while (int own = c[1])"), "openmp")


TURNS = r"""
#include <cstdio>
#include <cstdlib>
__global__ void k(int *a, const int *b, int n) {
  extern __shared__ int part[];
  int t = threadIdx.x, left = n, rounds = 0;
  for (int i = t; i < n; i += blockDim.x) {
    part[t] = b[i];
    __syncthreads();
    a[i] = part[(t + 1) % blockDim.x];
    __syncthreads();
  }
  do {
    part[t] = a[t] + rounds;
    __syncthreads();
    left -= part[0] % 2 ? 2 : 3;
    __syncthreads();
    if (left == 7) break;
    rounds++;
  } while (left > 0);
  int i = t + blockDim.x * 0;
  while (i < n) {
    __syncthreads();
    a[i] += 100 * rounds;
    i += blockDim.x;
  }
  if (t < n) {
    part[t] = a[t];
    __syncthreads();
    if (t + 1 < blockDim.x) a[t] += 10000 * (part[t + 1] > part[t]);
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), h[64], *a, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  for (int i = 0; i < n; i++) h[i] = i * 7 % 10;
  cudaMemcpy(b, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, atoi(argv[2]), 64 * sizeof(int)>>>(a, b, n);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) printf("%d ", h[i]);
}
"""


def wanted(n: int, threads: int) -> list[int]:
    b = [i * 7 % 10 for i in range(n)]
    a = [b[i // threads * threads + (i % threads + 1) % threads] for i in range(n)]
    left, rounds, first = n, 0, a[0]
    while True:
        left -= 2 if (first + rounds) % 2 else 3
        if left == 7:
            break
        rounds += 1
        if left <= 0:
            break
    a = [v + 100 * rounds for v in a]
    more = [10000 * (a[t + 1] > a[t]) if t + 1 < threads else 0 for t in range(threads)]
    return [v + (more[i] if i < threads else 0) for i, v in enumerate(a)]


@compiles
def test_loops_around_barriers_that_each_thread_counts(tmp_path):
    assert ran(TURNS, tmp_path, "16", "4").stdout.split() == [str(v) for v in wanted(16, 4)]
    for n, threads in ((12, 4), (8, 8), (15, 5)):
        run = subprocess.run([tmp_path / "a", str(n), str(threads)], check=True,
                             capture_output=True, text=True)  # fmt: skip
        assert run.stdout.split() == [str(v) for v in wanted(n, threads)]
    parted = subprocess.run([tmp_path / "a", "6", "4"], check=False, capture_output=True, text=True)
    assert (parted.returncode, parted.stdout) == (1, "")
    assert "threads of a block part before a barrier" in parted.stderr


@pytest.mark.parametrize(("old", "new", "match"), [
    ("if (left == 7) break;", "if (left == 7) continue;", "line 18: a turn is left"),
    ("int i = t; i < n; i += blockDim.x", "int q = 0, i = t; i < n; q++, i += blockDim.x",
     "line 7: a loop around a barrier"),
])  # fmt: skip
def test_a_turn_that_is_left_and_mixed_counters_are_refused(old, new, match):
    assert old in TURNS
    with pytest.raises(DataError, match=match):
        from_cuda(TURNS.replace(old, new), "openmp")
