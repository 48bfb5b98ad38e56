"""Slowdowns in place of run times, knobs in cells of several units, and columns by another name."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.measurement.read import read

CAPS, LOST, WATTS = (200, 300, 400), (0.25, 0.1, 0.0), (195, 290, 350)
FORMS = {
    "Slowdown (%)": [100 * x for x in LOST],
    "performance loss [%]": [100 * x for x in LOST],
    "slowdown": [1 + x for x in LOST],
    "relative time": [1 + x for x in LOST],
    "time (%)": [100 * (1 + x) for x in LOST],
}


def table(heading: str, more: str = "") -> str:
    rows = zip(CAPS, FORMS[heading], WATTS, strict=True)
    return f"cap_w,{heading},power_w{more}\n" + "".join(
        f"{c},{x:g},{w}{more and ',7'}\n" for c, x, w in rows
    )


@pytest.mark.parametrize("heading", FORMS)
def test_slowdowns_are_times_of_the_run_that_they_are_told_by(tmp_path, heading):
    (file := tmp_path / "caps.csv").write_text(table(heading))
    jobs = read(file)
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([1.25, 1.1, 1.0])
    assert any(n.message.startswith("runtime_s is ") for n in jobs.notes)
    choice = rh.front(file, knobs="cap_w", rule="slowdown=1.15").choice
    assert choice.setting == {"cap_w": 300}


@pytest.mark.parametrize("more", [",wall_s", ",energy_kJ"])
def test_a_slowdown_beside_times_or_joules_is_none(tmp_path, more):
    (file := tmp_path / "caps.csv").write_text(table("slowdown", more))
    times = read(file).frame
    assert "runtime_s" not in times.columns or times["runtime_s"].to_list() == [7.0] * 3


def test_a_run_time_that_is_mapped_stands_beside_no_other(tmp_path):
    (file := tmp_path / "caps.csv").write_text(table("slowdown", ",loop"))
    jobs = read(file, options={"columns": {"runtime_s": "loop"}})
    assert jobs.frame["runtime_s"].to_list() == [7.0] * 3


def test_a_knob_in_cells_of_several_units_is_in_the_one_of_most(tmp_path):
    rows = [("1200000 kHz", 1, 9), ("1.8 GHz", 1, 7), ("2.4 GHz", 1, 6)]
    text = "freq,nodes,time_s\n" + "".join(f"{f},{n},{t}\n" for f, n, t in rows)
    (file := tmp_path / "runs.csv").write_text(text)
    answer = rh.front(file, knobs="freq=1.2,1.8,2.4", objectives="runtime_s,node_hours")
    assert answer.front.mean("runtime_s").tolist() == [9.0, 7.0, 6.0]
    assert any("cells in GHz, and so are its values in --knob" in text for text in answer.notes)


def test_a_column_of_another_name_than_the_model_learnt_is_named_with_what_to_type(tmp_path):
    rows = "".join(f"{n},{s},{20 + 40 * s / n}\n" for s in (1, 2, 4, 8) for n in (1, 2, 4, 8))
    (train := tmp_path / "train.csv").write_text(f"Nodes,Cells [M],time_s\n{rows}")
    model = rh.fit(train).model
    (new := tmp_path / "new.csv").write_text("nodes,cells\n3,2e6\n6,4e6\n")
    with pytest.raises(DataError, match=r"--column 'Cells \[M\]=cells'.*THEIRS\*1e-6"):
        rh.predict(new, model)
    named = rh.predict(new, model, renamed=["Cells [M]=cells*1e-6"])
    assert named.outcome.mean("runtime_s") == pytest.approx([20 + 80 / 3, 20 + 160 / 6], rel=0.1)


TOLD = {
    "slowdown (%),energy saving (%)": [(24, 19.1), (9.8, 17.9), (0, 0)],
    "rel. runtime,norm. energy": [(1.24, 0.809), (1.098, 0.821), (1.0, 1.0)],
    "time change [%],energy change [%]": [(24, -19.1), (9.8, -17.9), (0, 0)],
}


@pytest.mark.parametrize("headings", TOLD)
def test_savings_beside_slowdowns_are_energies_to_choose_by(tmp_path, headings):
    rows = zip((200, 250, 400), TOLD[headings], strict=True)
    text = f"cap_w,{headings}\n" + "".join(f"{c},{t},{e}\n" for c, (t, e) in rows)
    (file := tmp_path / "caps.csv").write_text(text)
    jobs = read(file)
    assert jobs.frame["energy_j"].to_list() == pytest.approx([0.809, 0.821, 1.0])
    assert any("energies compare, and are no J" in n.message for n in jobs.notes)
    assert rh.front(file, rule="slowdown=1.1").choice.setting == {"cap_w": 250}


def test_run_times_relative_to_one_of_many_nodes_may_be_short(tmp_path):
    (file := tmp_path / "runs.csv").write_text(
        "cores,rel. runtime,rel. energy\n8,1,1\n64,.19,.97\n"
    )
    assert read(file).frame["runtime_s"].to_list() == [1.0, 0.19]


def test_a_saving_is_not_proposed_as_the_energy_that_is_missing(tmp_path):
    text = "cap_w,wall_s,energy saving (%),energy loss (%)\n200,9,20,2\n300,8,5,1\n"
    (file := tmp_path / "runs.csv").write_text(text)
    with pytest.raises(DataError) as told:
        rh.front(file)
    assert "saving" not in str(told.value)
