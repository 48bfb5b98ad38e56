"""New cases have no run time: a model forecasts them, and only what learns asks for one."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.errors import DataError

RUNS = "app,nodes,runtime_s,power_w\n" + "".join(
    f"lbm,{n},{960 / n + k},{400 * n}\n" for n in (1, 2, 4, 8) for k in range(4)
)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "past.csv").write_text(RUNS)
    (tmp_path / "cases.csv").write_text("app,nodes\nlbm,2\nlbm,4\n")
    rh.fit(tmp_path / "past.csv", method="law", out=tmp_path / "m.rheo")
    return tmp_path


def test_cases_without_a_run_time_are_forecast_as_with_an_empty_one(files):
    (files / "empty.csv").write_text("app,nodes,runtime_s\nlbm,2,\nlbm,4,\n")
    bare, empty = (rh.predict(files / f, files / "m.rheo").facts()["jobs"]
                   for f in ("cases.csv", "empty.csv"))  # fmt: skip
    assert bare == empty
    assert [job["nodes"] for job in bare] == [2, 4]
    assert all(job["runtime_s"] > 0 for job in bare)


def test_advice_for_cases_needs_a_model_or_the_past(files):
    asked = {"knobs": "nodes=1,2,4,8", "slowdown": 50}
    for teacher in ({"model": files / "m.rheo"}, {"past": files / "past.csv", "method": "law"}):
        advice = rh.decide(files / "cases.csv", **teacher, **asked).advice
        assert advice.table.frame["nodes_requested"].to_list() == [2, 4]
    with pytest.raises(DataError, match="found no runtime"):
        rh.decide(files / "cases.csv", **asked)


def test_a_front_of_a_case_needs_a_model(files):
    front = rh.front(files / "cases.csv", knobs="nodes=1,2,4", model=files / "m.rheo")
    assert len(front.front.alternatives) == 3
    with pytest.raises(DataError, match="found no runtime"):
        rh.front(files / "cases.csv", knobs="nodes=1,2,4")


def test_numbers_that_new_cases_have_and_the_model_has_not_learnt_are_named(files):
    rh.fit(files / "past.csv", method="xgboost", out=files / "m.rheo")
    (files / "grown.csv").write_text("app,nodes,cells\nlbm,2,9000\nlbm,4,800\n")
    said = [str(n) for n in rh.predict(files / "grown.csv", files / "m.rheo").notes]
    assert any("does not use cells" in s and "--known cells=submit" in s for s in said)
    plain = rh.predict(files / "cases.csv", files / "m.rheo").notes
    assert not any("does not use" in str(n) for n in plain)


def test_cases_that_differ_in_what_the_model_looks_at_say_it(tmp_path):
    lines = [f"lbm,{c},{n},{90 * c / n + k},{400 * n}\n" for c in (5, 10, 20, 40)
             for n in (1, 2, 4, 8) for k in range(2)]  # fmt: skip
    (tmp_path / "past.csv").write_text(
        "app,million_cells,nodes,runtime_s,power_w\n" + "".join(lines)
    )
    (tmp_path / "cases.csv").write_text("app,million_cells,nodes\nlbm,10,4\nlbm,20,4\n")
    rh.fit(tmp_path / "past.csv", method="law", known=["million_cells=submit"], out=tmp_path / "m")
    jobs = rh.predict(tmp_path / "cases.csv", tmp_path / "m").facts()["jobs"]
    assert [job["million_cells"] for job in jobs] == [10, 20]
