"""Parts of the served model against closed forms: bounds, keys, sums, what is compared and how."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rheostat.core.vocabulary import table
from rheostat.decision.serving.waiting_line import SLOWER, latest_begin
from rheostat.errors import DataError
from rheostat.simulation.serving import order_gain
from rheostat.simulation.serving import serve as server
from rheostat.simulation.serving.continuous_batching import run
from rheostat.simulation.serving.deployment import (
    MOST_REPLICAS,
    Admission,
    Answered,
    Asked,
    Deployment,
    through,
)
from rheostat.simulation.serving.order_gain import Ratio, _again, _ratio, order_gains, verdict
from rheostat.simulation.serving.replica import MOST_AT_ONCE, MOST_TOKENS, Replica, too_long
from rheostat.simulation.serving.routing import PrefixBlocks
from rheostat.simulation.serving.serve import LONGEST_S, POLICIES, Served, _answering, serve
from tests.simulation.plain_server import SMALL, plain, requests

ABOVE_0 = ("batch_cap", "cache_tokens", "chunk", "base_s")
FROM_0 = ("request_s", "context_s", "prefill_s", "idle_w", "busy_w", "delay_s", "tool_delay_s")


# ---------------------------------------------------------------- what may be stated


@pytest.mark.parametrize("name", FROM_0)
def test_times_and_watts_of_a_replica_are_finite_and_from_0_on(name) -> None:
    free = Replica(**dict.fromkeys(FROM_0, 0.0))
    assert getattr(free, name) == 0.0
    for value in (np.inf, np.nan, -1e-9):
        with pytest.raises(DataError, match=f"{name}: expected 0 or more, got {value}"):
            replace(free, **{"busy_w": 1.0, name: value})


@pytest.mark.parametrize("name", ABOVE_0)
def test_limits_of_a_replica_are_above_0(name) -> None:
    for value in (0, -1, np.nan):
        with pytest.raises(DataError, match=f"{name}: expected a number above 0, got {value}"):
            Replica(**{name: value})


def test_bounds_themselves_are_allowed() -> None:
    assert Replica(batch_cap=MOST_AT_ONCE, idle_w=5.0, busy_w=5.0).busy_w == 5.0
    with pytest.raises(DataError, match="batch_cap: expected 100,000,000 at most, got 10000000"):
        Replica(batch_cap=MOST_AT_ONCE + 1)
    with pytest.raises(DataError, match=r"busy_w: expected idle_w \(5\) or more, got 4"):
        Replica(idle_w=5.0, busy_w=4.0)
    assert too_long("x", np.array([MOST_TOKENS])) == []
    assert too_long("x", np.array([1.0, MOST_TOKENS + 1, 2.0, 1e9])) == [
        "x: expected 10,000,000 at most, got 1e+07 in row 1, and 1 more row"]  # fmt: skip
    most = Deployment(MOST_REPLICAS, prefill_replicas=MOST_REPLICAS)
    assert most == replace(Deployment(), replicas=10_000, prefill_replicas=10_000)
    for name in ("prefix_cache_tokens", "prefill_replicas", "transfer_s"):
        assert getattr(Deployment(**{name: 0}), name) == 0
        for value in (-1, np.inf, np.nan):
            with pytest.raises(DataError, match=f"{name}: expected 0 or more, got {value}"):
                Deployment(**{name: value})
    with pytest.raises(DataError, match="replicas: expected 1 or more, got 0"):
        Deployment(0)


def test_what_a_trace_may_hold_ends_where_it_is_said_to() -> None:
    """Each bound itself is served; one beyond it is refused with its row."""

    def asked(**changed):
        given = {"submit_s": [0.0, 1.0, 2.0], "prompt_tokens": [1.0, 2.0, 3.0],
                 "output_tokens": [1.0, 2.0, 3.0]}  # fmt: skip
        return table(given | changed)

    r = replace(SMALL, cache_tokens=6)
    assert np.isfinite(serve(asked(), "fcfs", r).requests.numpy("end_s")).all()
    for changed, said in (
        ({"prompt_tokens": [1.0, 2.0, 4.0]}, "cache_tokens: row 2 needs 7 of 6"),
        ({"output_tokens": [1.0, 6.0, 4.0]}, "cache_tokens: row 1 needs 8 of 6, and 1 more row"),
        ({"output_tokens": [1.0, 0.5, 0.0]}, "output_tokens: row 1 is 0.5, and 1 more row"),
        ({"submit_s": [0.0, np.inf, 1.0]}, "submit_s: row 1 is inf"),
        ({"submit_s": [0.0, 1.0, 2 * LONGEST_S]}, "submit_s: expected a span of 1e.10 s at most"),
    ):
        with pytest.raises(DataError, match=said):
            serve(asked(**changed), "fcfs", r)
    wide = serve(asked(submit_s=[-5.5, 1.0, LONGEST_S - 5.5]), "fcfs", r)
    assert wide.span_s >= LONGEST_S
    with pytest.raises(DataError, match="expected at least one request"):
        serve(asked().rows(np.arange(0)), "fcfs", r)
    for predicted in ([1.0, 1.0, 0.99], [1.0, np.nan, 1.0], [1.0, np.inf, 1.0]):
        with pytest.raises(DataError, match="predicted_tokens: expected numbers from 1 on"):
            serve(asked(), "cost", r, predicted=np.array(predicted))
    assert serve(asked(), "cost", r, predicted=np.ones(3)).returned >= 0
    for name in ("ageing", "head_start_s"):
        for value in (-1.0, np.inf, np.nan):
            with pytest.raises(DataError, match="expected finite numbers from 0"):
                serve(asked(), "cost-oracle", r, **{name: value})


# ---------------------------------------------------------------- what an order goes by


@pytest.fixture
def ordered(monkeypatch):
    """The order and the requests that `serve` hands on; each is answered 10 s after it came."""
    handed = {}

    def given_to(deployment, replica, asked, order):
        handed.update(vars(order), asked=asked, deployment=deployment)
        return Answered(asked.submit + 10.0, asked.submit + 40.0, 30.0, 6.0, 2, 0.25)

    monkeypatch.setattr(server, "through", given_to)

    def ask(policy="fcfs", replica=SMALL, **how):
        trace = table({"submit_s": SUBMIT, "prompt_tokens": PROMPT, "output_tokens": OUTPUT,
                       "tool_calls": [False, True, False]})  # fmt: skip
        handed["made"] = serve(trace, policy, replica, **how)
        return handed

    return ask


SUBMIT, PROMPT, OUTPUT = np.array([[7.0, 9.0, 12.0], [9.0, 3.0, 20.0], [5.0, 30.0, 2.0]])
PREDICTED = np.array([4.0, 8.0, 16.0])


@pytest.mark.parametrize(
    ("policy", "length"),
    [("cost", PREDICTED), ("cost-oracle", OUTPUT), ("hrrn", PREDICTED), ("hrrn-oracle", OUTPUT)],
)
def test_keys_are_costs_of_predicted_or_true_lengths(ordered, policy, length) -> None:
    how = ordered(policy, predicted=PREDICTED, patience_s=3.0, ageing=0.5)
    cost, ratio = SMALL.cost_s(PROMPT, length), policy.startswith("hrrn")
    assert how["key"] == pytest.approx(cost + (0.0 if ratio else 0.5) * (SUBMIT - 7.0))
    assert how["by_ratio"] is ratio
    assert how["patience_s"] == (np.inf if ratio else 3.0)
    assert np.isinf(how["latest_s"]).all()
    assert np.isinf(how["due_s"]).all()
    assert how["asked"].expected_s == pytest.approx(SMALL.cost_s(PROMPT, PREDICTED))


def test_keys_of_the_other_orders_and_a_head_start(ordered) -> None:
    assert ordered("fcfs", ageing=0.0)["key"].tolist() == SUBMIT.tolist()
    assert ordered("shortest-prompt")["key"].tolist() == PROMPT.tolist()
    assert ordered("shortest-answer", predicted=PREDICTED)["key"].tolist() == PREDICTED.tolist()
    for policy, own in (("shortest-prompt", PROMPT), ("fcfs", 0 * PROMPT)):
        ahead = ordered(policy, head_start_s=3.0)["key"]
        wanted = SUBMIT + 3.0 * np.log10(own) if policy != "fcfs" else SUBMIT
        assert np.diff(ahead) == pytest.approx(np.diff(wanted))
    usual = ordered("shortest-prompt")["asked"].expected_s
    assert usual == pytest.approx(SMALL.cost_s(PROMPT, np.full(3, OUTPUT.mean())))
    assert list(POLICIES) == ["fcfs", "shortest-prompt", "shortest-answer", "cost", "hrrn",
                              "cost-oracle", "hrrn-oracle"]  # fmt: skip
    least = ordered("hrrn-oracle", replace(SMALL, base_s=1e-12, request_s=0.0, context_s=0.0,
                                           prefill_s=0.0))["key"]  # fmt: skip
    assert least.tolist() == [1e-9] * 3


def test_a_bound_turns_into_latest_moments_to_begin(ordered) -> None:
    for policy, seen in (("cost-oracle", OUTPUT), ("shortest-prompt", np.full(3, OUTPUT.mean()))):
        how = ordered(policy, within_s=100.0, patience_s=4.0, ageing=2.0)
        assert how["key"] == pytest.approx(SLOWER * SMALL.cost_s(PROMPT, seen))
        wanted = latest_begin(SUBMIT, 100.0, _answering(SMALL, PROMPT, seen))
        assert how["latest_s"] == pytest.approx(wanted)
        assert how["due_s"].tolist() == [107.0, 109.0, 112.0]
        assert how["patience_s"] == np.inf
    for policy in ("fcfs", "hrrn-oracle"):
        how = ordered(policy, within_s=100.0)
        assert np.isinf(how["latest_s"]).all()
    assert ordered("fcfs")["patience_s"] == np.inf
    assert ordered("fcfs", patience_s=4.0)["patience_s"] == 4.0


def test_answering_takes_as_long_as_in_a_full_batch_of_the_means() -> None:
    """Mean prompt 10, mean answer 4: 60 / 14 fit the cache, 8 x 4 / 10 what a chunk prefills."""
    prompt, output = np.array([5.0, 15.0]), np.array([2.0, 6.0])
    for r, running in ((SMALL, 3.0), (replace(SMALL, batch_cap=4), 3.2),
                       (replace(SMALL, batch_cap=9, chunk=80), 60 / 14)):  # fmt: skip
        step_s = 1.0 + running * (0.25 + 0.03125 * 12) + r.chunk * 0.125
        made = _answering(r, prompt, output)
        assert made == pytest.approx((output + prompt / r.chunk) * step_s)


def test_sums_are_those_of_the_replicas_and_clients_see_them_later(ordered) -> None:
    """Two and one replicas, 30 busy seconds, from 7 s to 52 s and half a second on the way."""
    r = replace(SMALL, delay_s=0.5, tool_delay_s=4.0)
    how = ordered("fcfs", r, deployment=Deployment(2, prefill_replicas=1))
    made = how["made"]
    assert how["asked"].submit.tolist() == [7.5, 9.5, 12.5]
    assert how["asked"].blocks is how["asked"].known is None
    assert made.requests.numpy("ttft_s").tolist() == [10.5, 14.5, 10.5]
    assert made.requests.numpy("start_s").tolist() == [17.5, 23.5, 22.5]
    assert made.requests.numpy("latency_s").tolist() == [40.5] * 3
    assert made.requests.numpy("end_s").tolist() == [47.5, 49.5, 52.5]
    assert (made.span_s, made.busy_s, made.queued_s) == (45.5, 10.0, 2.0)
    assert made.energy_j == 3.0 * 30.0 + 1.0 * (3 * 45.5 - 30.0)
    assert (made.returned, made.known_share) == (2, 0.25)
    dear = ordered("fcfs", replace(r, idle_w=1.0))["made"]
    assert dear.energy_j == 3.0 * 30.0 + 1.0 * 15.5


def test_a_summary_is_quantiles_and_shares_of_the_span() -> None:
    late = np.arange(101.0)
    made = Served(
        table({"latency_s": late, "ttft_s": 2 * late[::-1]}), 50.0, 20.0, 5.0, 7.0, 3, 0.4
    )
    assert made.summary() == {
        "mean_latency_s": 50.0, "p50_s": 50.0, "p99_s": 99.0, "ttft_p99_s": 198.0,
        "busy_share": 0.4, "queued_share": 0.1, "energy_j": 7.0, "returned": 3.0,
        "known_share": 0.4}  # fmt: skip


# ---------------------------------------------------------------- replicas


def test_two_stages_are_two_servers_one_after_the_other() -> None:
    """Sums over both, the share of a cache that prefill held, and who waits in which."""
    rng = np.random.default_rng(3)
    n, r = 30, replace(SMALL, cache_tokens=50, batch_cap=8)
    submit = np.cumsum(rng.exponential(0.4, n))
    prompt, output = (rng.integers(1, 25, n).astype(float) for _ in range(2))
    output[4] = 1.0
    known = np.where(np.arange(n) % 3 == 0, 1000.0, 2.0)
    asked = Asked(submit, prompt, output, r.cost_s(prompt, output), None, known)
    never = np.full(n, np.inf)
    order = Admission(submit, never, never)
    split = Deployment(1, prefill_replicas=1, transfer_s=0.01)
    made = through(split, r, asked, order)
    held = np.minimum(known, prompt - 1)
    assert made.known_share == pytest.approx(held.sum() / prompt.sum())
    one = through(Deployment(), r, replace(asked, output=np.ones(n)), order)
    assert made.first.tolist() == one.first.tolist()
    assert made.end[4] == one.end[4]
    more = np.flatnonzero(output > 1)
    moved = one.end[more] + 0.01 * prompt[more]
    at, whole = np.argsort(moved, kind="stable"), prompt[more].astype(np.int64) + 1
    _, end, busy_s, queued_s, returned = run(
        (moved - moved.min())[at], whole[at], (output[more] - 1).astype(np.int64)[at],
        whole[at].copy(), False, submit[more][at], r.batch_cap, r.cache_tokens, r.chunk, r.base_s,
        r.request_s, r.context_s, r.prefill_s, np.inf, False, never[more], never[more],
    )  # fmt: skip
    assert made.end[more][at] == pytest.approx(end + moved.min())
    assert returned > 0
    assert (made.busy_s, made.queued_s) == pytest.approx((one.busy_s + busy_s,
                                                          one.queued_s + queued_s))  # fmt: skip
    assert made.returned == one.returned + returned
    alone = through(split, r, replace(asked, output=np.ones(n)), order)
    assert alone.end.tolist() == one.end.tolist()
    assert alone.known_share == made.known_share


def test_a_share_of_a_cache_counts_the_tokens_of_all_prompts() -> None:
    never = np.full(2, np.inf)
    blocks = PrefixBlocks(np.array([0, 1, 0, 1]), np.array([0, 2, 4]), 2, 8)
    asked = Asked(np.array([0.0, 50.0]), np.full(2, 16.0), np.full(2, 2.0), np.ones(2), blocks)
    order = Admission(asked.submit, never, never)
    for split in (Deployment(prefix_cache_tokens=16),
                  Deployment(1, prefix_cache_tokens=16, prefill_replicas=1)):  # fmt: skip
        assert through(split, SMALL, asked, order).known_share == 15 / 32


def test_numbers_of_blocks_are_taken_as_they_are_unless_they_span_far_more_than_there_are() -> None:
    near, far = (PrefixBlocks.of(pl.Series([[a, b]])) for a, b in ((1000, 1002), (5, 10**9)))
    assert (near.blocks.tolist(), near.kinds) == ([0, 2], 3)
    assert (far.blocks.tolist(), far.kinds) == ([0, 1], 2)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bound", [5.0, 25.0, 60.0])
def test_of_equal_costs_the_earliest_deadline_is_given_up(seed, bound) -> None:
    """Costs of whole seconds, so that many are alike; as the plain server has it."""
    r = replace(SMALL, batch_cap=2, cache_tokens=60)
    asked = requests(seed, n=150, gap=2.0)
    submit, prompt, output = (asked.numpy(c) for c in asked.columns)
    key = np.ceil(r.cost_s(prompt, output) / 4.0) * 4.0
    latest, due = submit + bound - prompt, submit + bound
    first, end = plain(submit, prompt.astype(int), output.astype(int), key, r, None, np.inf,
                       False, latest, due)  # fmt: skip
    whole = (a.astype(np.int64) for a in (prompt, output, 0 * prompt))
    made = run(submit, *whole, True, key, r.batch_cap, r.cache_tokens, r.chunk, r.base_s,
               r.request_s, r.context_s, r.prefill_s, np.inf, False, latest, due)  # fmt: skip
    assert made[0] == pytest.approx(first, rel=1e-12)
    assert made[1] == pytest.approx(end, rel=1e-12)


# ---------------------------------------------------------------- whether an order helps


def test_a_ratio_is_the_first_run_with_quantiles_of_the_others() -> None:
    assert _ratio([5.0, 1.0, 3.0]) == Ratio(5.0, pytest.approx(1.1), pytest.approx(2.9))
    assert _ratio([2.0]) == Ratio(2.0, 2.0, 2.0)
    assert [Ratio(1.0, low, high).sign for low, high in
            ((0.9, 0.98), (0.9, 0.9799), (1.02, 1.1), (1.0201, 1.1))] == [0, -1, 0, 1]  # fmt: skip
    assert str(Ratio(0.9, 0.9, 0.9)) == "-10 % [-10, -10]"
    assert str(Ratio(0.9, 0.91, 0.92)) == "-10 % as they came (-9 to -8 % with other arrivals)"


def test_the_order_with_the_largest_single_gain_is_named() -> None:
    def ratios(latency, p99):
        return {"mean_latency_s": Ratio(latency, latency, latency), "p99_s": Ratio(p99, p99, p99)}

    said = verdict({"a": ratios(0.6, 0.6), "b": ratios(0.5, 0.9), "c": ratios(1.0, 0.1)})
    assert said.startswith("an order can help: c has its 99th percentile -90 % [-90, -90], beside")
    said = verdict({"a": ratios(0.6, 0.6), "b": ratios(0.5, 0.9)})
    assert said.startswith("an order can help: b has mean latency -50 % [-50, -50], its 99th")
    none = "no order is better than first come, first served by more than runs with other "
    assert verdict({"a": ratios(1.5, 0.99)}) == verdict({}) == (
        none + "arrivals differ (90% intervals, 2 % or more)")  # fmt: skip


def test_blocks_of_gaps_are_drawn_around_the_end_and_stretched_to_the_same_load() -> None:
    class Drawn:
        def __init__(self, starts):
            self.starts = np.array(starts)

        def integers(self, low, high, count):
            assert (low, high, count) == (0, self.gaps, len(self.starts))
            return self.starts

    def again(gaps, starts):
        drawn = Drawn(starts)
        drawn.gaps = len(gaps)
        moments = 3.0 + np.concatenate([[0.0], np.cumsum(gaps)])
        return _again(table({"submit_s": moments}), drawn).numpy("submit_s")

    assert np.diff(again([1.0, 2.0, 3.0, 4.0], [3, 3, 0, 1])) == pytest.approx(
        np.array([4, 4, 1, 2]) * 10 / 11)  # fmt: skip
    gaps = np.arange(41.0)
    starts = [40, *range(20)]  # blocks of two; the last is cut
    drawn = np.array([40, 0, *[g for s in range(20) for g in (s, s + 1)]])[:41]
    assert np.diff(again(gaps, starts)) == pytest.approx(drawn * gaps.sum() / drawn.sum())
    assert again([0.0, 8.0], [0, 0]).tolist() == [3.0] * 3  # nothing to stretch
    one = table({"submit_s": [5.0]})
    assert _again(one, np.random.default_rng(0)) is one
    flat = table({"submit_s": [5.0, 5.0]})
    assert _again(flat, np.random.default_rng(0)) is flat


def test_each_order_is_served_as_often_as_asked_and_less_often_on_long_traces(monkeypatch) -> None:
    asked = requests(1, n=10)
    seen = []

    def served(run_, policy):
        seen.append(policy)
        late = np.arange(1.0, 11.0) * {"fcfs": 1.0, "a": 2.0, "b": 0.5}[policy]
        return Served(table({"latency_s": late, "ttft_s": late}), 1.0, 1.0, 1.0, 1.0, 0)

    made = order_gains(asked, ["fcfs", "a", "b"], served, replays=7)
    assert seen == ["fcfs", "a", "b"] * 8
    assert {p: {r.value for r in q.values()} for p, q in made.items()} == {"a": {2.0}, "b": {0.5}}
    assert set(made["a"]) == {"mean_latency_s", "p99_s", "ttft_p99_s"}
    for most, runs in ((100, 5), (0, 4), (1000, 7)):
        monkeypatch.setattr(order_gain, "MOST", most)
        seen.clear()
        order_gains(asked, ["fcfs", "a", "b"], served, replays=7)
        assert len(seen) == 3 * (1 + runs)
