"""Amounts that drive a loop or a matrix of `llm` have a bound and a message."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.prediction.serving_law import ServingLaw, predictor
from rheostat.recipes.energylens import notes_on, offered, turned
from rheostat.simulation.serving.calibrate import calibrate
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import serve


@pytest.mark.parametrize("name", ["prompt_tokens", "output_tokens"])
def test_a_request_of_1e15_tokens_is_refused_by_all_that_play_it(name) -> None:
    given = {"submit_s": [0.0, 1.0, 2.0, 3.0], "prompt_tokens": [9.0] * 4,
             "output_tokens": [9.0] * 4, "end_s": [1.0, 2.0, 3.0, 4.0]}  # fmt: skip
    given[name] = [9.0, 9.0, 1e15, 9.0]
    for ask in (calibrate, lambda t: serve(t, replica=Replica(cache_tokens=10**18))):
        with pytest.raises(DataError, match=f"{name}: expected 10,000,000 at most, got 1e.15 in"):
            ask(table(given))


def test_batches_and_replicas_have_a_bound() -> None:
    with pytest.raises(DataError, match="batch_cap: expected 100,000,000 at most"):
        Replica(batch_cap=10**12)
    with pytest.raises(DataError, match="replicas: expected 10,000 at most, got 1000000000"):
        Deployment(replicas=10**9)
    with pytest.raises(DataError, match="prefill_replicas: expected 10,000 at most"):
        Deployment(prefill_replicas=10**9)


def test_a_law_is_learned_from_so_many_rows_and_asked_in_blocks(monkeypatch) -> None:
    """A note says how many; rows asked in blocks get what they get all at once."""
    n = 30
    runs = table({
        "app": ["m"] * n, "params": [8e9] * n, "gpu_model": ["H100"] * n, "gpus": [1] * n,
        "batch_cap": 2 ** (np.arange(n) % 8), "itl_s": np.linspace(0.01, 0.03, n),
        "energy_per_token_j": np.linspace(1.0, 0.1, n)})  # fmt: skip
    whole = ServingLaw(n_draws=5).fit(runs).predict(runs)
    monkeypatch.setattr(predictor, "BLOCK", 7)
    parts = ServingLaw(n_draws=5).fit(runs).predict(runs)
    for name, draws in whole.draws.items():
        assert np.allclose(parts.draws[name], draws, rtol=1e-9)
    assert whole.notes == parts.notes == ()
    monkeypatch.setattr(predictor, "MOST_ROWS", 10)
    law = ServingLaw(n_draws=5).fit(runs)
    assert len(law.seen_) == 10
    (note,) = law.predict(runs).notes
    assert "learned from 10 of 30 configurations, evenly spread" in note.message
    assert note.message in [n.message for n in notes_on(runs)]


def test_of_too_many_settings_some_are_drawn_beside_those_that_ran() -> None:
    """Every placement and batch cap may be among them; a note says how many there are."""
    caps = list(range(1, 61))
    runs = table({
        "app": ["m", "n"] * 30, "params": [8e9] * 60, "gpu_model": ["H100"] * 60,
        "gpus": [1, 2, 4, 8] * 15, "batch_cap": caps, "itl_s": [0.01] * 60,
        "energy_per_token_j": [0.5] * 60})  # fmt: skip
    own = runs.rows(np.arange(0, 60, 2))  # on 1 and 4 GPUs
    every, nothing = offered(runs, own, most=120)
    assert (len(every), nothing) == (4 * 30, ())
    some, (note,) = offered(runs, own, most=40)
    ran = own.frame.select("gpu_model", "gpus", "batch_cap").rows(named=True)
    assert some[:30] == ran
    assert 55 <= len(some) < 70
    assert {s["gpus"] for s in some} == {1, 2, 4, 8}
    assert len({s["batch_cap"] for s in some[30:]}) > 15
    assert len({tuple(s.items()) for s in some}) == len(some)
    assert all(s in every for s in some)
    assert note.message.startswith("40 of 120 configurations were drawn to choose from")
    assert offered(runs, own, most=40)[0] == some


def test_knobs_times_what_is_offered_are_bounded_after_what_is_alike_is_left_out() -> None:
    settings = [{"gpus": g, "batch_cap": b} for g in (1, 2) for b in range(1, 1001)]
    caps = [{"batch_cap": b} for b in range(1, 201)]
    assert turned(settings, caps) == [{"gpus": g, "batch_cap": b["batch_cap"]}
                                      for b in caps for g in (1, 2)]  # fmt: skip
    caps = [{"power_cap_w": w} for w in range(300, 400)]
    with pytest.raises(DataError, match=r"--knob: expected 100,000 values .* got 200000"):
        turned(settings, caps)
