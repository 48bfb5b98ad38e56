"""Proposers where it matters: repeats, gaps, too large a space, nothing to go by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space, table
from rheostat.core.front import Objective
from rheostat.core.jobs import concat
from rheostat.errors import DataError
from rheostat.tradeoff.limits import Deadline, PowerCap
from rheostat.tradeoff.propose import NSGA2, Exhaustive, Sobol
from rheostat.tradeoff.propose.candidate_view import look
from rheostat.tradeoff.propose.law_guided import LawGuided, past_jobs
from rheostat.tradeoff.propose.observations import Observations, stack
from rheostat.tradeoff.search import search
from tests.tradeoff.small_fronts import GRID, NAN, Law, Told, costs, front


def test_questions_are_numbered_and_nothing_is_asked_twice() -> None:
    sobol = Sobol(GRID, seed=3)
    with pytest.raises(DataError, match="expected n >= 1, got 0"):
        sobol.ask(0)
    first = sobol.ask(3).frame.rows()
    second = sobol.ask(4).frame.rows()
    assert len({*first, *second}) == 7
    assert len(sobol.pending) == 7
    last = sobol.ask(5)
    assert len(last) == 1
    assert len(sobol.ask(1)) == 0
    sobol.tell(last, costs(last))
    assert len(sobol.pending) == 7
    assert len(sobol.front) == 1


def test_a_space_too_large_to_list_is_sampled(monkeypatch) -> None:
    assert len(Exhaustive(GRID).listed()) == 8
    monkeypatch.setattr("rheostat.tradeoff.propose.base.LISTED", 8)
    assert len(Exhaustive(GRID).listed()) == 8
    monkeypatch.setattr("rheostat.tradeoff.propose.base.LISTED", 7)
    assert Exhaustive(GRID).listed() is None
    with pytest.raises(DataError, match="too large to list: use Sobol"):
        Exhaustive(GRID).ask(1)
    assert len(Sobol(GRID, seed=1).ask(5)) == 5


def test_a_constraint_that_nearly_nothing_meets_is_still_met() -> None:
    rare = Space((Knob("x", range(3000)),), (lambda s: s["x"] % 1000 == 7,))
    assert sorted(Sobol(rare).ask(2).frame["x"].to_list())[0] % 1000 == 7
    assert sorted(Sobol(rare).ask(9).frame["x"].to_list()) == [7, 1007, 2007]


def test_results_are_kept_in_an_order_of_their_own_and_repeats_are_one_setting() -> None:
    rows = [{"nodes": 8, "mode": "a"}, {"nodes": 1, "mode": "b"}, {"nodes": 1, "mode": "a"}]
    seen = []
    for order in ((0, 1, 2), (2, 0, 1)):
        book = Observations(GRID, (Objective.of("runtime_s"),))
        for i in order:
            job = GRID.alternatives(None, [rows[i]])
            book.add(job, costs(job))
        again = GRID.alternatives(None, rows[:1])
        book.add(again, Outcome({"runtime_s": np.ones((1, 1)), "power_w": np.ones((1, 1))}))
        seen.append(book.front.alternatives.frame.rows())
        assert len(book) == 4
        assert book.front.mean("runtime_s").tolist() == [10.0, 20.0, (1.0 + 2.125) / 2]
    assert seen[0] == seen[1] == [(1, "a"), (1, "b"), (8, "a")]
    assert len(Observations(GRID, (Objective.of("runtime_s"),)).front) == 0
    learnt = book.table(["energy_j"])
    assert learnt.numpy("energy_j").tolist() == [100.0, 200.0, (1.0 + 170.0) / 2]
    assert {c: learnt.schema[c].known.name for c in ("nodes", "energy_j")} == {
        "nodes": "SUBMIT", "energy_j": "END"}  # fmt: skip


def test_outcomes_of_other_depth_or_names_are_joined_with_gaps() -> None:
    once = Outcome({"runtime_s": np.array([[2.0]]), "energy_j": np.array([[6.0]])}, np.ones(1))
    twice = Outcome({"runtime_s": np.array([[1.0], [3.0]]), "power_w": np.array([[5.0], [7.0]])})
    both = stack([once, twice])
    assert both.names == ("runtime_s", "energy_j", "power_w")
    np.testing.assert_equal(both["power_w"], [[3.0, 5.0], [NAN, 7.0]])  # derived where it can be
    np.testing.assert_equal(both["energy_j"], [[6.0, 5.0], [NAN, 21.0]])
    assert both.support is None
    assert stack([once, once]).support.tolist() == [1.0, 1.0]
    assert len(stack([])) == 0
    joined = concat([table({"nodes": [1]}), table({"nodes": [2], "user": ["a"]})])
    assert joined.frame.rows() == [(1, None), (2, "a")]
    assert len(concat([])) == 0


def test_a_breeder_needs_two_and_takes_its_limits_as_constraints() -> None:
    with pytest.raises(DataError, match="population of at least 2, got 1"):
        NSGA2(GRID, population=1)
    found = search(NSGA2(GRID, population=2, limits=(PowerCap(25),), seed=1), costs, 8)
    assert len(set(found.alternatives.frame.rows())) == 8
    some = Space(GRID.knobs, (lambda s: s["nodes"] < 8 or s["mode"] == "a",))
    held = search(NSGA2(some, population=4, seed=2), costs, 8)
    assert sorted(held.alternatives.frame.rows()) == sorted(
        tuple(s.values()) for s in some.settings())  # fmt: skip


def test_a_model_is_asked_once_there_is_something_to_learn_from() -> None:
    asked = Told(GRID, model=Law(), seed=0)
    assert asked.initial == 3
    assert Told(GRID, model=Law(), initial=5).initial == 5
    for left in (3, 2, 1):
        assert asked.early()
        job = asked.ask(1)
        asked.tell(
            job,
            costs(job)
            if left > 1
            else Outcome({"runtime_s": np.full((1, 1), NAN), "power_w": np.ones((1, 1))}),
        )
    assert not asked.early()
    free = [costs(GRID.alternatives(None, [s])).mean("runtime_s")[0] for s in asked.free()]
    best = asked.ask(2)
    assert costs(best).mean("runtime_s").tolist() == sorted(free)[:2]
    assert len(asked.model.shown) == 2  # a row without value teaches nothing
    assert asked.view_.fixed == (len(free),) or len(asked.view_.fixed) == 1


def test_what_is_seen_of_candidates() -> None:
    told = front(runtime_s=[[1.0, 2.0, NAN]], energy_j=[[9.0, 4.0, 1.0]])
    guess = front(runtime_s=[[3.0, 4.0, 5.0], [5.0, 4.0, 5.0]], energy_j=[[2.0, 8.0, 3.0]] * 2)
    rows = [[{"nodes": 1}], [{"nodes": 2}], [{"nodes": 4}]]
    view = look(rows, guess, told, limits=(Deadline(1.5),))
    assert (view.candidates, view.fixed, view.baseline, view.log) == (1, (1,), (2,), True)
    assert view.observed == pytest.approx(np.log([[1.0, 9.0], [2.0, 4.0]]))
    assert view.known == pytest.approx(np.log([[1.0, 9.0]]))  # the only one in time
    assert not view.feasible.any()
    assert view.ideal == pytest.approx([0.0, np.log(2.0)])
    assert view.span == pytest.approx(view.reference - view.ideal)
    assert view.likely().tolist() == [0.0]
    assert view.given(0).fixed == (1, 0)
    set_ = look(rows, guess, told, reference=(6.0, 9.0), limits=(Deadline(4),))
    assert set_.reference == pytest.approx(np.log([6.0, 9.0]))
    assert set_.feasible.tolist() == [[True, True, False], [False, True, False]]
    assert set_.likely().tolist() == [0.5]
    plain = look(rows, guess, told, log=False)
    assert plain.y[0, 0].tolist() == [3.0, 2.0]
    spread_ = ((3.0 - 4) ** 2 + (5.0 - 4) ** 2) / 2 / plain.span[0] ** 2
    assert plain.uncertainty() == pytest.approx([spread_])
    assert replace(plain, fixed=(0,)).uncertainty() == pytest.approx([0.0])
    with pytest.raises(DataError, match="expected 2 values in the objectives' units"):
        look(rows, guess, told, reference=(0.0, 9.0))
    negative = front(runtime_s=[[-1.0]], energy_j=[[1.0]])
    with pytest.raises(DataError, match="log axes need positive"):
        look(rows, guess, negative, log=True)
    assert not look(rows, guess, negative).log


@pytest.mark.parametrize(
    ("space", "objectives", "said"),
    [
        (
            Knob("n", [1, 2]),
            ("runtime_s", "edp_js"),
            "expected some of runtime_s, power_w, energy_j",
        ),
        (Knob("n", [1]), (Objective("runtime_s", "max"), "energy_j"), "expected some of runtime_s"),
        (Space((Knob("n", [1]),), (lambda s: False,)), ("runtime_s", "energy_j"), "no setting"),
    ],
)
def test_scaling_laws_say_what_they_cannot_do(space, objectives, said) -> None:
    with pytest.raises(DataError) as caught:
        LawGuided(space, objectives)
    assert said in str(caught.value)
    assert len(caught.value.problems) == 1


def test_the_past_teaches_means_of_logs_of_applications_run_often_enough() -> None:
    past = table({
        "app": ["a"] * 4 + ["b"] * 2 + ["c"] * 4, "nodes": [1, 2, 4, 4, 1, 2, 1, 2, 4, None],
        "runtime_s": [8.0, 4, 1, 4, 1, 1, 0, 2, 1, 1], "power_w": [1.0, 2, 4, 4, 1, 1, 1, 1, 1, 1],
    })  # fmt: skip
    (job,) = past_jobs(past, ["nodes"], ["app"])
    assert job.settings.ravel().tolist() == [1, 2, 4]
    assert job.logs[0] == pytest.approx(np.log([8, 4, 2]))
    assert job.logs[1] == pytest.approx(np.log([1, 2, 4]))
    with pytest.raises(DataError, match="power_w is missing"):
        past_jobs(past.select(["app", "nodes", "runtime_s"]), ["nodes"], ["app"])


def test_a_search_wants_at_least_one_of_everything() -> None:
    for wrong in ({"budget": 0}, {"budget": 1, "batch": 0}, {"budget": 1, "workers": 0}):
        with pytest.raises(DataError, match="expected at least 1, got 0"):
            search(Exhaustive(GRID), costs, **wrong)
    with pytest.raises(DataError, match="expected an Outcome for 1 row"):
        search(Exhaustive(GRID), lambda job: Outcome({"runtime_s": np.ones((1, 2))}), 1)
    seen = []
    search(Exhaustive(GRID), costs, 3, progress=lambda done, budget: seen.append((done, budget)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_journal_makes_its_folder(tmp_path) -> None:
    path = tmp_path / "a" / "b" / "run.jsonl"
    search(Exhaustive(GRID), costs, 1, journal=path)
    assert len(path.read_text().splitlines()) == 3
