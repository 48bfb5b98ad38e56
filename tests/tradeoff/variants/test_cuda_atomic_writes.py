"""What several threads of CUDA mark alike is written atomically; other races stay in sight."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_cuda", reason="pip install 'rheostat[code]'")

from rheostat.tradeoff.variants.cuda_atomic_writes import with_atomic_marks
from rheostat.tradeoff.variants.from_cuda import from_cuda

KERNEL = """__global__ void k(const int *next, int *seen, bool *more, int level, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  {0}
}}
"""


def made(statement: str) -> str:
    return with_atomic_marks(KERNEL.format(statement)).splitlines()[3].strip()


@pytest.mark.parametrize(("statement", "wanted"), [
    ("*more = true;", "atomic_set(&*more);"), ("*more = false;", "atomic_clear(&*more);"),
    ("if (!seen[next[i]]) seen[next[i]] = level + 1;",
     "if (!atomic_read(&seen[next[i]])) atomic_write(&seen[next[i]], level + 1);"),
    ("for (int j = 0; j < i; j++) seen[i * j] = 0;",
     "for (int j = 0; j < i; j++) atomic_write(&seen[i * j], 0);"),
    ("seen[0] = -1;", "atomic_write(&seen[0], -1);"),
])  # fmt: skip
def test_marks_that_many_threads_set_alike_are_atomic(statement, wanted):
    assert made(statement) == wanted


@pytest.mark.parametrize("statement", [
    "seen[i] = 0;", "seen[n * i + 1] = 0;", "seen[blockIdx.x] = 0;",
    "for (int j = i; j < n; j += blockDim.x * gridDim.x) seen[j] = 0;",
])  # fmt: skip
def test_what_is_each_threads_own_stays_plain(statement):
    assert made(statement) == statement


@pytest.mark.parametrize("statement", [
    "seen[next[i]] = i;", "seen[next[i]] = next[n];", "seen[0] += 1;", "seen[0]++;",
    "if (i % 2) seen[0] = 1; else seen[0] = 2;", "{ seen[0] = 1; seen[i] += 1; }",
    "{ int own = i; seen[0] = own; }",
])  # fmt: skip
def test_what_threads_write_otherwise_is_left_to_the_race_checkers(statement):
    assert "atomic" not in made(statement)


def test_the_translation_says_how_a_mark_is_written():
    text = KERNEL.format("*more = true; seen[0] = level;")
    assert "#pragma omp atomic write\n  p[0] = true;" in from_cuda(text, "openmp").text
    assert "#pragma omp atomic write\n  p[0] = given;" in from_cuda(text, "openmp").text
