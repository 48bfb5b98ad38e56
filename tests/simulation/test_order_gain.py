"""Whether an order helps is decided by what it gains beyond the differences from run to run."""

import numpy as np

from rheostat.core.vocabulary import table
from rheostat.simulation.serving.order_gain import _again, order_gains, verdict
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import serve


def trace(gap_s, n=400, prompts=(200, 8000), seed=0):
    rng = np.random.default_rng(seed)
    return table({
        "submit_s": np.cumsum(rng.exponential(gap_s, n)),
        "prompt_tokens": rng.choice(prompts, n, p=[0.9, 0.1]).astype(float),
        "output_tokens": rng.integers(20, 60, n).astype(float),
    })  # fmt: skip


def gains_of(requests, *, batch_cap=256, policies=("fcfs", "cost-oracle")):
    replica = Replica(batch_cap=batch_cap)
    return order_gains(requests, policies, lambda r, p: serve(r, p, replica), replays=12)


def test_arrivals_drawn_anew_keep_the_load_and_the_requests():
    requests = trace(0.05)
    other = _again(requests, np.random.default_rng(1))
    submit, again = requests.numpy("submit_s"), other.numpy("submit_s")
    assert np.isclose(again[0], submit[0])
    assert np.isclose(again[-1], submit[-1])
    assert (np.diff(again) >= 0).all()
    assert not np.allclose(again, submit)
    assert (other.numpy("prompt_tokens") == requests.numpy("prompt_tokens")).all()


def test_where_nobody_waits_no_order_is_said_to_help():
    gains = gains_of(trace(3.0))
    assert {r.sign for r in gains["cost-oracle"].values()} == {0}
    assert verdict(gains).startswith("no order is better")


def test_bursts_that_wait_in_a_small_part_of_the_time_are_reason_enough():
    """Once a minute three long prompts hold thirty short ones up for two seconds."""
    sizes = np.tile([30_000.0] * 3 + [100.0] * 30, 12)
    moments = (60.0 * np.arange(12)[:, None] + 0.003 * np.arange(33)).ravel()
    requests = table({"submit_s": moments, "prompt_tokens": sizes, "output_tokens": [10.0] * 396})
    assert serve(requests, "fcfs", Replica()).summary()["queued_share"] < 0.05
    said = verdict(gains_of(requests))
    assert said.startswith("an order can help")
    assert "first tokens' 99th percentile -" in said or "mean latency -" in said


def test_what_is_worse_in_all_runs_is_said_beside_what_is_better():
    said = verdict(gains_of(trace(0.02), batch_cap=8))
    assert "but its 99th percentile +" in said


def test_the_same_arrivals_serve_all_orders_and_first_come_is_its_own_measure():
    requests = trace(0.05)
    assert gains_of(requests, policies=("fcfs",)) == {}
    same = order_gains(requests, ["a"], lambda r, p: serve(r, "fcfs"), replays=3)["a"]
    assert all((r.value, r.low, r.high) == (1.0, 1.0, 1.0) for r in same.values())
