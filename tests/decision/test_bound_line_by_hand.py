"""A line that holds a bound, step by step: what it keeps of each request and learns of answers."""

from __future__ import annotations

import pytest

from rheostat.decision.serving.waiting_line import BoundLine, latest_begin


class Place:
    """Stands for a future."""


def test_a_request_is_kept_in_order_of_its_last_moment_with_what_it_costs_and_when_it_is_due():
    clock = [10.0]
    line = BoundLine(2, 3, 50.0, clock=lambda: clock[0])
    assert (line.places, line._held_s, line._served_s) == (6, 3.0, 1.0)
    places = [Place() for _ in range(3)]
    for place, key in zip(places, (2.0, 4.0, 0.5), strict=True):
        line.push(key, place)
    latest = [float(latest_begin(10.0, 50.0, 3.0 * key)) for key in (2.0, 4.0, 0.5)]
    assert line._place == [places[1], places[0], places[2]]
    assert line._cost == [4.0, 2.0, 0.5]
    assert line._latest == sorted(latest)
    assert line._cost_due == {places[0]: (2.0, 60.0), places[1]: (4.0, 60.0),
                              places[2]: (0.5, 60.0)}  # fmt: skip
    assert line._free_s == pytest.approx(10.0 + 3.0 * 6.5 / 6)
    clock[0] = 100.0
    line.push(1.0, places[0])
    assert line._free_s == pytest.approx(100.0 + 3.0 / 6)
    assert line._came == 4
    line.drop(places[1])
    assert line._cost == [2.0, 0.5, 1.0]


def test_times_first_come_counts_what_waits_and_the_request_itself():
    """Two places: 4 s, then half of what waits and 2 s."""
    line = BoundLine(1, 2, 0.0, 3.0, clock=lambda: 0.0)
    line._held_s = 1.0
    line.push(4.0, Place())
    line.push(2.0, Place())
    assert list(line._newest) == [4.0 / 2 + 4.0, 6.0 / 2 + 2.0]
    assert [due for _, due in line._cost_due.values()] == [18.0, 18.0]


def test_the_newest_answers_say_most_of_how_long_a_second_of_cost_is_held():
    clock = [0.0]
    line = BoundLine(2, 3, 50.0, clock=lambda: clock[0])
    places = [Place() for _ in range(4)]
    for place in places:
        line.push(2.0, place)
    line.ended(places[0], 5.0, answered=True)
    held, served = 0.98 * 3.0 + 5.0, 0.98 * 1.0 + 2.0
    assert (line._held_s, line._served_s) == pytest.approx((held, served))
    line.ended(places[1], 9.0, answered=False)
    assert (line._held_s, line._answered_late) == (pytest.approx(held), 0)
    clock[0] = 50.0
    line.ended(places[2], 1.0, answered=True)
    assert line._answered_late == 0  # due at 50: not late
    assert line._held_s == pytest.approx(0.98 * held + 1.0)
    clock[0] = 50.1
    line.ended(places[3], 1.0, answered=True)
    assert line._answered_late == 1
    assert line._cost_due == {}


def test_one_in_a_hundred_and_eleven_may_be_given_up_if_none_costs_more():
    line = BoundLine(1, 1, 50.0, clock=lambda: 0.0)
    for cost in (5.0, 7.0, 3.0):
        line.push(cost, Place())
    assert line._costliest == [7.0]
    dearest = line._cost.index(7.0)
    assert line._may_give_up(dearest)
    assert not line._may_give_up(line._cost.index(5.0))
    line._late = {Place()}
    line._came = 111
    assert not line._may_give_up(dearest)  # 1 of 0.999
    line._came = 112
    assert line._may_give_up(dearest)
    line._answered_late = 1
    assert not line._may_give_up(dearest)
    line._came = 223
    assert line._may_give_up(dearest)


def test_of_many_the_costliest_few_are_known():
    line = BoundLine(1, 1, 1e9, clock=lambda: 0.0)
    for cost in range(300):
        line.push(float(cost % 150), Place())
    assert sorted(line._costliest) == [148.0, 149.0, 149.0]


def test_who_begins_after_the_last_moment_is_late_and_who_was_given_up_is_not_if_in_time():
    clock = [0.0]
    line = BoundLine(1, 1, 50.0, clock=lambda: clock[0])
    places = [Place() for _ in range(3)]
    for place in places:
        line.push(1.0, place)
    latest = line._latest[0]
    line._give_up(2)
    assert (line._late, line._cost) == ({places[2]}, [1.0, 1.0])
    clock[0] = latest
    assert line._taken(-1, clock[0]) is places[2]
    assert line._late == set()
    clock[0] = latest + 0.01
    assert line._taken(0, clock[0]) is places[0]
    assert line._late == {places[0]}
    line.ended(places[0], 1.0, answered=False)
    assert line._late == set()


def test_who_was_given_up_is_next_where_it_costs_least_and_nobody_would_be_late():
    line = BoundLine(1, 1, 1e6, clock=lambda: 0.0)
    cheap, dear, given_up = Place(), Place(), Place()
    line.push(2.0, cheap)
    line.push(9.0, dear)
    line.push(5.0, given_up)
    line._give_up(line._place.index(given_up))
    assert [line.pop() for _ in range(4)] == [cheap, given_up, dear, None]
    same = BoundLine(1, 1, 1e6, clock=lambda: 0.0)
    same.push(5.0, dear)
    same.push(5.0, given_up)
    same._give_up(same._place.index(given_up))
    assert [same.pop(), same.pop()] == [dear, given_up]  # of equal ones who still may be in time
