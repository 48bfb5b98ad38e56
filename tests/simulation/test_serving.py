"""Continuous batching: against a plain step-by-step server, closed forms, and invariants."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat import table
from rheostat.errors import DataError
from rheostat.simulation.serving.continuous_batching import run
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.routing import ROUTINGS, PrefixBlocks, routed
from rheostat.simulation.serving.serve import POLICIES, serve
from tests.simulation.plain_server import SMALL, plain, plain_routes, requests


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1), policy=st.sampled_from(["fcfs", "shortest-prompt",
    "cost-oracle"]), gap=st.sampled_from([0.5, 4.0, 30.0]), batch_cap=st.integers(1, 5),
    cache=st.sampled_from([50, 60, 400]),
)  # fmt: skip
def test_every_token_comes_when_a_plain_server_gives_it(seed, policy, gap, batch_cap, cache):
    r = replace(SMALL, batch_cap=batch_cap, cache_tokens=cache)
    asked = requests(seed, gap=gap)
    submit, prompt, output = (asked.numpy(c) for c in asked.columns)
    key = POLICIES[policy](submit, prompt, output, output, r)
    first, end = plain(submit, prompt.astype(int), output.astype(int), key, r)
    found = serve(asked, policy, r)
    assert found.requests.numpy("start_s") == pytest.approx(first, rel=1e-12)
    assert found.requests.numpy("end_s") == pytest.approx(end, rel=1e-12)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1), by_ratio=st.booleans(), gap=st.sampled_from([0.5, 4.0]),
    batch_cap=st.integers(1, 5), cache=st.sampled_from([50, 60, 400]),
    patience=st.sampled_from([0.0, 5.0, 40.0]), bound=st.sampled_from([None, 5.0, 60.0, 200.0]),
    keeps=st.booleans(),
)  # fmt: skip
def test_orders_that_change_while_requests_wait_and_known_prefixes(
    seed, by_ratio, gap, batch_cap, cache, patience, bound, keeps
):
    r = replace(SMALL, batch_cap=batch_cap, cache_tokens=cache)
    asked = requests(seed, n=20, gap=gap)
    submit, prompt, output = (asked.numpy(c) for c in asked.columns)
    known = np.random.default_rng(seed).integers(0, prompt.astype(int) + 1)
    key = np.ceil(64 * r.cost_s(prompt, output)) / 64
    by_ratio = by_ratio and bound is None
    patience = math.inf if by_ratio or bound is not None else patience
    latest = None if bound is None else submit + bound - prompt
    due = None if bound is None else submit + bound
    first, end = plain(submit, prompt.astype(int), output.astype(int), key, r, known, patience,
                       by_ratio, latest, due, keeps)  # fmt: skip
    whole = (a.astype(np.int64) for a in (prompt, output, known))
    steps = (r.base_s, r.request_s, r.context_s, r.prefill_s)
    made = run(
        submit, *whole, keeps, key, r.batch_cap, r.cache_tokens, r.chunk, *steps, patience,
        by_ratio, *(np.full(len(key), np.inf) if t is None else t for t in (latest, due)),
    )  # fmt: skip
    assert made[0] == pytest.approx(first, rel=1e-12)
    assert made[1] == pytest.approx(end, rel=1e-12)


def test_without_patience_the_longest_waiting_is_next():
    asked, roomy = requests(11, n=60, gap=0.5), replace(SMALL, cache_tokens=4000)
    ends = [serve(asked, p, roomy, patience_s=w).requests.numpy("end_s").tolist()
            for p, w in (("cost-oracle", 0.0), ("fcfs", math.inf))]  # fmt: skip
    assert ends[0] == ends[1]


def test_two_replicas_serve_as_two_servers_would_and_least_work_beats_turns():
    asked = requests(5, n=80, gap=1.0)
    halves = [asked.rows(np.arange(k, 80, 2)) for k in (0, 1)]
    both = serve(asked, "fcfs", SMALL, deployment=Deployment(2)).requests.numpy("end_s")
    for k, half in enumerate(halves):
        assert both[k::2].tolist() == serve(half, "fcfs", SMALL).requests.numpy("end_s").tolist()
    skewed = asked.with_columns([], prompt_tokens=np.where(np.arange(80) % 2, 2, 24))
    turns, least = (
        serve(skewed, "fcfs", SMALL, deployment=Deployment(2, routing)).summary()["mean_latency_s"]
        for routing in ("round-robin", "least-work")
    )
    assert least < turns


def test_a_prefix_cache_saves_the_prefill_of_what_was_asked_before():
    blocks = [[1, 2], [3, 4], [1, 2], [1, 5]]
    asked = table({"submit_s": [0.0, 100.0, 200.0, 300.0], "prompt_tokens": [1024] * 4,
                   "output_tokens": [2] * 4, "prefix_blocks": blocks})  # fmt: skip
    r = replace(SMALL, cache_tokens=4000, chunk=2048, prefill_s=0.01)
    plain_s = serve(asked, "fcfs", r).requests.numpy("ttft_s")
    held = serve(asked, "fcfs", r, deployment=Deployment(prefix_cache_tokens=4096))
    saved = (plain_s - held.requests.numpy("ttft_s")) / r.prefill_s
    assert saved == pytest.approx([0, 0, 1023, 512])
    assert held.known_share == pytest.approx((1023 + 512) / 4096)
    two = Deployment(2, "prefix", 4096)
    assert serve(asked, "fcfs", r, deployment=two).known_share == pytest.approx(1535 / 4096)
    with pytest.raises(DataError, match="prefix_blocks"):
        serve(requests(1), "fcfs", SMALL, deployment=Deployment(prefix_cache_tokens=512))


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), count=st.integers(1, 4), blocks=st.integers(0, 12),
    routing=st.sampled_from(ROUTINGS), kinds=st.sampled_from([3, 8, 40]),
)  # fmt: skip
def test_routes_and_prefix_caches_are_those_of_dictionaries_asked_one_by_one(
    seed, count, blocks, routing, kinds
):
    rng = np.random.default_rng(seed)
    n = 40
    submit = np.round(rng.exponential(3.0, n).cumsum() * 4) / 4
    rng.shuffle(submit)
    asked = [rng.integers(0, kinds, rng.integers(0, 7)).tolist() for _ in range(n)]
    prompt, expected = np.array([max(1, 512 * len(a) - 3) for a in asked]), rng.integers(1, 9, n)
    tokens = 512 * blocks
    plain_ = plain_routes(submit, prompt, expected, asked, count, routing, tokens, 2.0**-9)
    found = routed(submit, prompt.astype(float), expected.astype(float),
                   PrefixBlocks.of(pl.Series(asked)), count, routing, tokens, 2.0**-9)  # fmt: skip
    assert (found[0].tolist(), found[1].tolist()) == plain_


def test_disaggregated_prefill_does_not_slow_who_decodes():
    one = table({"submit_s": [0.0], "prompt_tokens": [20], "output_tokens": [6]})
    split = Deployment(1, prefill_replicas=1, transfer_s=0.1)
    made = serve(one, "fcfs", SMALL, deployment=split).requests
    prefill = 3 * 1.0 + 20 * 0.125
    # the step that takes the moved cache in runs nobody yet; then four with 22 to 25 tokens
    decode = 1.0 + 4 * 1.25 + 0.03125 * (22 + 23 + 24 + 25)
    assert made.numpy("ttft_s") == pytest.approx([prefill])
    assert made.numpy("latency_s") == pytest.approx([prefill + 0.1 * 20 + decode])
    asked = requests(9, n=60, gap=2.0)
    every = serve(asked, "fcfs", SMALL, deployment=split).requests
    assert (every.numpy("end_s") >= every.numpy("start_s")).all()
    with pytest.raises(DataError, match=r"(?s)replicas.*routing.*transfer_s"):
        Deployment(0, "best", transfer_s=-1.0)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), policy=st.sampled_from(["fcfs", "cost-oracle", "hrrn-oracle"]),
    replicas=st.integers(1, 3), apart=st.booleans(), batch_cap=st.integers(1, 5),
)  # fmt: skip
def test_work_and_energy_are_conserved_whatever_the_order(seed, policy, replicas, apart, batch_cap):
    """Steps of no length of their own: what is left is each request's work, by closed form."""
    r = replace(SMALL, batch_cap=batch_cap, cache_tokens=4000, base_s=1e-12)
    asked = requests(seed, n=30, gap=1.0)
    made = serve(asked, policy, r, deployment=Deployment(replicas, prefill_replicas=int(apart)))
    prompt, output = asked.numpy("prompt_tokens"), asked.numpy("output_tokens")
    work = r.alone_s(prompt, output).sum()
    if apart:  # the first token comes from the one, and the moved cache holds it
        more = output > 1
        moved = r.alone_s(prompt[more] + 1, output[more] - 1) - (prompt[more] + 1) * r.prefill_s
        work = (prompt * r.prefill_s).sum() + moved.sum()
    count = replicas + apart
    assert count * made.busy_s == pytest.approx(work, rel=1e-9)
    idle_s = count * made.span_s - work
    assert made.energy_j == pytest.approx(r.busy_w * work + r.idle_w * idle_s, rel=1e-9)
    submit, first, end = (made.requests.numpy(c) for c in ("submit_s", "start_s", "end_s"))
    assert len(end) == 30
    assert (first > submit).all()
    assert (end >= first).all()
    assert made.span_s == pytest.approx(end.max() - submit.min())
    # Little: area under the number that is there, over the span, is rate times mean latency
    at = np.sort(np.concatenate([submit, end]))
    come, gone = (np.searchsorted(np.sort(t), at, "right") for t in (submit, end))
    area = ((come - gone)[:-1] * np.diff(at)).sum()
    assert area == pytest.approx(30 * made.summary()["mean_latency_s"], rel=1e-9)


def test_one_request_alone_takes_the_closed_form():
    """20 prompt tokens in three steps; then five steps with 21 to 25 tokens in the cache."""
    one = table({"submit_s": [5.0], "prompt_tokens": [20], "output_tokens": [6]})
    found = serve(one, replica=SMALL)
    prefill = 3 * 1.0 + 20 * 0.125
    decode = 5 * 1.25 + 0.03125 * (21 + 22 + 23 + 24 + 25)
    assert found.requests.numpy("ttft_s") == pytest.approx([prefill])
    assert found.requests.numpy("latency_s") == pytest.approx([prefill + decode])
    assert SMALL.alone_s(np.array([20.0]), np.array([6.0])) == pytest.approx([prefill + decode])
    assert found.energy_j == pytest.approx(3.0 * (prefill + decode))


def test_power_is_that_of_idle_and_busy_seconds():
    two = table({"submit_s": [0.0, 100.0], "prompt_tokens": [1, 1], "output_tokens": [1, 1]})
    found = serve(two, replica=SMALL)
    assert found.busy_s == pytest.approx(2 * 1.125)
    assert found.span_s == pytest.approx(101.125)
    assert found.energy_j == pytest.approx(3.0 * 2.25 + 1.0 * (101.125 - 2.25))


def test_a_power_cap_slows_steps_and_takes_the_same_energy_for_their_work():
    """500 W above idle at 250 W of room: every step takes twice as long; idle power all along."""
    two = table({"submit_s": [0.0, 100.0], "prompt_tokens": [20, 1], "output_tokens": [6, 1]})
    free, capped = replace(SMALL, idle_w=100.0, busy_w=600.0), SMALL
    capped = free.capped(350.0)
    fast, slow = serve(two, replica=free), serve(two, replica=capped)
    assert slow.busy_s == pytest.approx(2 * fast.busy_s)
    assert slow.requests.numpy("latency_s") == pytest.approx(2 * fast.requests.numpy("latency_s"))
    assert slow.energy_j - 100 * slow.span_s == pytest.approx(fast.energy_j - 100 * fast.span_s)
    assert free.capped(700.0) == free
    with pytest.raises(DataError, match="above the idle power"):
        free.capped(100.0)


def test_a_cap_slows_the_simulator_as_it_slows_the_serving_law():
    """A step of 64 requests on one H100 at 700 and 220 W, prompts left out."""
    from rheostat.prediction.serving_law.configurations import Configurations
    from rheostat.prediction.serving_law.law import MEDIAN, NAMES, step

    at = table({"gpu_model": ["H100"] * 2, "gpus": [1.0] * 2, "params": [8e9] * 2,
                "app": ["llama"] * 2, "batch_cap": [64.0] * 2,
                "power_cap_w": [700.0, 220.0]})  # fmt: skip
    log = np.where([n in ("prefill", "prepare") for n in NAMES], -60.0, MEDIAN)
    time_s, energy_j, _ = (np.exp(v) for v in step(log, Configurations.of(at)))
    assert time_s[1] > 1.2 * time_s[0]
    busy_w, static_w = 64 * energy_j[0] / time_s[0], 700 * np.exp(log[NAMES.index("static")])
    capped = Replica(base_s=time_s[0], idle_w=static_w, busy_w=busy_w).capped(220.0)
    assert capped.base_s == pytest.approx(time_s[1], rel=1e-9)
    assert capped.busy_w * capped.base_s == pytest.approx(64 * energy_j[1], rel=1e-9)


def test_an_order_changes_nothing_where_nobody_waits():
    asked = requests(3, n=40)
    asked = asked.with_columns([], submit_s=np.arange(40) * 500.0)
    ends = [serve(asked, p, SMALL).requests.numpy("end_s") for p in ("fcfs", "cost-oracle")]
    assert ends[0].tolist() == ends[1].tolist()


def test_in_overload_cost_beats_first_come_and_ageing_bounds_the_longest_wait():
    rng = np.random.default_rng(1)
    n = 4000
    asked = table({"submit_s": np.cumsum(rng.exponential(0.02, n)),
                   "prompt_tokens": rng.integers(50, 2000, n),
                   "output_tokens": np.ceil(rng.exponential(200, n)) + 1})  # fmt: skip
    r = Replica(batch_cap=32)
    fcfs, cost = serve(asked, "fcfs", r).summary(), serve(asked, "cost-oracle", r).summary()
    assert cost["mean_latency_s"] < 0.8 * fcfs["mean_latency_s"]
    aged = serve(asked, "cost-oracle", r, ageing=0.05).summary()
    assert aged["p99_s"] <= cost["p99_s"]
    ahead = serve(asked, "cost-oracle", r, head_start_s=100.0).summary()
    assert cost["mean_latency_s"] < ahead["mean_latency_s"] < fcfs["mean_latency_s"]
    assert ahead["p99_s"] < cost["p99_s"]
    strict = serve(asked, "cost-oracle", r, ageing=1e9).requests.numpy("end_s")
    assert strict.tolist() == serve(asked, "fcfs", r).requests.numpy("end_s").tolist()


def test_a_bound_is_held_by_99_of_100_where_cost_alone_would_break_it():
    rng = np.random.default_rng(4)
    n = 4000
    asked = table({"submit_s": np.cumsum(rng.exponential(0.040, n)),
                   "prompt_tokens": np.ceil(rng.lognormal(6.5, 1.0, n)),
                   "output_tokens": rng.integers(20, 200, n)})  # fmt: skip
    r = Replica(batch_cap=64)
    fcfs, cost = serve(asked, "fcfs", r).summary(), serve(asked, "cost-oracle", r).summary()
    bound = 1.2 * fcfs["p99_s"]
    assert cost["p99_s"] > 2 * bound
    held = serve(asked, "cost-oracle", r, within_s=bound).summary()
    assert held["p99_s"] <= bound
    assert cost["mean_latency_s"] < held["mean_latency_s"] < 0.75 * fcfs["mean_latency_s"]
    loose = serve(asked, "cost-oracle", r, within_s=1e9).requests.numpy("end_s")
    assert loose.tolist() == serve(asked, "cost-oracle", r).requests.numpy("end_s").tolist()
    first = serve(asked, "fcfs", r, within_s=bound).summary()
    assert first == fcfs


def test_a_full_cache_puts_requests_back_and_all_are_answered():
    tight = replace(SMALL, cache_tokens=49, batch_cap=8)
    found = serve(requests(7, n=60, gap=0.5), "shortest-prompt", tight)
    assert found.returned > 0
    assert np.isfinite(found.requests.numpy("end_s")).all()


def test_what_cannot_be_served_is_named_at_once():
    bad = table({"submit_s": [0.0, math.nan], "prompt_tokens": [0, 99], "output_tokens": [1, 1]})
    with pytest.raises(DataError) as said:
        serve(bad, "best", SMALL)
    for word in ("policy", "submit_s", "prompt_tokens", "cache_tokens"):
        assert word in str(said.value)
    with pytest.raises(DataError, match="predicted"):
        serve(requests(1), "cost", SMALL)
    with pytest.raises(DataError, match="batch_cap"):
        Replica(batch_cap=0)
    with pytest.raises(DataError, match="busy_w"):
        Replica(idle_w=500.0, busy_w=100.0)
    with pytest.raises(DataError, match="ageing"):
        serve(requests(1), "cost-oracle", SMALL, ageing=math.inf)
    far = table({"submit_s": [0.0, 1e300], "prompt_tokens": [1.5, 2], "output_tokens": [1, 1]})
    with pytest.raises(
        DataError, match=r"(?s)prompt_tokens: row 0 is 1.5.*submit_s: expected a span"
    ):
        serve(far, "fcfs", SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RTX4090_Llama-3.1-8B"])
def test_a_recorded_vllm_run_is_followed(shared_data, name):
    """The requests not learned from, within 5 % in the median: what the page says."""
    from rheostat.measurement.serving.recorded_requests import read_recorded
    from rheostat.simulation.serving.calibrate import calibrate

    file = shared_data / "llm" / "llmservingsim_vllm" / f"{name}__requests.jsonl"
    made = calibrate(read_recorded(file), 100, batch_cap=256, cache_tokens=41_408)
    assert made.median_error["latency"] < 0.05


@pytest.mark.parametrize(("trace", "rates"), [
    ("azure_llm_2023/AzureLLMInferenceTrace_conv.csv", (1.0, 2.0)),
    ("azure_llm_2023/AzureLLMInferenceTrace_code.csv", (1.0, 2.0)),
    ("mooncake/conversation_trace.parquet", (0.1, 0.25)),  # some prompts take as long as the bound
])  # fmt: skip
def test_below_saturation_no_order_is_more_than_one_percent_worse(shared_data, trace, rates):
    from rheostat.measurement.serving.traffic import read_traffic

    recorded = read_traffic(shared_data / "llm" / trace)
    for rate in rates:
        asked = recorded.with_columns([], submit_s=recorded.numpy("submit_s") / rate)
        first = serve(asked).summary()
        bound = 1.2 * first["p99_s"]
        every = [serve(asked, p, **how).summary()["mean_latency_s"] for p, how in (
            ("shortest-prompt", {}), ("cost-oracle", {}), ("hrrn-oracle", {}),
            ("cost-oracle", {"head_start_s": 100.0}), ("cost-oracle", {"ageing": 1e-4}),
            ("cost-oracle", {"patience_s": 60.0}), ("cost-oracle", {"within_s": bound}),
            ("shortest-prompt", {"within_s": bound}))]  # fmt: skip
        asked_s = Replica().cost_s(asked.numpy("prompt_tokens"), asked.numpy("output_tokens"))
        assert asked_s.sum() < 0.8 * np.ptp(asked.numpy("submit_s"))
        assert max(every) < 1.0002 * first["mean_latency_s"]
