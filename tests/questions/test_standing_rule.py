"""A simple rule stands where no measured pair contradicts it and the law is not surer."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

from rheostat import Outcome, table
from rheostat.core.front import Front
from rheostat.questions.llm.standing_rule import LEAST, standing, surer, unbroken
from rheostat.tradeoff.rules import Weighted


def deployments(caps=(4, 8, 16, 32), energy=lambda gpus, cap: gpus / cap):
    """One model on 2, 4 and 8 A100: energy as ``energy`` says, and a step of a tenth of that."""
    rows = list(itertools.product((2, 4, 8), caps))
    return table({
        "app": ["m"] * len(rows), "params": [70e9] * len(rows), "gpu_model": ["A100"] * len(rows),
        "gpus": [g for g, _ in rows], "batch_cap": [c for _, c in rows],
        "itl_s": [0.05 + 0.1 / g for g, _ in rows],
        "energy_per_token_j": [10.0 * energy(g, c) for g, c in rows],
    })  # fmt: skip


def test_pairs_at_one_batch_cap_are_counted_and_one_that_contradicts_breaks_the_rule():
    assert unbroken(deployments())["fewest GPUs"] == 12
    assert not unbroken(deployments(caps=(4, 8)))  # six pairs: less than LEAST
    turned = deployments(energy=lambda g, c: (4.0 if (g, c) == (2, 4) else g) / c)
    assert LEAST <= 11
    assert "fewest GPUs" not in unbroken(turned)


def test_a_pair_has_requests_of_one_length_and_energies_that_were_measured():
    rows = deployments(caps=(4, 8, 16))
    dear = rows.frame.with_columns(energy_per_token_j=100.0 * pl.col("energy_per_token_j"))
    lengths = [100.0] * len(dear) + [1000.0] * len(dear)
    both = pl.concat([rows.frame, dear]).with_columns(prompt_tokens=pl.Series(lengths))
    assert unbroken(table(both))["fewest GPUs"] == 18  # prompts of 1000 tokens are not of 100
    unknown = both.with_columns(
        energy_per_token_j=pl.when(pl.col("gpus") > 2).then(pl.col("energy_per_token_j"))
    )
    assert not unbroken(table(unknown))


class SureBy:
    """A law whose second row costs a tenth more, with this standard deviation."""

    def __init__(self, spread):
        self.spread = spread

    def posterior(self, both, quantities):
        assert len(both) == 2
        return np.array([0.0, 0.1]), self.spread**2 * np.eye(2)


def test_the_rule_takes_the_place_of_a_choice_that_the_law_is_less_sure_of():
    runs = deployments()
    settings = runs.rows([4, 0])  # four GPUs at a batch of 4, and two
    draws = {q: settings.numpy(q)[None] for q in ("itl_s", "energy_per_token_j")}
    front = Front(settings, Outcome(draws), ("itl_s", "energy_per_token_j"))
    simple, rule = {"fewest GPUs": 1}, Weighted({"itl_s": 1.0})
    assert front.choose(rule).index == 0
    kept = standing(SureBy(1.0), runs, front, rule, 0, simple)
    assert front.choose(kept).index == 1
    assert front.choose(kept).because.rule.startswith("fewest GPUs: right in all 12 measured pairs")
    assert standing(SureBy(0.01), runs, front, rule, 0, simple) is None
    assert standing(SureBy(1.0), runs, front, rule, 1, simple) is None


def test_a_rule_that_knows_no_difference_leaves_the_choice_to_the_law():
    runs = deployments()
    split = [{"tp": 2, "pp": 1}, {"tp": 1, "pp": 2}]
    settings = table(pl.concat([runs.frame[[0, 0]], pl.DataFrame(split)], how="horizontal"))
    front = Front(
        settings, Outcome({"energy_per_token_j": np.ones((1, 2))}), ("energy_per_token_j",)
    )
    rule = Weighted({"energy_per_token_j": 1.0})
    assert standing(SureBy(1.0), runs, front, rule, 1, {"fewest GPUs": 0}) is None


@pytest.mark.parametrize(("spread", "stands"), [(1e-3, False), (1.0, True)])
def test_surer_is_a_matter_of_the_spread(spread, stands):
    assert surer(np.array([0.0, 0.2]), spread**2 * np.eye(2), 10) != stands
