"""The corpus: every kind of wrong candidate is rejected by its rung, right ones are accepted."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent, archer_absent, offload_absent
from rheostat.measurement.code.verdict import RUNGS
from rheostat.testing.code_corpus import CorpusCase, corpus

CASES = corpus()
KERNELS = sorted({c.kernel for c in CASES})
LACKING = next(
    filter(None, (Bubblewrap().why(), absent("gcc", "nm", "objdump", "valgrind"), archer_absent(),
                  offload_absent())), ""
)  # fmt: skip
tools = pytest.mark.skipif(bool(LACKING), reason=LACKING)
NAMED = {
    "race", "missing map", "off by one", "deleted work", "hard-coded output", "sleeps",
    "printed PASS", "reads the expected file", "infinite loop", "fork bomb", "memory hog",
    "network", "writes outside",
}  # fmt: skip


def test_the_corpus_has_sixty_of_each_and_every_kind() -> None:
    right = [c for c in CASES if c.is_right]
    wrong = [c for c in CASES if not c.is_right]
    assert min(len(right), len(wrong)) >= 60
    assert Counter(c.kind for c in wrong).keys() >= NAMED
    assert {c.rung for c in wrong} <= set(RUNGS)
    assert len({c.candidate.text for c in CASES}) == len(CASES), "no candidate stands there twice"
    assert all(c.candidate.text != c.original.text for c in CASES)


def outcomes(cases: list[CorpusCase]) -> dict[str, tuple[str, str]]:
    """(expected, what came) of those that did not go as expected.

    How long a right one takes depends on what else this machine does, so that only wrong ones are
    timed here; `benchmarks/code_verify.py` times all.
    """
    odd = {}
    untimed = tuple(r for r in RUNGS if r not in ("time", "energy"))
    with verifier(cases[0].original, seed=7, options=RungOptions(pairs=3)) as one:
        for case in cases:
            rungs = untimed if case.is_right else (*untimed, "time")
            verdict = one.verify(case.candidate, rungs=rungs)
            came = verdict.rejected_by or verdict.state
            if came != (case.rung or "accepted"):
                odd[case.name] = (case.rung or "accepted", f"{came}: {verdict.findings}")
    return odd


@tools
def test_a_right_one_and_a_deleted_loop_are_told_apart() -> None:
    repeat = [c for c in CASES if c.kernel == "repeat"]
    assert outcomes([repeat[0], repeat[-1]]) == {}


@tools
@pytest.mark.slow  # each candidate is built six times and run twenty times
@pytest.mark.skipif(os.environ.get("CI") != "true", reason="100 CPU-seconds: set CI=true")
@pytest.mark.parametrize("kernel", KERNELS)
def test_each_kernel(kernel: str) -> None:
    """A right one and a wrong one; `benchmarks/code_verify.py` verifies all, in ten CPU-minutes."""
    rng = random.Random(kernel)
    some = [c for c in CASES if c.kernel == kernel]
    right, wrong = ([c for c in some if c.is_right is b] for b in (True, False))
    assert outcomes([rng.choice(right), rng.choice(wrong)]) == {}
