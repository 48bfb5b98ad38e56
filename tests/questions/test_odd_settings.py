"""A setting whose only run is far off those beside it is left out; rows of parts are refused."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat import table
from rheostat.errors import QuestionError
from rheostat.questions.settings.odd_settings import odd_settings

NODES, SECONDS = [1, 2, 4, 8], [400.0, 210.0, 115.0, 70.0]
WATTS = [400.0, 800.0, 1600.0, 3200.0]


def runs(knob="nodes", seconds=SECONDS, watts=WATTS):
    return table({knob: NODES[: len(seconds)], "runtime_s": seconds, "power_w": watts})


@pytest.mark.parametrize(
    ("seconds", "watts", "odd"),
    [
        ([400.0, 210.0, 2.1, 70.0], WATTS, [4]),
        (SECONDS, [400.0, 800.0, 1.6, 3200.0], [4]),
        (SECONDS, [400.0, 800.0, 1.6e6, 3200.0], [4]),
        ([400.0, 210.0, 115.0, 0.9], WATTS, [8]),
        (SECONDS, WATTS, []),
        ([400.0, 210.0, 30.0, 15.0], WATTS, []),  # it fits into caches from there on
        ([400.0, 210.0, 115.0, 9.0], WATTS, []),  # at the end it may
        ([9.0, 210.0, 115.0, 70.0], WATTS, []),  # without messages
        (SECONDS, [400.0, 410.0, 390.0, 400.0], []),  # of one node
    ],
)
def test_a_run_far_beyond_those_beside_it_is_odd(seconds, watts, odd):
    assert [knob for knob, _ in odd_settings(runs("nodes", seconds, watts), "nodes")] == odd


def test_a_setting_of_a_program_may_have_a_best_place():
    took = [10.0, 1.5, 5.0, 6.0]
    assert list(odd_settings(runs("tile", took, [400.0] * 4), "tile")) == []


def test_an_odd_setting_is_left_out_unless_it_ran_again():
    data = {"nodes": NODES, "runtime_s": [400.0, 210.0, 2.1, 70.0], "power_w": WATTS}
    asked = {"knobs": "nodes=1,2,4,8", "rule": "weighted=runtime_s:1"}
    answer = rh.front(table(data), **asked)
    assert answer.choice.setting == {"nodes": 8}
    assert any("left out: 4 nodes took 2.1 s beside 210 s and 70 s" in n for n in answer.notes)
    again = {k: [*v, v[2]] for k, v in data.items()}
    assert rh.front(table(again), **asked).choice.setting == {"nodes": 4}


def test_who_says_that_all_count_has_it(tmp_path):
    text = "nodes,time_s,power_w\n1,400,400\n2,210,800\n4,2.1,1600\n8,70,3200\n"
    (file := tmp_path / "runs.csv").write_text(text)
    asked = {"knobs": "nodes", "rule": "weighted=runtime_s:1"}
    assert rh.front(file, **asked).choice.setting == {"nodes": 8}
    answer = rh.front(file, renamed=["censored==false"], **asked)
    assert answer.choice.setting == {"nodes": 4}


def parts(heading, left=()):
    rows = [(n, p, t) for n in (1, 2, 4) for p, t in (("init", 20.0), ("solve", 400.0 / n))]
    nodes, names, times = zip(*(r for r in rows if r[:2] not in left), strict=True)
    data = {"nodes": nodes, heading: names, "runtime_s": times}
    return rh.front(table(data), knobs="nodes=1,2,4", objectives="runtime_s")


@pytest.mark.parametrize("heading", ["phase", "Run stage", "component"])
def test_parts_of_runs_are_no_repeats(heading):
    with pytest.raises(
        QuestionError, match=f"{heading} parts each run .*--where '?{heading}=solve"
    ):
        parts(heading)


@pytest.mark.parametrize(("heading", "left"), [("solver", ()), ("phase", [(1, "init")])])
def test_other_kinds_and_parts_that_some_settings_lack_are_asked_about(heading, left):
    try:
        notes = parts(heading, left).notes
    except QuestionError as refused:
        notes = [str(refused)]
    assert any(heading in note and "--where" in note for note in notes)
    assert not any("parts each run" in note for note in notes)


def pairs(second, **others):
    data = {"threads": [1, 1, 2, 2], "runtime_s": [400.0, 398.0, 210.0, second], **others}
    return rh.front(table(data), knobs="threads=1,2", objectives="runtime_s").notes


def test_two_runs_far_apart_are_named():
    assert any("2 threads: its two runs took 210 s and 640 s" in n for n in pairs(640.0))
    assert not any("two runs took" in n for n in pairs(230.0))


@pytest.mark.parametrize("column", ["precision", "Data type"])
def test_settings_of_two_precisions_are_refused(column):
    data = {"nodes": NODES, "runtime_s": SECONDS, column: ["fp64", "fp64", "fp32", "fp32"]}
    with pytest.raises(QuestionError, match="fp32"):
        rh.front(table(data), knobs="nodes=1,2,4,8", objectives="runtime_s")


@pytest.mark.parametrize(("energy", "odd"), [(16.1, True), (160.0, False), (900.0, True)])
def test_a_reading_unlike_those_of_its_repeats_is_named(energy, odd):
    joules = [152e3, 153e3, 152e3, 160e3, energy * 1e3, 159e3]
    took = {"nodes": [1, 1, 1, 2, 2, 2], "runtime_s": [400.0, 401.0, 399.0, 210.0, 212.0, 208.0]}
    notes = rh.front(table({**took, "energy_j": joules}), knobs="nodes=1,2").notes
    assert any("one run at nodes 2 drew" in n for n in notes) == odd
