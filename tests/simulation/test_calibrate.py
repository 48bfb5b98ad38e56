"""Calibration on recorded runs of a server that does what a replica does not know of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.simulation.serving.calibrate import CalibratedReplica, _longer, _verdict, calibrate
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.log_limits import BETTER, Limits, most_at_once, read_limits, waited
from rheostat.simulation.serving.log_replay import Recording, misfit
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import serve
from tests.simulation.noisy_server import REPLICA, Noisy, asked

WITHIN = 0.05
SERVERS = {
    "full cache": (Noisy(replace(REPLICA, batch_cap=256, cache_tokens=30_000)), {"rate": 8.0}),
    "far clients": (Noisy(delay_s=0.15, jitter_s=0.03), {"rate": 2.0}),
    "a large model in bursts": (Noisy().slower(4.0), {"rate": 1.5, "bursty": True}),
}


@pytest.mark.parametrize("name", SERVERS)
def test_later_requests_are_answered_when_the_first_hundred_say(name):
    server, load = SERVERS[name]
    recorded = server.record(asked(11, **load), 11)
    r = server.replica
    made = calibrate(recorded, batch_cap=r.batch_cap, cache_tokens=r.cache_tokens)
    assert made.median_error["latency"] < WITHIN
    assert made.p90_error["latency"] < 2 * WITHIN
    assert made.median_error["latency"] < min(b["latency"] for b in made.baselines.values())
    assert made.notes == ()
    if server.delay_s > 0.1:
        assert made.replica.delay_s == pytest.approx(0.2, abs=0.05)
        assert made.median_error["ttft"] < 0.15


@pytest.mark.slow
def test_a_batch_cap_that_nobody_stated_is_read_from_the_log():
    recorded = Noisy().record(asked(12, n=250, rate=9.0), 12)
    made = calibrate(recorded)
    assert made.replica.batch_cap == REPLICA.batch_cap
    assert made.median_error["latency"] < WITHIN
    assert "--batch-cap 64 was not stated but read from all requests" in made.notes[0]


def test_those_who_waited_show_a_batch_cap_that_few_waited_for():
    """All others are explained as well without it, so that the whole log would not show it."""
    server = Noisy(replace(REPLICA, batch_cap=32), padded=1, ahead=False, sampled_s=0.0)
    log = Recording.of(server.record(asked(5, n=200, rate=3.45), 5))
    own = replace(server.replica, delay_s=server.delay_s)
    free, low = replace(own, batch_cap=4096), replace(own, batch_cap=26)
    rows, place = np.arange(len(log)), Deployment()
    assert misfit(log, own, place, rows) > BETTER * misfit(log, free, place, rows)
    assert waited(log, own, "batch_cap", free, place)
    assert not waited(log, low, "batch_cap", free, place)
    assert not waited(log, replace(own, batch_cap=256), "batch_cap", free, place)


@pytest.mark.slow
def test_prompt_tokens_of_a_step_that_nobody_stated_show_in_first_tokens():
    recorded = Noisy(replace(REPLICA, chunk=512)).record(asked(31, n=150, rate=6.0), 31)
    made = calibrate(recorded, batch_cap=64, cache_tokens=400_000)
    assert made.replica.chunk == 512
    assert made.notes[0].startswith("--chunk 512 was not stated")
    assert made.median_error["ttft"] < WITHIN
    stated = calibrate(recorded, batch_cap=64, cache_tokens=400_000, chunk=2048)
    assert stated.replica.chunk == 2048


@pytest.mark.slow
def test_limits_that_were_never_reached_are_said_to_be_unknown():
    recorded = Noisy().record(asked(13, n=120, rate=1.0), 13)
    made = calibrate(recorded)
    assert made.median_error["latency"] < WITHIN
    assert made.replica.batch_cap == Replica.batch_cap
    assert "batch cap and cache: not stated, and not reached in this log" in made.notes[0]
    assert made.learned == 60


@pytest.mark.slow
def test_a_server_of_another_kind_is_said_not_to_be_followed():
    """Shortest prompt first, while first come is assumed."""
    recorded = Noisy(policy="shortest-prompt").record(asked(14, rate=14.0), 14)
    made = calibrate(recorded, batch_cap=64, cache_tokens=400_000)
    assert made.median_error["latency"] > WITHIN
    assert any("whole answers are off by" in note for note in made.notes)
    low = read_limits(Recording.of(recorded), Limits(32, 400_000), 2048, Deployment())
    assert "64 requests were between first and last token at once" in low.notes[0]


@pytest.mark.slow
def test_replicas_that_step_together_are_known_as_one():
    server = Noisy(replicas=2, lockstep=True)
    recorded = server.record(asked(15, n=200, rate=8.0), 15)
    made = calibrate(recorded, batch_cap=64, cache_tokens=400_000, deployment=Deployment(2))
    assert (made.deployment.replicas, made.replica.batch_cap) == (1, 128)
    assert "step together" in made.notes[0]
    assert made.median_error["latency"] < 2 * WITHIN


def test_whole_answers_alone_are_enough_where_the_limits_are_stated():
    recorded = Noisy().record(asked(16, n=200, rate=6.0), 16)
    blind = recorded.select([c for c in recorded.columns if c != "start_s"])
    made = calibrate(blind, batch_cap=64, cache_tokens=400_000)
    assert made.median_error["latency"] < WITHIN
    assert np.isnan(made.median_error["ttft"])


def test_answers_of_one_token_have_no_time_per_token():
    one = asked(18, n=12).with_columns([], output_tokens=np.ones(12, int))
    made = calibrate(serve(one, "fcfs", REPLICA).requests, batch_cap=64, cache_tokens=400_000)
    assert np.isnan(made.median_error["tpot"])
    assert made.median_error["latency"] < WITHIN


@pytest.mark.slow
def test_the_same_seed_finds_the_same_and_too_few_requests_are_refused():
    recorded = serve(asked(17, n=20), "fcfs", REPLICA).requests
    first, second = (calibrate(recorded, batch_cap=64, cache_tokens=400_000) for _ in range(2))
    assert first == second
    for count, said in ((19, "2 to 18 to learn"), (1, "2 to 18 to learn")):
        with pytest.raises(DataError, match=said):
            calibrate(recorded, count)
    with pytest.raises(DataError, match="4 requests or more, got 0 of 1"):
        calibrate(recorded.rows(np.arange(1)))


@pytest.mark.parametrize(("off", "learned", "said"), [
    (0.049, 0.001, None), (0.06, 0.03, "does not hold for later requests"),
    (0.06, 0.041, "whole answers are off by 6.0 % in the median: the server"),
    (5.0, 0.5, "does not hold for later requests"),
])  # fmt: skip
def test_what_later_requests_say_against_a_calibration(off, learned, said):
    errors = ({"latency": learned}, {"latency": off}, {"latency": off})
    made = CalibratedReplica(REPLICA, Deployment(), 100, *errors, {"median": {"latency": off}})
    notes = _verdict(made)
    assert [n[: len(said)] for n in notes] == [said] if said else notes == []
    nearer = _verdict(replace(made, baselines={"a": {"latency": 9.0}, "b": {"latency": 0.01}}))
    said = f"whole answers: the baseline 'b' is nearer (1.0 %, the replica {100 * off:.1f} %)"
    assert nearer == [*notes, said]


def test_a_baseline_that_is_nearer_for_first_tokens_alone_is_said():
    off = {"ttft": 0.04, "tpot": float("nan"), "latency": 0.01}
    base = {"median": {"ttft": 0.03, "tpot": float("nan"), "latency": 0.02}}
    made = CalibratedReplica(REPLICA, Deployment(), 100, off, off, off, base)
    said = "first tokens: the baseline 'median' is nearer (3.0 %, the replica 4.0 %)"
    assert _verdict(made) == [said]


def test_prompts_far_longer_than_those_learned_from_are_said():
    def log(*prompts):
        blank = np.full(len(prompts), np.nan)
        return Recording(blank, np.array(prompts, dtype=float), blank, blank, {})

    assert _longer(log(100, 200, 600), 2) == []
    (said,) = _longer(log(100, 200, 601, 9000), 2)
    assert said.startswith("2 later prompts are more than 3 times as long")
    assert "9,000" in said


def test_what_was_running_is_shared_among_replicas_and_rounded_up():
    """Three that overlap at 20 s: they hold all prompts and the tokens that they have by then."""
    measured = {"ttft": np.array([0.0, 0.0, 0.0]), "latency": np.full(3, 40.0)}
    log = Recording(np.array([0.0, 10.0, 20.0]), np.array([10.0, 10.0, 10.0]),
                    np.full(3, 40.0), np.array([40.0, 50.0, 60.0]), measured)  # fmt: skip
    held = 30.0 + 20.0 + 10.0
    assert most_at_once(log, 1) == (3, held)
    assert most_at_once(log, 2) == (2, held / 2)
    assert most_at_once(log, 7) == (1, 9)
