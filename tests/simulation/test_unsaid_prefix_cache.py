"""A prefix cache of which a log says nothing: by the texts, by first tokens, or as stated."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rheostat.cli import run
from rheostat.core.vocabulary import table
from rheostat.measurement.serving.recorded_requests import read_recorded
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.questions.llm.calibrate import CalibrationAnswer
from rheostat.simulation.serving.calibrate import CalibratedReplica, calibrate
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.hit_rate import has_prefix_cache, read_hit_rate
from rheostat.simulation.serving.log_replay import Recording
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.routing import prefix_blocks
from rheostat.simulation.serving.serve import serve

REPLICA = Replica(batch_cap=64, cache_tokens=400_000)
LIMITS = {"batch_cap": 64, "cache_tokens": 400_000}


def conversations(again, n=160, seed=0):
    """Turns of conversations, or first messages of new ones; all but the turn itself is known."""
    rng = np.random.default_rng(seed)
    said, prompt, known = [], np.empty(n), np.empty(n)
    for i in range(n):
        old = said and rng.random() < again
        at = rng.integers(len(said)) if old else len(said)
        known[i] = said[at] if old else 0.0
        prompt[i] = known[i] + np.ceil(rng.lognormal(5.0 if old else 6.5, 1.0))
        said[at : at + 1] = [prompt[i]]
    return table({
        "submit_s": rng.exponential(0.35, n).cumsum(), "prompt_tokens": prompt,
        "output_tokens": np.floor(rng.lognormal(4.5, 0.7, n)) + 2, "cached_tokens": known,
    })  # fmt: skip


def silent(own, noise, seed=1):
    """As a server answers them, without a word of what it held."""
    made = serve(own, "fcfs", REPLICA).requests
    first, end, came = (made.numpy(c) for c in ("start_s", "end_s", "submit_s"))
    first = came + (first - came) * np.random.default_rng(seed).lognormal(0.0, noise, len(own))
    names = ("submit_s", "prompt_tokens", "output_tokens")
    return table({c: made.numpy(c) for c in names} | {
        "start_s": first, "end_s": np.maximum(first, end)})  # fmt: skip


def test_first_tokens_show_how_much_a_prefix_cache_held():
    own = conversations(0.5, n=70)
    known, prompt = own.numpy("cached_tokens"), own.numpy("prompt_tokens")
    found = read_hit_rate(Recording.of(silent(own, 0.1)), np.arange(70), REPLICA, Deployment())
    assert found.rate == pytest.approx(known.sum() / prompt.sum(), abs=0.05)
    assert np.corrcoef(found.known / prompt, known / prompt)[0, 1] > 0.7


def test_a_rate_that_was_found_is_what_simulate_takes(tmp_path, capsys):
    log = silent(conversations(0.5, n=20), 0.0)
    nothing = dict.fromkeys(("ttft", "tpot", "latency"), 0.0)
    made = CalibratedReplica(replace(REPLICA, tool_delay_s=0.5), Deployment(), 10, nothing, nothing,
                             nothing, {}, hit_rate=0.25)  # fmt: skip
    said = CalibrationAnswer(requests=log, calibrated=made).text()
    log.frame.write_csv(tmp_path / "log.csv")
    assert run(["llm", "simulate", str(tmp_path / "log.csv"), "--policies", "fcfs", "--json",
                *said.split()]) == 0  # fmt: skip
    held = json.loads(capsys.readouterr().out)["policies"]["fcfs"]["known_share"]
    assert held == pytest.approx(0.25, abs=0.01)


def test_noise_is_not_taken_for_a_prefix_cache():
    log = Recording.of(silent(conversations(0.0, n=80), 0.3))
    assert read_hit_rate(log, np.arange(80), REPLICA, Deployment()) is None


def test_a_log_with_blocks_shows_whether_there_was_a_prefix_cache():
    rng = np.random.default_rng(0)
    n = 80
    length = rng.integers(20, 60, n)
    opened = rng.integers(0, 6, n)  # which of six openings of sixteen blocks each
    blocks = [[100 * int(o) + k for k in range(16)] + [10**6 + 100 * i + k for k in range(m - 16)]
              for i, (o, m) in enumerate(zip(opened, length, strict=True))]  # fmt: skip
    own = table({
        "submit_s": rng.exponential(0.3, n).cumsum(), "prompt_tokens": 16.0 * length,
        "output_tokens": rng.integers(5, 80, n).astype(float), "prefix_blocks": blocks,
    })  # fmt: skip
    assert prefix_blocks(own).tokens == 16
    r, rows = Replica(64, 400_000, prefill_s=2e-4), np.arange(40)
    for tokens in (0, 400_000):
        served = serve(own, "fcfs", r, deployment=Deployment(prefix_cache_tokens=tokens))
        log = Recording.of(served.requests)
        assert has_prefix_cache(log, rows, r, Deployment()) == (tokens > 0)


def test_first_tokens_of_tool_calls_have_a_delay_of_their_own(tmp_path):
    log = serve(conversations(0.0, n=80), "fcfs", REPLICA).requests
    calls = np.arange(80) % 3 == 0
    came, end = log.numpy("submit_s"), log.numpy("end_s")
    first = np.where(calls, np.minimum(log.numpy("start_s") + 0.4, end), log.numpy("start_s"))
    frame = pl.DataFrame({
        "arrival_time": came, "ttft_s": first - came, "latency_s": end - came,
        "input_len": log.numpy("prompt_tokens"), "output_len": log.numpy("output_tokens"),
        "finish_reason": np.where(calls, "tool_calls", "stop").tolist(),
    })  # fmt: skip
    path = tmp_path / "log.jsonl"
    frame.write_ndjson(path)
    made = calibrate(read_recorded(path), 40, **LIMITS)
    assert made.replica.tool_delay_s == pytest.approx(0.4, rel=0.1)
    assert made.median_error["ttft"] < 0.05
    assert made.hit_rate == 0.0
    again = serve(read_traffic(path), "fcfs", made.replica).requests.numpy("ttft_s")
    assert np.median(again[calls]) == pytest.approx(np.median((first - came)[calls]), rel=0.1)


@pytest.mark.parametrize("texts", ["messages", "prompt", "openai"])
def test_prompts_that_begin_alike_have_blocks_alike(tmp_path, texts):
    system = "You answer as a librarian would, with the title first. " * 40
    asks = ["Who wrote Emma?", "Who wrote Dracula? And when was that, and where?", "Hello"]
    said = {"messages": lambda ask: {"messages": [{"role": "system", "content": system},
                                                  {"role": "user", "content": ask}]},
            "prompt": lambda ask: {"prompt": system + ask}}  # fmt: skip
    said["openai"] = said["messages"]
    rows = []
    for i, ask in enumerate(asks):
        tokens = {"prompt_tokens": 560, "output_tokens": 9, "submit_s": float(i)}
        if texts == "openai":
            tokens = {"created": 100 + i, "usage": {"prompt_tokens": 560, "completion_tokens": 9}}
        rows.append({**said[texts](ask), **tokens})
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    made = read_traffic(path, texts=True)
    lists = made.frame["prefix_blocks"].to_list()
    alike = [a == b for a, b in zip(lists[0], lists[1], strict=False)]
    assert 30 <= sum(alike) == alike.index(False) < len(alike) + 1
    assert prefix_blocks(made).tokens == 16
    held = serve(made, "fcfs", REPLICA, deployment=Deployment(prefix_cache_tokens=10_000))
    assert 0.55 < held.known_share < 0.67  # two of three prompts, but for what is asked
    assert "prefix_blocks" not in read_traffic(path).columns
