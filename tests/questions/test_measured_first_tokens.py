"""First tokens that runs measured correct the law's own, of the most alike runs there are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.prediction.serving_law import ServingLaw
from rheostat.questions.llm.measured_first_tokens import (
    first_token_s,
    measured_first_tokens,
    ratio_draws,
)
from rheostat.questions.llm.serving_limits import TTFT, with_limits
from tests.prediction.test_serving_law import runs
from tests.questions.test_serving_plan import front

LAW = ServingLaw().fit(runs(24))


def measured(gpus: list[str], share: list[float], app: str = "m"):
    """Runs whose first tokens took ``share`` of what the law's own say."""
    some = table({"app": [app] * len(gpus), "params": [8e9] * len(gpus), "gpu_model": gpus,
                  "gpus": [1] * len(gpus), "batch_cap": [8] * len(gpus)})  # fmt: skip
    own = 0.01 + 500 * first_token_s(LAW, some)
    return table({**{c: some.frame[c] for c in some.columns}, "itl_s": [0.01] * len(gpus),
                  "prompt_tokens": [500.0] * len(gpus), "ttft_s": own * share})  # fmt: skip


def test_first_tokens_are_the_laws_times_what_was_measured_of_the_gpu() -> None:
    own = np.median(with_limits(front(), LAW, prompt_tokens=900).draws(TTFT), axis=0)
    given = measured(["H100"] * 4 + ["B200"] * 3, [0.4] * 4 + [1.5] * 3)
    made = with_limits(front(), LAW, prompt_tokens=900, runs=given)
    assert np.median(made.draws(TTFT), axis=0) == pytest.approx(own * [0.4, 1.5])
    assert [n.message for n in made.outcome.notes] == [
        "first tokens: the law's own, corrected by the measured ones of 3 to 4 runs"
    ]


def test_too_few_or_none_leave_the_laws_own() -> None:
    plain = with_limits(front(), LAW, prompt_tokens=900).draws(TTFT)
    for given in (measured(["H100"] * 2, [0.4] * 2), runs(24)):
        made = with_limits(front(), LAW, prompt_tokens=900, runs=given)
        np.testing.assert_array_equal(made.draws(TTFT), plain)
        assert made.outcome.notes == ()


def test_a_gpu_without_runs_takes_those_of_all() -> None:
    given = measured(["H100"] * 3, [0.5, 0.5, 0.5], app="other")
    draws, behind = ratio_draws(measured_first_tokens(LAW, given), front().alternatives, 50)
    assert behind.tolist() == [3, 3]
    assert draws == pytest.approx(np.full((50, 2), 0.5))


def test_intervals_of_ratios_hold_the_next_one() -> None:
    """Student's interval of the next of a normal sample, counted on draws of four and a fifth."""
    rng, held, rounds, alternatives = np.random.default_rng(0), 0, 400, front().alternatives
    for _ in range(rounds):
        ratio = np.exp(rng.normal(-0.7, 0.3, 5))
        logs = measured_first_tokens(LAW, measured(["H100"] * 4, ratio[:4].tolist()))
        draws, _ = ratio_draws(logs, alternatives, 200)
        low, high = np.quantile(draws[:, 0], [0.05, 0.95])
        held += low <= ratio[4] <= high
    assert abs(held / rounds - 0.9) < 4 * np.sqrt(0.9 * 0.1 / rounds)


def test_first_tokens_that_wait_for_the_batch_grow_with_it() -> None:
    """A batch of b prompts begun together: the first token comes after b times the arithmetic."""
    batches = [1, 2, 8, 32]
    given = measured(["H100"] * 4, [float(b) for b in batches])
    caps = {c: given.frame[c] for c in given.columns} | {"batch_cap": batches}
    alternatives = front().alternatives
    asked = alternatives.frame.with_columns(batch_cap=pl.lit(16))
    settings = table({c: asked[c] for c in asked.columns})
    draws, _ = ratio_draws(measured_first_tokens(LAW, table(caps)), settings, 100)
    assert draws == pytest.approx(np.full(draws.shape, 16.0), rel=0.05)


def test_few_unlike_runs_leave_a_mean_near_their_interval() -> None:
    logs = measured_first_tokens(LAW, measured(["H100"] * 4, [0.3, 4.0, 0.2, 5.0]))
    draws, _ = ratio_draws(logs, front().alternatives, 400)
    assert draws.mean() < np.quantile(draws, 0.98)
