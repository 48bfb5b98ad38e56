"""Chains of variants: what is asked depends on the answers alone, nothing is asked twice."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.core.outcome import Outcome
from rheostat.tradeoff.search import search
from rheostat.tradeoff.variants import tuning
from rheostat.tradeoff.variants.placement import PragmaPlacement
from rheostat.tradeoff.variants.tuning import Tuning
from rheostat.tradeoff.variants.variant import (
    OBJECTIVES,
    StepwiseProposer,
    Variant,
    VariantResult,
    only,
)

TEXT = """void f(long n, double *a, long *x) {
  for (long s = 0; s < n; s++) {
    for (long i = 0; i < n; i++) {
      a[x[i]] = a[i];
    }
  }
}
"""


class Run:
    """A machine on which a rule says which texts are right and how long they take."""

    def __init__(self, rule) -> None:
        self.rule, self.texts, self.trials, self.asked = rule, {}, {}, []

    def keep(self, variant: Variant) -> None:
        self.texts[variant.identity] = variant

    def __call__(self, jobs) -> Outcome:
        name = jobs.frame["variant"][0]
        self.asked.append(name)
        self.trials[name] = self.rule(self.texts[name])
        value = self.trials[name].runtime_ratio
        return Outcome({o: np.array([[value]]) for o in OBJECTIVES})

    def proposer(self, *chains) -> StepwiseProposer:
        return StepwiseProposer(list(chains), self.keep, self.trials.__getitem__)


def test_a_rejected_loop_is_shared_further_in_or_not_at_all() -> None:
    run = Run(lambda v: VariantResult(accepted=False, rung="races"))
    search(run.proposer(PragmaPlacement(TEXT).steps()), run, 20)
    changes = [run.texts[n].change for n in run.asked]
    assert len(set(changes)) == len(changes) > 1


def test_the_line_of_a_finding_says_which_loop_is_to_blame() -> None:
    text = """void f(long n, double *a, double *b) {
  for (long i = 0; i < n; i++) a[i] = 1;
  for (long i = 0; i < n; i++) b[2 * i] = 1;
}
"""
    steps = PragmaPlacement(text).steps()
    first = next(steps)
    assert first.text.count("#pragma") == 2
    line = first.text[: first.text.index("b[2 * i]")].count("\n") + 1
    second = steps.send(
        VariantResult(accepted=False, rung="races", findings=((line, "data race"),))
    )
    assert second.text.split("\n")[1].startswith("  #pragma")
    assert second.text.count("#pragma") == 1  # another schedule would be as wrong


def test_a_search_that_is_killed_asks_nothing_twice(tmp_path) -> None:
    def rule(v: Variant) -> VariantResult:
        return VariantResult(accepted=True, runtime_ratio=1.0 if "dynamic" in v.text else 0.5)

    whole, parts = Run(rule), Run(rule)
    text = TEXT.replace("a[x[i]] = a[i];", "a[i] = 1;")
    search(whole.proposer(PragmaPlacement(text).steps()), whole, 4)
    for budget in (1, 2, 4):
        proposer = parts.proposer(PragmaPlacement(text).steps())
        search(proposer, parts, budget, journal=tmp_path / "j")
    assert parts.asked == whole.asked


def test_the_same_variant_of_two_chains_is_run_once() -> None:
    run = Run(lambda v: VariantResult(accepted=False))
    text = TEXT.replace("a[x[i]] = a[i];", "a[i] = 1;")
    chains = [PragmaPlacement(text).steps() for _ in range(2)]
    proposer = run.proposer(*chains)
    search(proposer, run, 30)
    assert len(run.asked) == len(set(run.asked))
    assert proposer.duplicates == len(run.asked)


def test_what_does_not_help_is_taken_back() -> None:
    text = "double f(long n, double *a) { for (long i = 0; i < n; i++) a[i] = pow(a[i], 2); }"

    def rule(v: Variant) -> VariantResult:
        return VariantResult(accepted=True, energy_ratio=0.5, runtime_ratio=0.5)

    run = Run(rule)
    search(run.proposer(Tuning(text, ("-O2",)).steps()), run, 9)
    texts = [run.texts[n].text for n in run.asked]
    assert "pow" not in texts[0]
    assert text in texts[1:]


def asked(chain, rule) -> list[str]:
    """What a chain asks for where a rule answers."""
    steps, changes = chain.steps(), []
    variant = next(steps)
    while True:
        changes.append(variant.change)
        try:
            variant = steps.send(rule(variant))
        except StopIteration:
            return changes


NESTS = """void f(long n, double *a, double *b) {
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < n; j++) {
      a[i * n + j] = 1;
    }
  }
  for (long i = 0; i < n; i++) {
    b[i] = 2;
  }
}
"""
OPTIONS = ["line 2: dynamic", "line 2: collapse"]


def taking(share: float, high: float = float("nan")):
    """All is right; dynamic schedules take this share of the time."""
    return lambda v: VariantResult(
        accepted=True,
        runtime_ratio=share if "dynamic" in v.change else 1.0,
        runtime_high=high if "dynamic" in v.change else 1.0,
    )


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        (taking(1.0), ["line 2: static", *OPTIONS, "line 2: static, line 7: static"]),
        (taking(0.98), ["line 2: static", *OPTIONS, "line 2: static, line 7: static"]),
        (taking(0.96), ["line 2: static", *OPTIONS, "line 2: dynamic, line 7: static"]),
        (taking(0.96, 0.99), ["line 2: static", *OPTIONS, "line 2: dynamic, line 7: static"]),
        (taking(0.96, 1.01), ["line 2: static", *OPTIONS, "line 2: static, line 7: static"]),
        (
            lambda v: VariantResult(accepted=False),
            ["line 2: static", "line 3: static"],
        ),
    ],
)  # fmt: skip
def test_placements_vary_the_best_and_repair_what_is_rejected(rule, changes) -> None:
    assert asked(PragmaPlacement(NESTS), rule) == changes


def test_the_schedules_of_the_three_heaviest_loops_are_varied() -> None:
    loop = "  for (long i = 0; i < n; i++) {{\n    a[{} * n + i] = 1;\n  }}\n"
    text = "void f(long n, double *a) {\n" + "".join(loop.format(k) for k in range(5)) + "}\n"
    changes = asked(PragmaPlacement(text), taking(1.0))
    assert sum("dynamic" in c for c in changes) == 3


COSTLY = """double f(long n, double *a, double *b) {
  for (long i = 0; i < n; i++) { a[i] = pow(a[i], 2); b[i] = a[i] / sqrt(n); }
  return a[0];
}
"""
POWERS, CALLS, QUOTIENTS = (
    "powers as products", "fixed calls moved out of loops", "quotients as products")  # fmt: skip
FAST, EXACT = "flags -O3 -mavx2 -ffast-math", "flags -O3 -mavx2"


def rewritten(*parts: str) -> str:
    return ", ".join(parts)


def costs(right, energy: float = 0.5):
    return lambda v: VariantResult(
        accepted=right(v), energy_ratio=energy if v.change else 1.0, runtime_ratio=0.1
    )


EVERY = (POWERS, CALLS, QUOTIENTS)
SINGLE = [rewritten(POWERS), rewritten(CALLS)]


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        (  # the first is right: what does not help is taken back
            costs(lambda v: True),
            [rewritten(*EVERY, FAST), FAST, rewritten(CALLS, QUOTIENTS, FAST),
             rewritten(POWERS, FAST), rewritten(POWERS, CALLS, FAST)],
        ),
        (  # sums have to stay in their order
            costs(lambda v: "-ffast-math" not in v.flags),
            [rewritten(*EVERY, FAST), rewritten(*EVERY, EXACT), EXACT,
             rewritten(CALLS, QUOTIENTS, EXACT), rewritten(POWERS, EXACT),
             rewritten(POWERS, CALLS, EXACT)],
        ),
        (  # flags alone are right: each rewriting is tried with them
            costs(lambda v: v.change.startswith("flags")),
            [rewritten(*EVERY, FAST), rewritten(*EVERY, EXACT), FAST,
             rewritten(POWERS, FAST), rewritten(CALLS, FAST)],
        ),
        (  # nothing is right
            costs(lambda v: False),
            [rewritten(*EVERY, FAST), rewritten(*EVERY, EXACT), FAST, EXACT, *SINGLE],
        ),
        (  # half a percent is no gain, 1.1 % is one
            costs(lambda v: True, 0.995),
            [rewritten(*EVERY, FAST), rewritten(*EVERY, EXACT), FAST, EXACT, *SINGLE],
        ),
        (
            costs(lambda v: True, 0.989),
            [rewritten(*EVERY, FAST), FAST, rewritten(CALLS, QUOTIENTS, FAST),
             rewritten(POWERS, FAST), rewritten(POWERS, CALLS, FAST)],
        ),
    ],
)  # fmt: skip
def test_tuning_goes_from_all_rewritings_to_those_that_help(rule, changes, monkeypatch) -> None:
    monkeypatch.setattr(tuning, "_instructions", lambda: {"avx2"})
    assert asked(Tuning(COSTLY, ("-O2", "-lm")), rule) == changes


def test_where_nothing_can_be_rewritten_flags_alone_are_tried(monkeypatch) -> None:
    monkeypatch.setattr(tuning, "_instructions", lambda: {"avx2"})
    plain = Tuning("double f(double s) {\n  return s;\n}\n", ("-O2",))
    assert asked(plain, costs(lambda v: False)) == [FAST, EXACT]


def test_time_decides_where_no_energy_is_known() -> None:
    unknown = VariantResult(accepted=True, runtime_ratio=0.7)
    known = VariantResult(accepted=True, runtime_ratio=0.7, energy_ratio=0.9)
    assert Tuning(COSTLY)._cost(unknown) == 0.7
    assert Tuning(COSTLY)._cost(known) == 0.9
    assert Tuning(COSTLY, objective="runtime_s")._cost(known) == 0.7


def one_by_one(variants):
    for variant in variants:
        yield from only(variant)


def test_chains_are_asked_in_turn_one_variant_at_a_time_or_as_many_as_wanted() -> None:
    made = [[Variant(f"int {c}{k};", "flags", "") for k in range(3)] for c in "ab"]
    run = Run(lambda v: VariantResult(accepted=True))
    proposer = run.proposer(*(one_by_one(m) for m in made))
    order = []
    for n in (None, 1, 2, 9, 9):
        jobs = proposer.ask() if n is None else proposer.ask(n)
        order.append([run.texts[name].text for name in jobs.frame["variant"]])
        for name in jobs.frame["variant"]:
            run.trials[name] = VariantResult(accepted=True)
        proposer.tell(jobs, Outcome({o: np.ones((1, len(jobs))) for o in OBJECTIVES}))
    assert order == [["int a0;"], ["int b0;"], ["int a1;", "int b1;"], ["int a2;", "int b2;"], []]
    assert proposer.duplicates == 0


def test_what_gains_nothing_is_varied_and_its_variations_are_repaired() -> None:
    """It was not looked at to the end, so that what is wrong with it may show in a variation."""

    def rule(v) -> VariantResult:
        if v.change == first:
            return VariantResult(False, 1.2, no_gain=True)
        if "collapse" in v.change or "dynamic" in v.change:
            return VariantResult(False, 0.5, rung="races")
        return VariantResult(True, 0.6, 0.61)

    text = """void f(long n, double a[n][n], double b[n]) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++) a[i][j] = 1;
  for (long i = 0; i < n; i++) b[i] = 1;
}
"""
    first = next(PragmaPlacement(text).steps()).change
    run = Run(rule)
    search(run.proposer(PragmaPlacement(text).steps()), run, 12)
    results = [run.trials[n] for n in run.asked]
    assert results[0].no_gain
    assert any(r.rung for r in results)
    assert any(r.accepted for r in results)
