"""Ratios in closed form; every gate, failing alone, takes the claim away."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.explanation.formats.text import render
from rheostat.explanation.schedules.schedule_protocol import claims, protocol_grid, protocol_report
from rheostat.simulation.comparison.protocol import (
    GATES,
    ComparisonProtocol,
    _reach,
    fitted_of,
    judge,
)
from rheostat.simulation.comparison.sweep import Task

TRACES = ("a", "b", "c")
RULES = ComparisonProtocol(("mine",), ("easy", "sjf+easy"), {"mine": frozenset("a")}, draws=200)


def part(slowdown, longest=1000.0, seed=0):
    """A trace's part under a policy: 20 blocks whose slowdowns have this mean exactly."""
    jobs = np.full(20, 50.0)
    noise = np.random.default_rng(seed).uniform(0.8, 1.2, 20)
    sums = slowdown * 1000 * noise / noise.sum()
    spread = {"mean": slowdown, "p50": 1.0, "p95": 5.0, "p99": 9.0, "max": 99.0}
    return {
        "jobs": 1000,
        "wait_s": {"mean": 100.0, "p50": 0.0, "p95": 500.0, "p99": 800.0, "max": longest},
        "bounded_slowdown": spread,
        "utilisation": 0.7,
        "blocks": {"jobs": jobs.tolist(), "wait_s": sums.tolist(),
                   "bounded_slowdown": sums.tolist(), "longest_wait_s": [longest, 500.0]},
    }  # fmt: skip


def result(whole, later=None, longest=1000.0, known=0.0):
    return {
        "clairvoyant": known > 0,
        "clairvoyant_share": known,
        "procs": 64,
        "whole": part(whole, longest),
        "later": part(whole if later is None else later, longest),
        "logged": None,
        "cpu_s": 1.0,
    }


def replayed(ratios, rules=RULES):
    """Mine over the best order in each replay of each trace; the order itself moves, too."""
    results = {}
    for trace in TRACES:
        for k, ratio in enumerate(ratios):
            for policy, slow in (
                ("easy", 20.0),
                ("sjf+easy", 10.0 + k),
                ("mine", (10 + k) * ratio),
            ):
                results[Task(f"{trace}.swf", policy, replay=k)] = result(slow)
    return judge(results, rules)


def test_replays_give_each_ratio_an_interval_and_a_gate():
    facts = replayed((0.8, 0.8 * 1.1, 0.8 / 1.1))["policies"]["mine"]
    moved, one = facts["replayed"]["whole"], facts["replayed"]["whole"]["by_trace"]["b"]
    assert (moved["number"], one["best"], one["ratio"]) == (2, "sjf+easy", pytest.approx(0.8))
    half = 4.302653 * np.log(1.1) / np.sqrt(3)  # Student's t with two degrees of freedom
    low, high = np.log(one["low"]), np.log(one["high"])
    assert (low, high) == pytest.approx((np.log(0.8) - half, np.log(0.8) + half), rel=1e-5)
    assert not one["apart"]
    assert moved["high"] == pytest.approx(0.8)  # traces agree
    assert list(facts["replayed"]["unseen"]["by_trace"]) == ["b", "c"]
    assert facts["claim"]
    said = claims(replayed((0.8, 0.8 * 1.1, 0.8 / 1.1)))[-1]
    assert "2 replays" in said
    assert "on a, b and c they differ by less than that does" in said


def test_a_policy_that_is_better_on_the_trace_as_it_is_alone_has_no_claim():
    facts = replayed((0.8, 1.3, 1.3))["policies"]["mine"]
    assert facts["unseen"]["high"] < 1
    assert facts["failed"] == ["better"]
    assert "replayed" not in found()["policies"]["mine"]


def found(rules=RULES, **mine):
    """EASY has slowdown 20, the best order 10; mine as told, by default 8 everywhere."""
    results = {}
    for trace in TRACES:
        results[Task(f"{trace}.swf", "easy")] = result(20.0)
        results[Task(f"{trace}.swf", "sjf+easy")] = result(10.0, longest=1200.0)
        results[Task(f"{trace}.swf", "mine")] = mine.get(trace, result(8.0))
    return judge(results, rules)


def test_a_policy_that_passes_every_gate_is_claimed_with_its_interval():
    told = found()
    mine = told["policies"]["mine"]
    assert mine["failed"] == []
    assert mine["unseen"]["ratio"] == pytest.approx(0.8)
    assert mine["unseen"]["traces"] == 2
    assert mine["whole"]["by_trace"] == pytest.approx(dict.fromkeys(TRACES, 0.8))
    assert "20.0 % below the best simple order" in mine["claim"]
    assert "2 traces" in mine["claim"]
    assert claims(told) == (mine["claim"],)


@pytest.mark.parametrize(
    ("gate", "mine"),
    [
        ("better", dict.fromkeys("bc", result(11.0, 8.0))),
        ("better", {"b": result(4.0), "c": result(10.5, 8.0)}),  # good in the mean, not surely
        ("later", {"a": result(8.0, 25.0)}),
        ("max wait", {"a": result(8.0, longest=1501.0)}),
        ("max wait", {"c": result(8.0, longest=1501.0)}),
        ("known", {"b": result(8.0, known=0.02)}),
        ("known", {"a": result(8.0, known=1.0)}),
    ],
)
def test_each_gate_alone_blocks_the_claim(gate, mine):
    told = found(**mine)
    policy = told["policies"]["mine"]
    assert policy["failed"] == [gate]
    assert policy["claim"] is None
    (line,) = claims(told)
    assert " times the slowdown of the best simple order, no claim. Failed gates: " in line
    said = render(protocol_report(told), 100) + render(protocol_report(told, full=True), 100)
    assert "below the best simple order" not in said.replace("over that of the best", "")
    assert protocol_grid(told).rows[0][-1] == gate


def test_a_policy_fitted_on_every_trace_is_not_claimed():
    for traces in (frozenset(TRACES), frozenset({"all"})):
        told = found(ComparisonProtocol(("mine",), RULES.heuristics, {"mine": traces}, draws=50))
        policy = told["policies"]["mine"]
        assert policy["failed"] == ["unseen", "better"]
        assert policy["claim"] is policy["unseen"] is None
        assert "no trace that it was not fitted on" in claims(told)[0]


def test_the_limit_on_the_longest_wait_is_the_users():
    rules = ComparisonProtocol(("mine",), RULES.heuristics, RULES.fitted, max_wait=2.0, draws=50)
    assert found(rules, c=result(8.0, longest=1501.0))["policies"]["mine"]["claim"] is not None
    assert found(RULES, c=result(8.0, longest=1499.0))["policies"]["mine"]["claim"] is not None


def test_every_gate_has_words_and_is_reported():
    told = found()
    assert [g["gate"] for g in told["policies"]["mine"]["gates"]] == list(GATES)
    said = " ".join(render(protocol_report(told, full=True), 100).split())
    assert all(words in said for words in GATES.values())


def test_the_ratio_is_a_geometric_mean_over_traces_to_the_best_order_of_each():
    told = found(a=result(5.0), b=result(20.0), c=result(10.0))
    mine = told["policies"]["mine"]
    assert mine["whole"]["ratio"] == pytest.approx((0.5 * 2.0 * 1.0) ** (1 / 3))
    assert mine["whole"]["low"] <= mine["whole"]["low_within"] <= mine["whole"]["ratio"]
    assert mine["whole"]["ratio"] <= mine["whole"]["high_within"] <= mine["whole"]["high"]
    assert told["traces"]["a"]["whole"]["best"] == "sjf+easy"


def test_an_order_beyond_the_limit_is_the_bar_but_not_the_best_within_the_limit():
    results = {Task("a.swf", "easy"): result(20.0), Task("a.swf", "mine"): result(15.0)}
    results[Task("a.swf", "sjf+easy")] = result(10.0, longest=9e9)
    told = judge(results, ComparisonProtocol(("mine",), ("easy", "sjf+easy"), draws=50))
    assert told["traces"]["a"]["whole"]["best"] == "sjf+easy"
    assert told["traces"]["a"]["whole"]["best_within_limit"] == "easy"
    mine = told["policies"]["mine"]["whole"]
    assert mine["ratio"] == pytest.approx(1.5)
    assert mine["ratio_to_best_within_limit"] == pytest.approx(0.75)


def test_one_seed_one_interval_another_seed_the_same_ratio():
    mine = {name: {**result(8.0), "whole": part(x, seed=1)} for name, x in (("b", 7.0), ("c", 9.0))}
    one, again, other = (
        found(ComparisonProtocol(("mine",), RULES.heuristics, seed=s, draws=50), **mine)
        for s in (0, 0, 1)
    )
    assert one == again
    one, other = (f["policies"]["mine"]["whole"] for f in (one, other))
    assert one["ratio"] == other["ratio"]
    assert one["high_within"] != other["high_within"]
    assert one["high"] == other["high"]


def test_a_policy_against_itself_has_ratio_one_and_no_width():
    told = found(ComparisonProtocol(("sjf+easy",), ("easy", "sjf+easy"), draws=50))
    whole = told["policies"]["sjf+easy"]["whole"]
    assert (whole["ratio"], whole["low"], whole["high"]) == pytest.approx((1, 1, 1))
    assert told["policies"]["sjf+easy"]["failed"] == ["better", "later"]


def test_what_a_policy_was_fitted_on_must_be_there():
    with pytest.raises(DataError, match="trace z is not among a, b, c") as told:
        found(
            ComparisonProtocol(
                ("mine",), RULES.heuristics, {"mine": frozenset("z"), "x": frozenset("a")}
            )
        )
    assert "policy x is not among mine" in str(told.value)
    with pytest.raises(DataError, match="POLICY=TRACE"):
        fitted_of(["mine"])


def test_the_worst_block_of_jobs_is_told_beside_the_longest_wait_of_the_whole_trace():
    mine = result(8.0, longest=1000.0)
    mine["whole"]["blocks"]["longest_wait_s"] = [1000.0, 1700.0]  # EASY: 1000 and 500 s
    policy = found(b=mine)["policies"]["mine"]
    assert policy["max_wait_ratio"] == 1.0
    assert (policy["block_wait_ratio"], policy["block_wait_trace"]) == (3.4, "b")
    (gate,) = (g for g in policy["gates"] if g["gate"] == "max wait")
    assert "in the worst block of 10,000 jobs 3.4 times, on b" in gate["found"]


def test_the_interval_over_traces_is_students_and_one_trace_has_none():
    told = found(b=result(8.0), c=result(9.0))["policies"]["mine"]["unseen"]
    half = (
        12.706 * abs(np.log(8 / 9)) / 2
    )  # t of one degree of freedom; s / sqrt 2 = difference / 2
    middle = np.sqrt(0.8 * 0.9)
    assert told["ratio"] == pytest.approx(middle)
    assert told["low"] == pytest.approx(middle * np.exp(-half), rel=1e-4)
    assert told["high"] == pytest.approx(middle * np.exp(half), rel=1e-4)
    alone = found(
        ComparisonProtocol(("mine",), RULES.heuristics, {"mine": frozenset("ab")}, draws=50)
    )
    assert alone["policies"]["mine"]["unseen"]["high"] == np.inf
    assert alone["policies"]["mine"]["failed"] == ["better"]


def test_a_ratio_without_an_interval_says_so():
    """It read "at most inf"."""
    assert _reach(0.97) == "at most 0.970"
    assert _reach(float("inf")) == "of one trace without interval"
