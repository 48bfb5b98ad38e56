"""Journals of searches line by line, and the parts of a law-guided search that need no law."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space, table
from rheostat.core.front import Front, Objective
from rheostat.errors import DataError
from rheostat.tradeoff.front_metrics import Box, spread, trace
from rheostat.tradeoff.limits import MaxSlowdown, NodeHours
from rheostat.tradeoff.propose import Sobol
from rheostat.tradeoff.propose.law_guided import LawGuided, _noise, limitable
from rheostat.tradeoff.propose.lookahead import value_of_a_run
from rheostat.tradeoff.rules import Weighted
from rheostat.tradeoff.search_journal import SHOWN, SearchJournal, _said

NODES = Space.of(Knob("nodes", [1, 2, 4]))


def asked(**setting):
    return NODES.alternatives(table({"app": ["a"]}), [setting])


def test_a_journal_gives_back_what_was_told_and_what_waits(tmp_path) -> None:
    path = tmp_path / "j"
    with SearchJournal(path, Sobol(NODES), SimpleNamespace(program="run")) as book:
        for nodes in (1, 2, 4):
            book.asked(asked(nodes=nodes))
        draws = {
            "runtime_s": np.array([[9.0], [math.nan]]),
            "energy_j": np.array([[math.inf], [2.0]]),
        }
        book.tell(asked(nodes=2), Outcome(draws, np.array([3.0])))
        book.tell(asked(nodes=1), Outcome({"runtime_s": np.array([[5.0]])}))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 1 + 3 + 2
    head = lines[0]
    assert (head["program"], head["space"]) == ("run", [["nodes", [1, 2, 4]]])
    assert head["objectives"] == [["runtime_s", "min"], ["energy_j", "min"]]
    assert lines[4]["draws"] == {"runtime_s": [9.0, None], "energy_j": [None, 2.0]}
    assert (lines[4]["support"], lines[5]["support"]) == (3.0, None)
    with SearchJournal(path, Sobol(NODES), SimpleNamespace(program="run")) as book:
        assert [j.frame["nodes"].to_list() for j in book.pending] == [[4]]
        assert [j.frame["nodes"][0] for j, _ in book.results] == [2, 1]
        first, second = (o for _, o in book.results)
        assert first["runtime_s"].ravel().tolist() == pytest.approx([9.0, math.nan], nan_ok=True)
        assert (first.support.tolist(), second.support) == ([3.0], None)
        assert book.results[0][0].schema["app"] == asked(nodes=2).schema["app"]
        assert book.notes == ()
        with (
            pytest.raises(DataError, match="another search is writing"),
            SearchJournal(path, Sobol(NODES), SimpleNamespace(program="run")),
        ):
            pass


def test_another_search_is_refused_with_all_that_differs(tmp_path) -> None:
    path = tmp_path / "j"
    with SearchJournal(path, Sobol(NODES)) as book:
        book.asked(asked(nodes=1))
    wide = Sobol(Knob("cap_w", low=1.0, high=2.0), ("power_w",))
    with (
        pytest.raises(DataError) as caught,
        SearchJournal(path, wide, SimpleNamespace(program="x")),
    ):
        pass
    begin, program, space, objectives, hint = caught.value.problems
    assert (begin, program) == ("holds another search", 'program: "" there, "x" now')
    assert space == 'space: [["nodes", [1, 2, 4]]] there, [["cap_w", [1.0, 2.0]]] now'
    assert objectives.startswith("objectives: ")
    assert hint == "name another journal, or move this one away to start anew"


def test_damage_is_named_by_its_line_and_long_texts_are_cut(tmp_path) -> None:
    path = tmp_path / "j"
    with SearchJournal(path, Sobol(NODES)) as book:
        book.asked(asked(nodes=1))
        book.tell(asked(nodes=1), Outcome({"runtime_s": np.array([[5.0]])}))
    whole = path.read_text()
    for old, number in (('"told"', 3), ('"asked"', 2)):
        path.write_text(whole.replace(old, '"odd"'))
        with (
            pytest.raises(DataError, match=f"line {number} is damaged"),
            SearchJournal(path, Sobol(NODES)),
        ):
            pass
    path.write_text(whole.replace("journal/2", "journal/1"))
    with (
        pytest.raises(DataError, match="which does not say what ran"),
        SearchJournal(path, Sobol(NODES)),
    ):
        pass
    path.write_text("something")
    with pytest.raises(DataError, match="a journal of schema"), SearchJournal(path, Sobol(NODES)):
        pass
    assert path.read_text() == "something"
    assert _said("x" * (SHOWN - 2)) == '"' + "x" * (SHOWN - 2) + '"'
    assert _said("x" * (SHOWN - 1)) == '"' + "x" * (SHOWN - 1) + " ..."
    with (
        pytest.raises(DataError, match="column when holds a list"),
        SearchJournal(tmp_path / "k", Sobol(NODES)) as book,
    ):
        book.tell(table({"nodes": [1], "when": [[1]]}), Outcome({"runtime_s": np.ones((1, 1))}))


GRID = Space.of([Knob("nodes", [1, 2, 4]), Knob("cap_w", [100, 200])])


class Believed(LawGuided):
    """A law-guided search whose draws are given."""

    def given(self, logs):
        self._believed = logs
        return self

    def _logs(self, settings):
        return np.arange(len(settings)), self._believed


def believed(runtime, power, **more):
    runtime, power = np.asarray(runtime, dtype=float), np.asarray(power, dtype=float)
    return Believed(GRID, ("runtime_s", "power_w"), **more).given(
        {"runtime_s": runtime, "power_w": power, "energy_j": runtime + power}
    )


def test_the_setting_to_run_has_the_least_regret_under_the_limit() -> None:
    runtime = [[5.0, 4.0, 3.0, 2.0, 1.0, 0.5], [5.0, 4.0, 3.5, 2.0, 1.0, 0.5]]
    power = [[1.0, 1.0, 2.0, 3.0, 3.5, 4.0], [1.0, 1.0, 2.0, 3.0, 3.5, 4.0]]
    search = believed(runtime, power)
    every = GRID.settings()
    for most, place in ((2.5, 2), (3.0, 3), (9.0, 5)):
        limit = SimpleNamespace(quantity="power_w", most=math.exp(most))
        assert search.recommend("runtime_s", limit) == every[place]


def test_a_repeat_is_worth_it_only_where_noise_is_known_and_it_beats_all_new_ones() -> None:
    rng = np.random.default_rng(0)
    runtime = np.tile(np.linspace(2.0, 1.0, 6), (20, 1))
    power = np.tile(np.linspace(1.0, 2.0, 6), (20, 1))
    runtime[:, 2] += rng.normal(0, 1.0, 20)
    power[:, 2] += rng.normal(0, 1.0, 20)
    search = believed(runtime, power)
    every = GRID.settings()
    logs = {"runtime_s": runtime, "power_w": power, "energy_j": runtime + power}

    def repeat() -> list[int]:
        return search._repeat(every, np.arange(6), logs)

    def tell(place, *runs):
        outcome = {"runtime_s": np.array(runs)[:, None], "power_w": np.array(runs)[:, None] * 2}
        search.tell(GRID.alternatives(None, [every[place]]), Outcome(outcome))

    assert repeat() == []  # nothing was measured
    for place in (0, 5):
        tell(place, 3.0)
    assert repeat() == []  # nothing repeated: no noise is known
    tell(2, 3.0, 4.0)
    assert repeat() == [2]
    value = value_of_a_run(
        np.stack([runtime, power], axis=2),
        _noise(list(search._cells({search.key(s): i for i, s in enumerate(every)}).values())),
        [0, 2, 5],
    )
    free = [1, 3, 4]
    assert value[free].min() < value[free].max() < value[2]
    best = int(np.argmax(value[free]))
    runtime[::2, free[best]] -= 3.0  # a new setting that may well be better than all
    power[::2, free[best]] -= 3.0
    assert repeat() == []
    runtime[::2, free[best]] += 3.0
    power[::2, free[best]] += 3.0
    assert repeat() == [2]
    search._pending[search.key(every[2])] = every[2]
    assert repeat() != [2]
    search._pending.clear()
    for place in (1, 3, 4):
        tell(place, 3.0)
    assert repeat() == []  # nothing is free


def test_runs_of_a_setting_are_pooled_and_those_without_a_value_left_out() -> None:
    search = believed(np.zeros((1, 6)), np.zeros((1, 6)))
    every = GRID.settings()
    place = {search.key(s): i for i, s in enumerate(every)}
    assert search._cells(place) == {}
    rows = GRID.alternatives(None, [every[1], every[3]])
    search.tell(rows, Outcome({"runtime_s": np.array([[2.0, 3.0], [4.0, math.nan]]),
                               "power_w": np.array([[5.0, math.nan], [6.0, 7.0]])}))  # fmt: skip
    (at,) = search._cells(place)
    assert at == 1
    assert np.exp(search._cells(place)[1]) == pytest.approx(np.array([[2.0, 5.0], [4.0, 6.0]]))


def test_quantities_that_can_be_limited_are_those_that_the_laws_know() -> None:
    assert "node_hours" in limitable(["nodes"])
    assert "node_hours" not in limitable(["cap_w"])
    with pytest.raises(DataError) as caught:
        LawGuided(Knob("cap_w", [1, 2]), ("runtime_s",), limits=[NodeHours(1)])
    assert [p.split(":")[0] for p in caught.value.problems] == ["limit on node_hours"]
    assert believed(np.zeros((1, 6)), np.zeros((1, 6))).notes == ()
    endless = LawGuided(Knob("cap_w", low=1.0, high=2.0), ("runtime_s", "power_w"))
    assert endless.notes[0].message.startswith("a sample of 4,096 settings is searched")


def test_weights_without_a_reference_do_not_look_at_the_place_compared_with() -> None:
    front = Front(table({"nodes": [1, 2]}), Outcome({"runtime_s": np.array([[2.0, 1.0]]),
                  "energy_j": np.array([[1.0, 3.0]])}), (Objective.of("runtime_s"),))  # fmt: skip
    plain = Weighted({"energy_j": 1})
    assert plain.score_from(front, np.array([1])).tolist() == plain.score(front).tolist()
    assert (plain.rowwise, plain.against) == (True, None)
    counted = Weighted({"energy_j": 1}, MaxSlowdown(1.5, {"nodes": 2}))
    assert (counted.rowwise, counted.against) == (False, {"nodes": 2})
    assert counted.score(front) == pytest.approx(np.log([3.0, 3.0]))  # too slow: saves nothing


def test_deltas_are_missed_ends_and_uneven_gaps() -> None:
    truth = np.array([[0.0, 4.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [4.0, 0.0]])
    box = Box((0.0, 0.0), (4.0, 4.0), log=False)
    some = truth[[1, 2, 4]]
    gaps, missed = np.array([1.0, 2.0]) * math.sqrt(2) / 4, math.sqrt(2) / 4
    delta = (missed + np.abs(gaps - gaps.mean()).sum()) / (missed + 2 * gaps.mean())
    assert spread(some, truth, box=box) == pytest.approx(delta)
    order = trace(some[::-1], box=box, reference=1.0)
    assert order == pytest.approx([0.0, 0.25, 0.3125])
