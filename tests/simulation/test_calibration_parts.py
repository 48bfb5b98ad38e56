"""What calibration reads from a log, step by step, with step times that are given, not searched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.simulation.serving import calibrate as calibration
from rheostat.simulation.serving import hit_rate, log_limits, log_replay
from rheostat.simulation.serving.calibrate import _baselines, calibrate, errors
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.hit_rate import has_prefix_cache, read_hit_rate
from rheostat.simulation.serving.log_limits import (
    FREE_CAP,
    FREE_TOKENS,
    Limits,
    read_chunk,
    read_limits,
)
from rheostat.simulation.serving.log_replay import (
    AROUND,
    USUAL_DELAY_S,
    USUAL_RATIO,
    Recording,
    _latencies,
    fitted,
    misfit,
)
from rheostat.simulation.serving.replica import TIMES, Replica
from rheostat.simulation.serving.serve import serve

PLACE = Deployment()


def log_of(n=10, gap=100.0, prompt=1000.0, output=11.0, replica=None, **more):
    """Requests that a default replica answered, far apart."""
    asked = table({"submit_s": gap * np.arange(n), "prompt_tokens": np.full(n, prompt),
                   "output_tokens": np.full(n, output), **more})  # fmt: skip
    return serve(asked, "fcfs", replica or Replica()).requests


@pytest.fixture
def given(monkeypatch):
    """Step times are those of a default replica: what was asked for, and with which limits."""
    calls = []

    def found(log, rows, replica, place, *, generations=60, seed=0):
        calls.append((replica, place, len(rows), generations, seed))
        return replica, misfit(log, replica, place, rows)

    for module in (calibration, hit_rate, log_limits):
        monkeypatch.setattr(module, "fitted", found)
    return calls


# ---------------------------------------------------------------- a recording


def test_latencies_are_differences_and_none_is_below_a_tenth_of_a_millisecond() -> None:
    made = _latencies(np.zeros(4), np.array([0.0, 1.0, 2.0, 3.0]), np.array([5e-5, 5.0, 2.0, 3.5]),
                      np.array([2.0, 5.0, 1.0, 2.0]))  # fmt: skip
    assert made["ttft"].tolist() == [1e-4, 1.0, 2.0, 3.0]
    assert made["latency"].tolist() == [1e-4, 5.0, 2.0, 3.5]
    assert made["tpot"][[0, 1, 3]] == pytest.approx([5e-5, 1.0, 0.5])
    assert np.isnan(made["tpot"][2])


def test_a_recording_is_cut_after_the_last_answer_of_those_learned_from() -> None:
    """Who came while these were answered shares the batch, and stays."""
    moments = {"submit_s": [0.0, 1.0, 4.0, 5.0, 9.0], "end_s": [5.0, 4.0, 6.0, 8.0, 12.0],
               "prompt_tokens": [9.0] * 5, "output_tokens": [3.0] * 5}  # fmt: skip
    log = Recording.of(table({**moments, "start_s": [1.0, 2.0, 4.5, 5.5, 10.0],
                              "cached_tokens": [1.0, 2.0, 3.0, 4.0, 5.0],
                              "tool_calls": [True, False, True, False, False]}))  # fmt: skip
    assert not log.blind
    part = log.until(np.array([0, 1]))
    assert part.submit.tolist() == [0.0, 1.0, 4.0, 5.0]
    assert part.known.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert part.calls.tolist() == [True, False, True, False]
    assert part.measured["ttft"].tolist() == [1.0, 1.0, 0.5, 0.5]
    assert part.texts(np.array([0, 1, 2])).tolist() == [1]
    assert part.texts(np.array([0, 2])).tolist() == [0, 2]
    assert replace(part, calls=None).texts(np.array([0, 2])).tolist() == [0, 2]
    plain = Recording.of(table(moments))
    assert plain.blind
    assert plain.known is plain.blocks is plain.calls is None
    assert len(plain.first(2)) == 2
    assert plain.with_hit_rate(0.5).known.tolist() == [4.0] * 5


def test_a_misfit_is_mean_logarithms_first_tokens_at_less_weight_and_none_decides() -> None:
    log = Recording.of(log_of(4))
    rows, right = np.arange(4), log.measured
    assert misfit(log, Replica(), PLACE, rows) == pytest.approx(0.0, abs=1e-9)
    off = {"latency": np.array([1.0, np.e**0.5, np.e**-0.25, np.e**-7]),
           "ttft": np.array([np.e**0.5, np.e**3, 1.0, 1.0])}  # fmt: skip
    measured = {n: v * off.get(n, 1.0) for n, v in right.items()}
    seen = replace(log, measured=measured)
    whole, first = (0.0 + 0.5 + 0.25 + 1.0) / 4, (0.5 + 1.0) / 4
    assert misfit(seen, Replica(), PLACE, rows) == pytest.approx(whole + 0.3 * first)
    calls = replace(seen, calls=np.array([True, False, False, False]))
    assert misfit(calls, Replica(), PLACE, rows) == pytest.approx(whole + 0.3 * 1.0 / 3)
    blind = replace(seen, measured=measured | {"ttft": measured["ttft"] * [np.nan, 1, 1, 1]})
    assert misfit(blind, Replica(), PLACE, rows) == pytest.approx(whole)
    assert misfit(seen, Replica(), PLACE, rows[:2]) == pytest.approx(0.25 + 0.3 * 0.75)


def test_the_search_is_around_the_ratios_of_a_default_replica(monkeypatch) -> None:
    """What is asked of it, with a misfit of 0: the squares of what is off these ratios."""
    asked = {}

    def searched(loss, box, **how):
        asked.update(loss=loss, box=np.array(box), how=how)
        return type("Found", (), {"x": np.array(box).mean(axis=1)})

    def lowest(loss, x, **how):
        asked.update(corners=how["options"]["initial_simplex"], begun=x)
        return type("Found", (), {"x": x + np.array([0.1, 0.0, 0.0, 0.0, 0.4])})

    monkeypatch.setattr(log_replay, "misfit", lambda *_: 0.0)
    monkeypatch.setattr(log_replay, "differential_evolution", searched)
    monkeypatch.setattr(log_replay, "minimize", lowest)
    log = Recording.of(log_of(6))
    limits = Replica(7, 5000, 64)
    found, off = fitted(log, np.arange(3), limits, PLACE, generations=9, seed=4)
    usual = np.log([*(getattr(Replica, n) for n in TIMES), USUAL_DELAY_S])
    slower = np.log(np.median(log.measured["tpot"]) / Replica.base_s) - 0.5
    middle = usual + np.array([slower] * 4 + [0.0])
    assert asked["box"] == pytest.approx(np.column_stack([middle - AROUND, middle + AROUND]))
    assert (asked["how"]["maxiter"], asked["how"]["seed"]) == (9, 4)
    assert asked["begun"] == pytest.approx(middle)
    assert asked["corners"] == pytest.approx(np.vstack([middle, middle + 0.2 * np.eye(5)]))
    times = np.exp(middle + np.array([0.1, 0.0, 0.0, 0.0, 0.4]))
    assert [getattr(found, n) for n in (*TIMES, "delay_s")] == pytest.approx(times)
    assert (found.batch_cap, found.cache_tokens, found.chunk) == (7, 5000, 64)
    assert off == pytest.approx(USUAL_RATIO * (0.1**2 + 0.2**2) / 5)
    assert asked["loss"](usual + 3.0) == pytest.approx(USUAL_RATIO * 1.5**2 / 5)
    one = Recording.of(log_of(6, output=1.0))  # no time per token: whole answers stand for it
    fitted(one, np.arange(3), limits, PLACE)
    slower = np.log(one.measured["latency"][0] / Replica.base_s) - 0.5
    assert asked["begun"][:4] == pytest.approx(usual[:4] + slower)
    assert asked["how"]["maxiter"] == 60


# ---------------------------------------------------------------- limits


def shown(monkeypatch, best, waits=False):
    """`read_limits` of a log with so many at once, where the misfit is how far off ``best``."""
    kind, least = best

    def off(replica):
        return abs(getattr(replica, kind) - least) / 1000 if kind else 1.0

    monkeypatch.setattr(log_limits, "most_at_once", lambda log, count: (100 // count, 1000))
    monkeypatch.setattr(log_limits, "fitted", lambda log, rows, r, place, **_: (r, off(r)))
    monkeypatch.setattr(log_limits, "misfit", lambda log, r, place, rows: off(r))
    monkeypatch.setattr(log_limits, "waited", lambda *_: waits)
    log = Recording.of(log_of(4))
    return lambda stated=Limits(), place=PLACE: read_limits(log, stated, 2048, place)  # noqa: B008


@pytest.mark.parametrize(("least", "read"), [(102, 102), (104, 104), (101, 101), (90, 100)])
def test_a_batch_cap_is_looked_for_just_above_what_ran_at_once(monkeypatch, least, read) -> None:
    made = shown(monkeypatch, ("batch_cap", least))()
    assert (made.batch_cap, made.cache_tokens, made.running, made.held) == (read, None, 100, 1000)
    (note,) = made.notes
    assert note == (f"--batch-cap {read} was not stated but read from all requests, those included "
                    "that judge: state it")  # fmt: skip
    assert made.replica(64) == Replica(read, Replica.cache_tokens, 64)


@pytest.mark.parametrize(("least", "read"), [(850, 850), (1155, 1144), (1071, 1071), (1000, 1000),
                                             (50, 768), (816, 816)])  # fmt: skip
def test_a_cache_is_looked_for_on_both_sides_twice(monkeypatch, least, read) -> None:
    made = shown(monkeypatch, ("cache_tokens", least))()
    assert (made.batch_cap, made.cache_tokens) == (None, read)
    assert made.notes[0].startswith(f"--cache-tokens {read} was not stated but read from all")


def test_what_is_stated_is_kept_and_what_was_not_reached_is_said(monkeypatch) -> None:
    every = Limits(200, 5000)
    assert shown(monkeypatch, ("", 0))(every) == Limits(200, 5000, 100, 1000)
    low = shown(monkeypatch, ("", 0))(Limits(99, 5000))
    assert low.notes == ("100 requests were between first and last token at once on each server: "
                         "--batch-cap 99 is too low, or there were more",)  # fmt: skip
    assert shown(monkeypatch, ("", 0))(Limits(100, 5000)).notes == ()
    for stated, names in ((Limits(), "batch cap and cache"), (Limits(200), "cache"),
                          (Limits(cache_tokens=5000), "batch cap")):  # fmt: skip
        (note,) = shown(monkeypatch, ("", 0))(stated).notes
        assert note == (f"{names}: not stated, and not reached in this log (at most 100 requests "
                        "with 1000 tokens ran at once); under more load state them, "
                        "and expect larger errors: step times then go beyond this log")  # fmt: skip
    assert shown(monkeypatch, ("", 0), waits=True)(Limits(200)).cache_tokens == 768
    halves = shown(monkeypatch, ("batch_cap", 51))(place=Deployment(2))
    assert (halves.batch_cap, halves.running) == (51, 50)
    blind = log_of(4).select(["submit_s", "prompt_tokens", "output_tokens", "end_s"])
    monkeypatch.undo()
    for stated in (Limits(), Limits(3, 4)):
        (note,) = read_limits(Recording.of(blind), stated, 2048, PLACE).notes
        assert note.startswith("first tokens are not recorded")
    free = Limits(running=300, held=300_000).replica(2048)
    assert (free.batch_cap, free.cache_tokens) == (300, 600_000)
    assert Limits(running=3, held=3).replica(2048) == Replica()
    assert (FREE_CAP, FREE_TOKENS) == (4096, 100_000_000)


def test_of_two_limits_the_one_that_explains_more_is_read(monkeypatch) -> None:
    """Below 0.85 of the misfit without one, each; the lesser stands."""
    for cap, cache, read in ((0.5, 0.4, "cache_tokens"), (0.4, 0.5, "batch_cap"), (0.85, 0.9, "")):

        def off(replica, cap=cap, cache=cache):
            if replica.batch_cap != FREE_CAP:
                return cap
            return cache if replica.cache_tokens != FREE_TOKENS else 1.0

        run = shown(monkeypatch, ("", 0))
        monkeypatch.setattr(log_limits, "fitted", lambda log, rows, r, place, o=off, **_: (r, o(r)))
        made = run()
        names = {n for n in ("batch_cap", "cache_tokens") if getattr(made, n)}
        assert names == ({read} if read else set())


def test_the_chunk_that_explains_first_tokens_is_read_only_if_it_explains_far_more(given) -> None:
    """A prompt of 4,000 tokens takes 8 steps of 512 before its first token, and 2 of 2,048."""
    rows = np.arange(4)
    small = Recording.of(log_of(4, prompt=4000.0, replica=Replica(chunk=512)))
    assert read_chunk(small, rows, Replica(), PLACE, seed=3) == 512
    assert [c[0].chunk for c in given] == [2048, 512, 1024, 4096, 8192]
    assert {c[2:] for c in given} == {(4, 25, 3)}
    assert read_chunk(Recording.of(log_of(4, prompt=4000.0)), rows, Replica(), PLACE) == 2048
    alike = Recording.of(log_of(4, prompt=100.0))
    assert read_chunk(alike, rows, Replica(chunk=1000), PLACE) == 1000
    blind = replace(small, measured=small.measured | {"ttft": np.full(4, np.nan)})
    assert read_chunk(blind, rows, Replica(chunk=77), PLACE) == 77


# ---------------------------------------------------------------- prefix caches


def early(n, held):
    """Requests whose first ``len(held)`` prompts were in a cache as far as said; others whole."""
    known = np.zeros(n)
    known[: len(held)] = held
    made = log_of(n, prompt=2000.0, cached_tokens=known)
    log = Recording.of(made)
    return replace(log, known=None)


def test_tokens_that_a_cache_held_are_read_from_first_tokens_that_come_early(given) -> None:
    """One of ten is early: as few as are looked at.  What it saved gives what was held."""
    log, rows = early(12, [1500.0]), np.arange(10)
    made = read_hit_rate(log, rows, Replica(), PLACE, seed=5)
    assert made.rate == pytest.approx(1500 / 20_000)
    assert made.known[:10] == pytest.approx([1500.0] + [0.0] * 9, abs=1e-6)
    assert made.known[10:] == pytest.approx([150.0] * 2)  # not looked at: the mean share
    assert {c[3:] for c in given} == {(25, 5)}
    assert read_hit_rate(early(12, [1500.0]), np.arange(11), Replica(), PLACE) is None
    assert read_hit_rate(early(12, [300.0] * 5), rows, Replica(), PLACE) is None  # not early enough
    many = read_hit_rate(early(12, [1999.0, 1000.0, 700.0]), rows, Replica(), PLACE)
    assert many.rate == pytest.approx(3699 / 20_000, abs=4 / 20_000)  # in whole tokens


def test_a_cache_that_explains_little_is_not_believed(given, monkeypatch) -> None:
    log, rows = early(12, [1500.0] * 3), np.arange(10)
    assert read_hit_rate(log, rows, Replica(), PLACE) is not None
    for off, believed in ((0.59, True), (0.6, False)):
        values = iter([1.0] + [off] * 9)
        monkeypatch.setattr(
            hit_rate, "fitted", lambda log, rows, r, place, values=values, **_: (r, next(values))
        )
        assert (read_hit_rate(log, rows, Replica(), PLACE) is not None) is believed


def test_a_prefix_cache_shows_where_prompts_that_begin_alike_come_early(given) -> None:
    blocks = [[1, 2, 3, 4]] * 6
    held = serve(table({"submit_s": 100.0 * np.arange(6), "prompt_tokens": [2000.0] * 6,
                        "output_tokens": [9.0] * 6, "prefix_blocks": blocks}), "fcfs", Replica(),
                 deployment=Deployment(prefix_cache_tokens=400_000)).requests  # fmt: skip
    rows, log = np.arange(4), Recording.of(held)
    assert has_prefix_cache(log, rows, Replica(), PLACE)
    assert [c[1].prefix_cache_tokens for c in given] == [0, 400_000]
    whole = log_of(6, prompt=2000.0, output=9.0, prefix_blocks=blocks)
    assert not has_prefix_cache(Recording.of(whole), rows, Replica(), PLACE)
    different = log_of(6, prompt=2000.0, prefix_blocks=[[10 * k + j for j in range(4)]
                                                        for k in range(6)])  # fmt: skip
    assert not has_prefix_cache(Recording.of(different), rows, Replica(), PLACE)  # as well without
    asked = len(given)
    for other in (replace(log, blocks=None), replace(log, known=np.zeros(6)),
                  replace(log, measured=log.measured | {"ttft": np.full(6, np.nan)})):  # fmt: skip
        assert not has_prefix_cache(other, rows, Replica(), PLACE)
    for place in (Deployment(2), Deployment(prefix_cache_tokens=5)):
        assert not has_prefix_cache(log, rows, Replica(), place)
    assert len(given) == asked


# ---------------------------------------------------------------- the whole


def test_a_log_of_a_default_replica_is_followed_without_an_error(given) -> None:
    made = calibrate(log_of(40), batch_cap=256, cache_tokens=400_000, chunk=2048, seed=7)
    assert made.learned == 20
    assert made.replica == Replica()
    assert made.deployment == PLACE
    for off in (made.learned_error, made.median_error, made.p90_error):
        assert max(off.values()) < 1e-9
    assert made.hit_rate == 0.0
    assert given[-1][2:] == (20, 60, 7)
    assert calibrate(log_of(400), 30, batch_cap=256, cache_tokens=400_000, chunk=2048).learned == 30
    long = calibrate(log_of(400), batch_cap=256, cache_tokens=400_000, chunk=2048)
    assert long.learned == 100
    assert calibrate(log_of(4), batch_cap=256, cache_tokens=400_000, chunk=2048).learned == 2
    assert calibrate(log_of(5), 3, batch_cap=256, cache_tokens=400_000, chunk=2048).learned == 3
    with pytest.raises(DataError, match="expected 4 requests or more, got 1 of 3"):
        calibrate(log_of(3))
    with pytest.raises(DataError, match="expected 2 to 2 to learn, got 3 of 4"):
        calibrate(log_of(4), 3)


def test_a_stated_share_of_prompts_is_held_by_a_cache(given) -> None:
    rng = np.random.default_rng(0)
    asked = log_of(20, prompt=2000.0, cached_tokens=np.full(20, 1200.0))
    blind_of = asked.select([c for c in asked.columns if c != "cached_tokens"])
    made = calibrate(blind_of, batch_cap=256, cache_tokens=400_000, chunk=2048, hit_rate=0.6)
    assert made.hit_rate == 0.6
    assert max(made.median_error.values()) < 1e-9
    known = calibrate(asked, batch_cap=256, cache_tokens=400_000, chunk=2048, hit_rate=0.1)
    assert known.hit_rate == 0.0
    assert max(known.median_error.values()) < 1e-9
    held = np.where(rng.random(40) < 0.5, 1500.0, 0.0)
    some = log_of(40, prompt=2000.0, cached_tokens=held)
    some = some.select([c for c in some.columns if c != "cached_tokens"])
    read = calibrate(some, batch_cap=256, cache_tokens=400_000, chunk=2048)
    share = held[:20].mean() / 2000
    assert read.hit_rate == pytest.approx(share, abs=1 / 2000)  # in whole tokens
    assert read.notes[0].startswith(f"--hit-rate {share:.2f} was read from when first tokens came")


def test_a_prefix_cache_and_a_chunk_that_nobody_stated_are_said(given) -> None:
    asked = table({"submit_s": 100.0 * np.arange(20), "prompt_tokens": [4000.0] * 20,
                   "output_tokens": [9.0] * 20,
                   "prefix_blocks": [[k // 2 * 10 + j for j in range(8)]
                                     for k in range(20)]})  # fmt: skip
    held = Deployment(prefix_cache_tokens=400_000)
    made = calibrate(serve(asked, "fcfs", Replica(), deployment=held).requests,
                     batch_cap=256, cache_tokens=400_000)  # fmt: skip
    assert made.deployment == held
    assert made.notes == ("--prefix-cache 400000 was not stated: prompts that begin alike have "
                          "early first tokens",)  # fmt: skip
    assert max(made.median_error.values()) < 1e-9
    stated = calibrate(serve(asked, "fcfs", Replica(), deployment=held).requests,
                       batch_cap=256, cache_tokens=400_000, deployment=held)  # fmt: skip
    assert stated.notes == ()
    small = serve(asked, "fcfs", Replica(chunk=512)).requests
    made = calibrate(small, batch_cap=256, cache_tokens=400_000)
    assert made.replica.chunk == 512
    assert made.notes == ("--chunk 512 was not stated: first tokens come as if a step prefilled so "
                          "many prompt tokens; state it",)  # fmt: skip
    assert calibrate(small, batch_cap=256, cache_tokens=400_000, chunk=512).notes == ()


def test_tool_calls_whose_first_tokens_come_late_are_known_from_five_on(given) -> None:
    for number, delay in ((4, 0.0), (5, 0.03), (9, 0.03)):
        calls = np.arange(40) < number
        late = log_of(40, tool_calls=calls, replica=Replica(tool_delay_s=0.03))
        made = calibrate(late, batch_cap=256, cache_tokens=400_000, chunk=2048)
        assert made.replica.tool_delay_s == pytest.approx(delay, abs=1e-9)
    soon = log_of(40, tool_calls=np.arange(40) < 9)
    soon = soon.with_columns([], start_s=soon.numpy("start_s") - 0.001)
    assert calibrate(soon, batch_cap=256, cache_tokens=400_000,
                     chunk=2048).replica.tool_delay_s == 0.0  # fmt: skip


def test_replicas_work_in_turns_by_least_work_or_as_one(given) -> None:
    rng = np.random.default_rng(1)
    n = 60
    asked = table({"submit_s": np.cumsum(rng.exponential(0.02, n)),
                   "prompt_tokens": rng.integers(100, 3000, n).astype(float),
                   "output_tokens": rng.integers(20, 90, n).astype(float)})  # fmt: skip
    whole = Replica(512, 800_000, 4096)
    for made_by, place, kept in (
        (Replica(), Deployment(2, "least-work"), 2), (Replica(), Deployment(2, "round-robin"), 2),
        (whole, Deployment(), 1),
    ):  # fmt: skip
        given.clear()
        recorded = serve(asked, "fcfs", made_by, deployment=place).requests
        made = calibrate(recorded, 30, batch_cap=256, cache_tokens=400_000, chunk=2048,
                         deployment=Deployment(2))  # fmt: skip
        assert (made.deployment.replicas, made.deployment.routing) == (kept, place.routing)
        assert made.replica == made_by
        together = "the 2 replicas step together" in " ".join(made.notes)
        assert together is (kept == 1)
        ways = [(r.batch_cap, d.replicas, d.routing) for r, d, *_ in given[-3:]]
        assert ways == [(256, 2, "least-work"), (256, 2, "round-robin"), (512, 1, "round-robin")]
    given.clear()
    split = Deployment(2, prefill_replicas=1)
    recorded = serve(asked, "fcfs", Replica(), deployment=split).requests
    made = calibrate(
        recorded, 30, batch_cap=256, cache_tokens=400_000, chunk=2048, deployment=split
    )
    assert made.deployment == split
    assert [c[1] for c in given if c[3] == 60] == [split]


def test_errors_and_baselines_by_hand() -> None:
    log = Recording(np.zeros(4), np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 1.0, 2.0, 5.0]),
                    np.ones(4), {"ttft": np.full(4, np.nan),
                                 "tpot": np.array([np.nan, 2.0, 4.0, 1.0]),
                                 "latency": np.array([2.0, 3.0, 5.0, 9.0])})  # fmt: skip
    guess = {"ttft": np.ones(4), "tpot": np.array([1.0, 3.0, 1.0, 9.0]),
             "latency": np.array([4.0, 3.0, 4.0, 4.5])}  # fmt: skip
    off = errors(log, guess, np.arange(3))
    assert np.isnan(off["ttft"])
    assert off["tpot"] == pytest.approx((0.5 + 0.75) / 2)
    assert off["latency"] == pytest.approx(0.2)
    assert errors(log, guess, np.arange(4), 1.0)["latency"] == pytest.approx(1.0)
    made = _baselines(log, np.arange(3))
    assert made["median"]["latency"].tolist() == [3.0] * 4
    assert made["median"]["tpot"].tolist() == [3.0] * 4
    line = made["tokens"]["latency"]  # 1 + prompt + (output - 1), through all three
    assert line == pytest.approx([2.0, 3.0, 5.0, 9.0])
    assert np.isnan(made["tokens"]["ttft"]).all()
    falls = replace(log, measured=log.measured | {"latency": np.array([5.0, 3.0, 1.0, 9.0])})
    assert _baselines(falls, np.arange(3))["tokens"]["latency"].min() == pytest.approx(1.0)


def test_costs_that_few_at_once_do_not_tell_apart_are_said_to_be_shared():
    """A request costs .35 ms a step and its cached tokens nothing: at most 12 at once fit both."""
    at = np.arange(120)
    asked = table({"submit_s": 0.45 * at, "prompt_tokens": 300 + 40 * (at % 7),
                      "output_tokens": 100 + 30 * (at % 5)})  # fmt: skip
    server = Replica(batch_cap=32, base_s=0.018, request_s=3.5e-4, context_s=0.0, prefill_s=9e-5)
    made = calibrate(serve(asked, "fcfs", server).requests, batch_cap=32, chunk=2048)
    (said,) = [n for n in made.notes if "not told apart" in n]
    assert "what a running request costs a step and what its cached tokens cost" in said
