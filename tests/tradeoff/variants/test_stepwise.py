"""Chains of variants: what is asked depends on the answers alone, nothing is asked twice."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.core.outcome import Outcome
from rheostat.tradeoff.search import search
from rheostat.tradeoff.variants.placement import PragmaPlacement
from rheostat.tradeoff.variants.tuning import Tuning
from rheostat.tradeoff.variants.variant import OBJECTIVES, StepwiseProposer, Variant, VariantResult

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
    text = TEXT.replace("a[x[i]] = a[i];", "a[i] = 1;").replace(
        "}\n}\n", "}\n  for (long i = 0; i < n; i++) {\n    a[2 * i] = 1;\n  }\n}\n"
    )
    steps = PragmaPlacement(text).steps()
    first = next(steps)
    line = first.text[: first.text.index("a[2 * i]")].count("\n") + 1
    second = steps.send(
        VariantResult(accepted=False, rung="races", findings=((line, "data race"),))
    )
    assert "#pragma" in second.text
    assert "a[2 * i]" not in second.text.split("#pragma")[-1].split("}")[0]


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
