"""What an application's ranks report and are answered: clocks, windows, neighbours, hand-over."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.prediction.iteration_time.client_group import OVERDUE, ClientGroup
from rheostat.prediction.iteration_time.clients import MOST_NEIGHBOURS, ClientForecasts
from rheostat.prediction.iteration_time.forecast import (
    HORIZON,
    NOTHING,
    Neighbour,
    PortsNow,
    Surroundings,
)
from rheostat.prediction.iteration_time.hand_over import CONFIDENT, WINDOWS, HandOver


class Steady:
    """A forecaster that repeats the last iteration, and notes what it is shown."""

    def __init__(self, simulate=False):
        self.seen, self.skipped, self.simulate = [], [], simulate

    def forecast(self, steps, around=NOTHING):
        last = self.seen[-1] if self.seen else np.nan
        return SimpleNamespace(time_s=np.full(steps, last), simulate=self.simulate)

    def observe(self, time_s, around=NOTHING):
        self.seen.append(time_s)

    def skip(self, steps):
        self.skipped.append(steps)


# ---------------------------------------------------------------- clocks


def test_before_the_first_iteration_it_is_the_middle_of_when_the_ranks_began():
    assert ClientGroup().now_s == 0.0
    assert ClientGroup(begun_s={1: 4.0, 2: 6.0, 3: 20.0}).now_s == 6.0
    group = ClientGroup(ranks=2, forecaster=Steady())
    group.report(1, [3.0], since_s=10.0)
    assert (group.now_s, group.learned) == (10.0, 0)
    group.report(2, [5.0, 1.0], since_s=12.0)
    assert group.begun_s == {1: 10.0, 2: 12.0}
    # from 11 s, the middle of 10 and 12, to 15 s, the middle of 13 and 17
    assert (group.now_s, group.finished_s) == (15.0, [11.0, 15.0])
    assert group.forecaster.seen == [4.0]
    assert group.newest_s() == [3.0, 1.0]
    assert group.clock_s == {1: 13.0, 2: 18.0}
    assert group.batch == 2
    group.report(1, [])
    assert (group.batch, group.there) == (1, [2, 1])


def test_clocks_that_are_behind_those_heard_before_teach_nothing():
    group = ClientGroup(ranks=1, forecaster=Steady())
    group.report(1, [10.0])
    group.report(2, [1.0, 2.0])
    group.learn(1)
    assert group.learned == 2
    assert group.forecaster.seen == [10.0]  # the second was over at 3 s, before the first
    assert group.finished_s == [0.0, 10.0]


def test_marks_that_a_record_knows_move_all_clocks():
    group = ClientGroup(ranks=2, forecaster=Steady())
    group.report(1, [2.0])
    group.report(2, [2.0])
    group.move([3.0, 7.5])
    assert group.finished_s == [0.0, 2.0, 3.0, 7.5]
    assert group.clock_s == {1: 7.5, 2: 7.5}


def test_surroundings_are_asked_for_once_a_moment():
    asked = []

    def around(moment_s):
        asked.append(moment_s)
        return Surroundings()

    group = ClientGroup(forecaster=Steady(), around=around)
    assert group.surroundings() is group.surroundings()
    group.report(1, [2.0])
    group.surroundings()
    assert asked == [0.0, 2.0]


def test_a_window_is_closed_by_the_first_report_after_it():
    group = ClientGroup(ranks=2, forecaster=Steady(), control=HandOver(0.01))
    told = []
    group.control.forecast = lambda times: told.append(times.tolist())
    for client in (1, 2):
        group.report(client, [2.0, 2.0])
    assert group.closed
    assert group.ahead(1, 3) == [2.0] * 3
    assert not group.closed
    assert group.clock_s == {1: 10.0, 2: 4.0}
    assert group.ahead(2, 2) == [2.0] * 2
    group.report(2, [2.0])
    assert group.forecaster.skipped == [2]
    assert told == [[2.0, 2.0]]
    assert group.asked == {1: 3}
    group.report(1, [2.0])
    assert group.forecaster.skipped == [2]  # the window was over already
    assert group.ahead(1, 1) == group.forecaster.seen[-1:]
    assert (group.asked, len(group.window)) == ({1: 1}, 1)


def test_a_window_is_forecast_anew_where_a_neighbour_ends_within_it():
    def around(moment_s):
        return Surroundings((Neighbour("b", 0.0, 1.0, moment_s < 5.0),))

    class Slower(Steady):
        def forecast(self, steps, around=NOTHING):
            alone = bool(around.neighbours) and not around.neighbours[0].running
            return SimpleNamespace(time_s=np.full(steps, 1.0 if alone else 2.0), simulate=False)

    group = ClientGroup(forecaster=Slower(), around=around)
    group.report(1, [2.0])
    assert group.ahead(1, 5) == [2.0, 2.0, 1.0, 1.0, 1.0]
    assert group.forecaster.skipped == []  # a copy of it went on
    assert group.planned[:2] == [2.0, 2.0]
    assert len(group.planned) == 2 + HORIZON


# ---------------------------------------------------------------- hand-over


def test_nothing_is_handed_over_without_a_rule_within_a_window_or_after_a_change():
    group = ClientGroup(forecaster=Steady())
    group.report(1, [1.0])
    assert group.wanted(1) == []
    asked = []
    control = SimpleNamespace(window=lambda times: asked.append(len(times)) or 4,
                              simulated=lambda answer, time: None)  # fmt: skip
    group = ClientGroup(forecaster=Steady(), control=control)
    group.report(1, [3.0])
    assert group.wanted(1) == [3.0] * 4
    assert group.wanted(2) == [3.0] * 4  # the answer of before, as nothing was learned since
    assert asked == [HORIZON]
    group.asked[1] = 1
    assert group.wanted(1) == []
    changed = ClientGroup(forecaster=Steady(simulate=True), control=control)
    changed.report(1, [3.0])
    assert changed.wanted(1) == []
    assert changed.decided == (1, [])
    late = ClientGroup(ranks=3, forecaster=Steady(), control=control)
    late.report(1, [3.0, 4.0])
    late.report(2, [3.0])
    assert late.learned == 0
    late.wanted(2)
    assert late.learned == 1  # its own records at least
    late.wanted(1)
    assert late.learned == 2


def test_a_window_is_as_long_as_its_errors_allow():
    """Two errors of 1 % either way: 1.645 of them of a total have to stay within the share."""
    control = HandOver(0.01)
    assert control.window(np.ones(30)) == 0
    control.times = [1.0] * 5
    control.elapsed_s = 100.0
    control.errors = {w: [0.01, -0.01] * 4 for w in WINDOWS}
    off, spread = control.expected(5)
    assert (off, spread) == (0.0, pytest.approx(0.01))
    # 30 s at 1.645 % are 0.49 s, of 1.3 s allowed
    assert control.window(np.ones(30)) == 30
    control.most_error = CONFIDENT * 0.01 * 30 / 130 - 1e-9
    assert control.window(np.ones(30)) == 20
    control.errors[20] = control.errors[20][:7]
    assert control.window(np.ones(30)) == 10
    assert control.window(np.ones(9)) == 5
    control.off_s = 3.0
    assert control.window(np.ones(30)) == 0
    control.off_s = 0.0
    control.forecast(np.ones(10))
    assert (control.times, control.answers) == ([], [])
    assert control.elapsed_s == 110.0
    assert control.variance == pytest.approx(0.1**2)
    control.errors[10] = [0.02] * 8
    control.forecast(np.ones(7))
    assert control.off_s == pytest.approx(0.02 * 7)


def test_what_the_average_error_may_be_wrong_by_adds_up_over_windows():
    """Iterations of 1 % either way: as many windows are wrong by as much, all to one side."""
    control = HandOver(0.01)
    control.times, control.elapsed_s = [1.0] * 5, 100.0
    control.errors = {w: [0.0] * 8 for w in WINDOWS}
    control.single = [0.1, -0.1] * 12
    assert control.average_error() == pytest.approx(0.1 / 5)
    assert control.expected(10)[1] == pytest.approx(0.1 / np.sqrt(10))
    # 20 s of windows before: 1.645 of 30 s at 2 % and of what both windows scatter by
    control.forecast_s = 20.0
    away = CONFIDENT * np.hypot(30 * 0.02, 10 * 0.1 / np.sqrt(10))
    control.most_error = away / 110 + 1e-9
    assert control.window(np.ones(10)) == 10
    control.most_error = away / 110 - 1e-9
    assert control.window(np.ones(10)) == 5
    control.forecast(np.ones(10))
    assert control.forecast_s == 30.0
    control.simulated(np.full(30, 2.0), 3.0)
    control.simulated(np.full(30, np.nan), 3.0)
    assert control.single[24:] == [0.5]


def test_errors_of_a_window_are_of_its_sum_and_shorter_ones_imply_them():
    control = HandOver()
    control.simulated(np.full(30, np.nan), 2.0)
    for time in (2.0, 2.0, 2.0, 1.0, 1.0):
        control.simulated(np.full(30, 2.0), time)
    assert control.errors == {30: [], 20: [], 10: [], 5: [pytest.approx(10 / 8 - 1)]}
    assert control.elapsed_s == 10.0
    for _ in range(70):
        control.simulated(np.full(30, 2.0), 2.0)
    assert [len(control.errors[w]) for w in WINDOWS] == [46, 56, 60, 60]
    control.errors = {
        30: [0.01] * 9,
        20: [0.0] * 9,
        10: [0.0] * 9,
        5: [9.0, 9.0, *[0.06, -0.06] * 4],
    }
    off, spread = control.expected(30)
    assert (off, spread) == (pytest.approx(0.01), pytest.approx(0.06 * np.sqrt(5 / 30)))
    assert HandOver().most_error == 0.01


# ---------------------------------------------------------------- as a neighbour


def test_what_others_know_of_an_application_at_a_moment():
    group = ClientGroup(forecaster=Steady())
    group.report(1, [2.0, 4.0, 2.0], since_s=10.0)  # marks at 10, 12, 16 and 18 s

    def seen(moment_s):
        near = group.as_neighbour("a", moment_s, 0.5)
        return near.since_s, near.usual_s, near.running

    assert seen(9.0) == (0.0, 0.0, False)
    assert seen(10.0) == (0.0, 0.0, True)
    assert seen(13.0) == (1.0, 2.0, True)
    assert seen(17.0) == (1.0, 3.0, True)
    assert seen(18.0) == (0.0, 2.0, True)
    over = 18.0 + 2 * 2.0 + OVERDUE * 4.0  # a batch of three: two may be on their way
    assert seen(over)[2]
    assert not seen(over + 0.01)[2]
    group.batch = 1
    assert seen(18.0 + OVERDUE * 4.0)[2]
    assert not seen(18.01 + OVERDUE * 4.0)[2]
    group.ended_s = 17.0
    assert [seen(t)[2] for t in (16.9, 17.0)] == [True, False]


def test_only_the_others_with_the_most_ranks_are_neighbours():
    apps, client = {}, 0
    for k in range(MOST_NEIGHBOURS + 3):
        for _ in range(k + 1):
            apps[client], client = f"a{k}", client + 1
    service = ClientForecasts(apps)
    near = [n.name for n in service.around("a18", 0.0).neighbours]
    assert near == [f"a{k}" for k in range(17, 1, -1)]
    assert [n.name for n in service.around("a0", 0.0).neighbours] == [
        f"a{k}" for k in range(18, 2, -1)]  # fmt: skip
    assert not any(n.running for n in service.around("a0", 0.0).neighbours)


def test_ports_tell_of_shares_and_of_who_is_silent():
    class Ports:
        def at(self, moment_s):
            return PortsNow({"b": 0.25}, np.array([moment_s]), frozenset({"c"}))

    service = ClientForecasts({1: "a", 2: "b", 3: "c"}, telemetry=Ports())
    for client in (1, 2, 3):
        service.report(client, [1.0, 1.0])
    around = service.around("a", 2.5)
    said = {n.name: (n.running, n.traffic_share) for n in around.neighbours}
    assert said["b"] == (True, 0.25)
    assert said["c"][0] is False
    assert np.isnan(said["c"][1])
    assert around.ports.tolist() == [2.5]


def test_a_job_has_ended_when_its_scheduler_says_so():
    service = ClientForecasts({1: "a", 2: "b"})
    service.report(1, [1.0, 1.0])
    service.end("a")
    assert service.groups["a"].ended_s == 2.0
    service.end("a", 1.5)
    assert service.groups["a"].ended_s == 1.5
    with pytest.raises(DataError, match="nothing was reported by b"):
        service.end("b")


def test_clients_are_of_an_application_of_others_or_by_themselves():
    service = ClientForecasts({1: "a"})
    assert [service.app_of(c) for c in (1, 7)] == ["a", "client-7"]
    rest = ClientForecasts({1: "a"}, others="rest")
    assert rest.app_of(7) == "rest"
    rest.report(7, [1.0])
    rest.report(8, [3.0])
    assert rest.groups["rest"].learned == 0  # how many they are nobody knows
    assert rest.learn() == 1
    assert rest.version == 1
    assert rest.counts() == {7: 1, 8: 1}
    assert rest.kept == 4
    assert list(rest.model().forecasters_) == ["rest"]
    rest.report(1, [])
    assert list(rest.model().forecasters_) == ["rest"]  # of a nothing was learned
    rest.take(rest.model())
    assert rest.version == 2


def test_who_has_nothing_but_a_newest_record_is_answered_that():
    class Unsure(Steady):
        def forecast(self, steps, around=NOTHING):
            return SimpleNamespace(time_s=np.full(steps, np.nan), simulate=True)

    service = ClientForecasts({1: "a", 2: "a", 3: "a"}, make=lambda app: Unsure())
    for client, time in ((1, 1.0), (2, 5.0), (3, 6.0)):
        service.report(client, [9.0, time])
    assert service.forecast(1, 2) == [5.0, 5.0]
