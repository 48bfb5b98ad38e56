"""What is reached on the recorded runs of a real vLLM; the page of the simulator has the rest."""

from __future__ import annotations

import numpy as np
import pytest
from vllm_recordings import Runs, Server, hit_rates, learned, orders, paces, recordings

from rheostat.simulation.serving.calibrate import calibrate

SATURATED, ROOMY = Server("shared", 4, "nocache"), Server("mixed", 16, "cache")
SHARED = Server("shared", 4, "cache")


@pytest.fixture(scope="module")
def runs() -> Runs:
    return recordings()


def test_there_are_three_repeats_of_the_same_requests(runs: Runs) -> None:
    assert sum(len(own) for own in runs.values()) == 10
    for own in runs.values():
        asked = [r.requests for repeats in own.values() for r in repeats]
        lengths = [np.column_stack([t.numpy("prompt_tokens"), t.numpy("output_tokens")])
                   for t in asked]  # fmt: skip
        assert len(lengths) == 3 * len(own)
        assert all((n == lengths[0]).all() for n in lengths)


def test_prefix_caches_hold_what_vllm_says_within_five_points(runs: Runs) -> None:
    rows = list(hit_rates(runs))
    assert len(rows) == 4
    assert all(abs(r["simulated"] - r["measured"]) < 0.05 for r in rows)
    assert min(r["measured"] for r in rows) > 0.7


@pytest.mark.parametrize("server", [SATURATED, ROOMY], ids=str)
def test_later_answers_are_within_five_percent(runs: Runs, server: Server) -> None:
    made = calibrate(runs[server]["fcfs"][0].requests, 100, batch_cap=server.cap,
                     cache_tokens=12288, chunk=512)  # fmt: skip
    assert made.median_error["latency"] < 0.05
    assert not made.notes


def test_an_order_has_the_sign_that_it_has_in_vllm(runs: Runs) -> None:
    """Step times of the first run, so that the machine's speed is not what is compared."""
    fits = {(SATURATED, 0): learned(runs[SATURATED]["fcfs"][0], SATURATED)}
    (row,) = orders({SATURATED: runs[SATURATED]}, fits)
    assert row["measured_high"] < 0
    assert (
        row["measured_low"] < row["simulated_low"] <= row["simulated_high"] < row["measured_high"]
    )


def test_dear_prefill_is_within_reach_of_the_search(runs: Runs) -> None:
    """Twelve times what a GPU takes, beside a step: outside of where the search used to begin."""
    replica = learned(runs[SHARED]["fcfs"][1], SHARED)
    assert 3e-4 < replica.prefill_s < 4.5e-4
    assert replica.base_s < 0.013


def test_the_run_that_is_furthest_off_is_so_by_four_percent_of_the_machines_speed(
    runs: Runs,
) -> None:
    """Near a full server waiting multiplies what a machine that others use, too, drifts by."""
    server = Server("mixed", 4, "cache")
    fits = {(server, 1): learned(runs[server]["fcfs"][1], server)}
    (row,) = paces(runs, fits)
    assert row["median"] > 0.2
    assert 0.94 <= float(row["pace"]) < 1
    assert row["at_pace"] < 0.07
