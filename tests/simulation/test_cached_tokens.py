"""Tokens that a server's prefix cache held, as its log says them, are not prefilled again."""

import json

import numpy as np
import pytest

from rheostat.core.vocabulary import table
from rheostat.measurement.serving.recorded_requests import read_recorded
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.simulation.serving.calibrate import calibrate
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import serve

REPLICA = Replica(batch_cap=32, cache_tokens=400_000)


def requests(n=160, seed=0):
    """Turns of conversations: the longer the prompt, the more of it is known."""
    rng = np.random.default_rng(seed)
    prompt = rng.choice([100.0, 1000.0, 9000.0], n)
    return table({
        "submit_s": np.cumsum(rng.exponential(0.15, n)), "prompt_tokens": prompt,
        "output_tokens": rng.integers(5, 80, n).astype(float),
        "cached_tokens": np.where(prompt > 5000, 8800.0, 0.0),
    })  # fmt: skip


def test_what_was_held_is_not_prefilled_but_for_one_token():
    own = requests()
    served = serve(own, "fcfs", REPLICA)
    assert served.known_share == pytest.approx(
        own.numpy("cached_tokens").sum() / own.numpy("prompt_tokens").sum()
    )
    one = own.rows(np.array([0])).with_columns([], prompt_tokens=[500.0], cached_tokens=[1e9])
    blank = one.with_columns([], cached_tokens=[None])
    first, whole = (serve(x, "fcfs", REPLICA).requests.numpy("ttft_s")[0] for x in (one, blank))
    assert first == pytest.approx(REPLICA.base_s + REPLICA.prefill_s)
    assert whole == pytest.approx(REPLICA.base_s + 500 * REPLICA.prefill_s)


def test_a_calibration_that_knows_what_was_held_is_right_about_long_prompts():
    own = requests()
    recorded = serve(own, "fcfs", REPLICA).requests
    known = calibrate(recorded, batch_cap=32, cache_tokens=400_000)
    assert known.median_error["ttft"] < 0.05
    assert known.replica.prefill_s == pytest.approx(REPLICA.prefill_s, rel=0.3)


def test_a_log_says_them_in_the_names_of_openais_usage(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [
        {"arrival_time": 10.0 + i, "ttft_ms": 200 + i, "e2e_latency_ms": 1200,
         "usage": {"prompt_tokens": 500, "completion_tokens": 30,
                   "prompt_tokens_details": {"cached_tokens": 128 * i}}}
        for i in range(3)
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)))
    for read in (read_recorded, read_traffic):
        made = read(path)
        assert made.numpy("cached_tokens").tolist() == [0.0, 128.0, 256.0]
        assert made.numpy("prompt_tokens").tolist() == [500.0] * 3
