"""Stores that are not sequentially consistent are seen late, and only where they may be."""

from __future__ import annotations

import subprocess

import pytest

from rheostat.measurement.code.bundled import with_included
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.lock_sets import gives_way
from rheostat.measurement.code.toolchain import archer_absent

pytestmark = pytest.mark.skipif(bool(archer_absent()), reason=archer_absent())
LOCK = """
#include <stdio.h>
int wants[2], turn, counter, locked, inside;
int main(void) {
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    MINE(0)
#pragma omp section
    MINE(1)
  }
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 200; i++)
#pragma omp critical
  {
    int now = __atomic_load_n(&locked, __ATOMIC_RELAXED);
    __atomic_store_n(&locked, now + 1, __ATOMIC_RELAXED);
  }
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 200; i++) {
    while (__atomic_exchange_n(&inside, 1, __ATOMIC_ACQUIRE)) ;
    counter++;
    __atomic_store_n(&inside, 0, __ATOMIC_RELEASE);
  }
  printf("%d %d", counter, locked);
}
"""
MINE = """#define MINE(me) for (int i = 0; i < 100; i++) { \\
  __atomic_store_n(&wants[me], 1, STORED); __atomic_store_n(&turn, 1 - me, STORED); \\
  FENCE while (__atomic_load_n(&wants[1 - me], __ATOMIC_ACQUIRE) && \\
               __atomic_load_n(&turn, __ATOMIC_ACQUIRE) == 1 - me) ; \\
  counter++; __atomic_store_n(&wants[me], 0, __ATOMIC_RELEASE); }
"""
FENCED = "__atomic_thread_fence(__ATOMIC_SEQ_CST);"
FLUSHED = '_Pragma("omp flush")'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("late")
    for name, text in with_included("lock_sets.c").items():
        (path / name).write_text(text)
    run(path, "clang-16", "-c", "-O1", "-fopenmp", "lock_sets.c")
    return path


def run(folder, *command, **environment):
    environment = {"PATH": "/usr/bin:/bin", **environment}
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return done.stdout.decode()


@pytest.mark.parametrize(
    ("stored", "fence", "holds"),
    [("RELEASE", "", False), ("SEQ_CST", "", True), ("RELEASE", FENCED, True),
     ("RELEASE", FLUSHED, True)],
)  # fmt: skip
def test_a_lock_of_two_flags_and_a_turn_holds_only_in_one_order_of_all_stores(
    folder, stored, fence, holds
):
    """Peterson's lock; locks by an exchange and by OpenMP hold in each of them."""
    text = MINE.replace("STORED", f"__ATOMIC_{stored}").replace("FENCE", fence) + LOCK
    (folder / "a.c").write_text(text)
    run(folder, "clang-16", "-O0", "-no-pie", "-fopenmp", "-Xclang", "-fsanitize=thread", "a.c",
        "lock_sets.o", "-o", "a")  # fmt: skip
    text = text.replace('_Pragma("omp flush")', "#pragma omp flush")
    ways = [gives_way(Program({"a.c": text}, "openmp"), seed) for seed in range(1, 6)]
    counts = [run(folder, "./a", **way).split() for way in ways]
    assert {locked for _, locked in counts} == {"200"}
    assert ({int(counter) for counter, _ in counts} == {400}) == holds
