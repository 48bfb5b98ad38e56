"""The corpus: every kind of wrong candidate is rejected by its rung, right ones are accepted."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from benchmarks.code_corpus import CorpusCase, corpus
from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent, archer_absent, offload_absent
from rheostat.measurement.code.verdict import RUNGS

CASES = corpus()
RIGHT_ONES_OF = ("dot",)
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


@pytest.fixture(autouse=True)
def any_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many inputs are tried however long a start takes beside what else this machine does."""
    monkeypatch.setattr("rheostat.measurement.code.reference.QUICK_S", 2.0)
    monkeypatch.setattr("rheostat.measurement.code.altered.guided_data.SEARCH_S", 4.0)


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

    Right ones climb all rungs but the time, which hangs on what else this machine does; wrong ones
    are shown to their own rung alone. `benchmarks/code_verify.py` takes all up the whole ladder.
    """
    odd = {}
    untimed = tuple(r for r in RUNGS if r not in ("time", "energy"))
    with verifier(cases[0].original, seed=7, options=RungOptions(pairs=3)) as one:
        for case in cases:
            rungs = untimed if case.is_right else (case.rung,)
            verdict = one.verify(case.candidate, rungs=rungs)
            came = verdict.named_by or verdict.state
            if came != (case.rung or "accepted"):
                odd[case.name] = (case.rung or "accepted", f"{came}: {verdict.findings}")
    return odd


def sampled(seed: int) -> list[CorpusCase]:
    """One wrong one of each kind by each rung, of as few kernels as hold them, and right ones."""
    rng = random.Random(seed)
    groups: dict[tuple[str, str], list[CorpusCase]] = {}
    for case in CASES:
        groups.setdefault((case.kind, case.rung or case.kernel), []).append(case)
    taken: Counter[str] = Counter()
    some = []
    for (_, rung), group in sorted(groups.items(), key=lambda g: len({c.kernel for c in g[1]})):
        if rung in RUNGS or rung in RIGHT_ONES_OF:
            most = max(taken[c.kernel] for c in group)
            some.append(rng.choice([c for c in group if taken[c.kernel] == most]))
            taken[some[-1].kernel] += 1
    return some


SAMPLE = CASES if os.environ.get("RHEOSTAT_CORPUS") == "all" else sampled(seed=0)


def test_the_sample_has_every_kind_and_every_rung() -> None:
    assert {(c.kind, c.rung) for c in sampled(1)} == {(c.kind, c.rung) for c in CASES}


@tools
@pytest.mark.slow  # each candidate is built six times and run twenty times
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kernel", sorted({c.kernel for c in SAMPLE}))
def test_each_kernel(kernel: str) -> None:
    """`make fuzz` verifies all."""
    assert outcomes([c for c in SAMPLE if c.kernel == kernel]) == {}
