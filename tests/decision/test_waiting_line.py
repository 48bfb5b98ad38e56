"""Who is next where a bound is to be held: the rule of the simulator, and what it learns."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.decision.serving import waiting_line
from rheostat.decision.serving.dispatch_queue import DispatchQueue
from rheostat.decision.serving.waiting_line import GIVEN_UP, SLOWER, BoundLine, latest_begin
from rheostat.simulation.serving import deadlines

COMPILED = ("tree", "wait", "leave", "next_row", "_above", "_cheaper", "_dearer", "_first_below",
            "_until")  # fmt: skip


@pytest.fixture(scope="module")
def plain():
    """The simulator's rule as it is written, not compiled: seconds less."""
    with pytest.MonkeyPatch.context() as patch:
        for name in COMPILED:
            function = getattr(deadlines, name)
            patch.setattr(deadlines, name, getattr(function, "py_func", function))
        yield deadlines


class Place:
    """Stands for a future."""

    def done(self):
        return False


def filled(line, clock, costs, gaps):
    places = []
    for cost, gap in zip(costs, gaps, strict=True):
        clock[0] += gap
        places.append(Place())
        line.push(cost, places[-1])
    return places


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), bound_s=st.sampled_from([0.5, 20.0, 60.0, 1e6]))
def test_the_next_is_the_one_that_the_simulator_takes(plain, seed, bound_s):
    rng, clock, n = np.random.default_rng(seed), [0.0], 30
    costs, gaps = rng.integers(1, 40, n) / 8, rng.integers(0, 16, n) / 8
    line = BoundLine(1, 1, bound_s, clock=lambda: clock[0])
    places = filled(line, clock, costs.tolist(), gaps.tolist())
    scaled = SLOWER * costs
    latest = latest_begin(np.cumsum(gaps), bound_s, costs)
    due = np.cumsum(gaps) + bound_s
    ahead, late, answered_late = plain.tree(latest), np.zeros(n, np.bool_), 0
    for row in range(n):
        plain.wait(ahead, row, scaled, latest)
    waiting = set(range(n))
    while waiting:
        cheapest = min(waiting, key=lambda i: (scaled[i], late[i], latest[i], i))
        allowed = GIVEN_UP * n - late.sum() - answered_late
        row, _ = plain.next_row(ahead, cheapest, scaled, clock[0], late, allowed, scaled.max())
        plain.leave(ahead, row, scaled)
        late[row] = False
        waiting.discard(row)
        place = line.pop()
        assert costs[places.index(place)] == costs[row]
        clock[0] += costs[row]
        answered_late += clock[0] > due[row]
        line.ended(place, costs[row], answered=True)
    assert line.pop() is None


def test_two_thousand_requests_keep_a_bound_that_cost_alone_would_break():
    """One place; a tenth costs ten times as much, and a fifth more comes than is worked off."""
    rng = np.random.default_rng(1)
    costs = np.where(rng.random(2000) < 0.1, 10.0, 1.0)
    comes = np.cumsum(rng.exponential(1.6, 2000))
    late, mean = {}, {}
    for name, bound_s in (("cost", math.inf), ("bound", 700.0)):
        clock, at, i = [0.0], {}, 0
        line = BoundLine(1, 1, bound_s if bound_s < math.inf else 1e9, clock=lambda c=clock: c[0])
        now, waits = 0.0, []
        while len(waits) < len(costs):
            while i < len(costs) and comes[i] <= now:
                clock[0], place = comes[i], Place()
                line.push(costs[i], place)
                at[place], i = i, i + 1
            clock[0] = now
            place = line.pop()
            if place is None:
                now = comes[i]
                continue
            now += costs[at[place]]
            clock[0] = now
            line.ended(place, costs[at[place]], answered=True)
            waits.append(now - comes[at[place]])
        late[name], mean[name] = np.mean(np.array(waits) > 700.0), np.mean(waits)
    assert late["cost"] > 0.02
    assert late["bound"] < 0.01
    fcfs = np.array([0.0, 0.0])  # when the place is free, sum of latencies
    for come, cost in zip(comes, costs, strict=True):
        fcfs[0] = max(fcfs[0], come) + cost
        fcfs[1] += fcfs[0] - come
    assert mean["cost"] < mean["bound"] < 0.6 * fcfs[1] / len(costs)


@pytest.mark.parametrize(("took_s", "first"), [(1.0, 1.0), (10.0, 1.0), (11.0, 8.0)])
def test_an_answer_that_was_late_uses_up_what_may_be_late(took_s, first):
    """Of 8, 6 and 1 s only two can be in time: 8 is given up, unless no more may be late."""
    clock = [0.0]
    line = BoundLine(1, 1, 10.0, clock=lambda: clock[0])
    filled(line, clock, [1.0], [0.0])
    place = line.pop()
    clock[0] = took_s
    line.ended(place, 1.0, answered=True)
    costs = [8.0, 6.0, 1.0]
    places = filled(line, clock, costs, [0.0] * 3)
    assert costs[places.index(line.pop())] == first
    line.drop(places[0])
    assert places[0] not in line._cost_due


@pytest.mark.parametrize(("first", "given_up"), [(1.0, True), (100.0, False)])
def test_only_those_that_cost_most_of_all_that_came_are_given_up(first, given_up):
    """Of 8, 6 and 1 s only two can be in time; 8 s stay if another one cost more, the first too."""
    clock = [0.0]
    line = BoundLine(1, 1, 10.0, clock=lambda: clock[0])
    filled(line, clock, [first], [0.0])
    line.ended(line.pop(), first, answered=True)
    places = filled(line, clock, [8.0, 6.0, 1.0], [0.0] * 3)
    assert places.index(line.pop()) == (2 if given_up else 0)


def test_places_are_held_longer_than_costs_say_and_the_line_learns_it():
    clock = [0.0]
    line = BoundLine(1, 1, 10.0, clock=lambda: clock[0])
    for _ in range(500):
        filled(line, clock, [1.0], [0.0])
        line.ended(line.pop(), 4.0, answered=True)
    filled(line, clock, [2.0, 1.0], [0.0, 0.0])
    assert line._latest == pytest.approx([9.9 - 2 * 4.0, 9.9 - 4.0], rel=1e-4)


def test_times_first_come_is_the_bound_of_what_first_come_would_have_needed():
    clock = [0.0]
    line = BoundLine(1, 1, times_fcfs=1.5, clock=lambda: clock[0])
    first, second, third = filled(line, clock, [8.0, 1.0, 1.0], [0.0, 0.0, 0.0])
    assert line._latest[0] == pytest.approx(0.99 * 1.5 * 16.0 - 8.0)
    assert line.pop() is second
    line.drop(first)
    assert line.pop() is third
    assert line.pop() is None


def test_what_waits_is_worked_off_by_all_places_of_all_servers():
    clock = [100.0]
    line = BoundLine(2, 3, times_fcfs=1.0, clock=lambda: clock[0])
    filled(line, clock, [6.0, 6.0], [0.0, 0.0])
    held = 6.0 * 3  # each place holds as many at once as a server runs
    fcfs = [held / 6 + held, 2 * held / 6 + held]
    assert line._latest == pytest.approx(sorted(100.0 + 0.99 * f - min(held, 5 / 6 * f)
                                                for f in fcfs))  # fmt: skip


def test_only_the_newest_requests_say_what_first_come_first_served_would_be(monkeypatch):
    """One of 100 s, each other of 1 s and alone: the bound is twice 200 s, later twice 2 s."""
    monkeypatch.setattr(waiting_line, "SEEN", 3)
    clock = [0.0]
    line = BoundLine(1, 1, times_fcfs=2.0, clock=lambda: clock[0])
    filled(line, clock, [100.0, 1.0, 1.0, 1.0, 1.0], [0.0] + [1000.0] * 4)
    came, times = 1000.0 * np.arange(5), np.array([200.0, 200.0, 200.0, 2.0, 2.0])
    held = np.array([100.0, 1.0, 1.0, 1.0, 1.0])
    assert line._latest == pytest.approx(came + 0.99 * 2.0 * times - held)


def test_a_place_that_comes_as_its_client_leaves_goes_back_and_nothing_is_learned():
    async def run():
        line = BoundLine(1, 1, 10.0)
        queue = DispatchQueue(1, 1, line=line)

        async def wait():
            async with queue.place(1.0):
                raise AssertionError("the client had left")

        async with queue.place(1.0):
            waiting = asyncio.ensure_future(wait())
            await asyncio.sleep(0)
        learned = line._held_s, line._served_s
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (queue.running, queue.waiting, line._cost_due) == ([0], 0, {})
        assert (line._held_s, line._served_s) == learned

    asyncio.run(run())
