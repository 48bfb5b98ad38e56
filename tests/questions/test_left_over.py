"""What a law of the knobs leaves over and a further column explains is learned, of drawn laws."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gpytorch")

import rheostat as rh
from rheostat import table
from rheostat.questions.models.left_over import left_over

CODES = ("cfd", "fem", "md")
SIZES = {
    "four": lambda rng, n: 2.0 ** rng.integers(0, 4, n),
    "two": lambda rng, n: rng.choice([1.0, 10.0], n),
    "any": lambda rng, n: np.exp(rng.uniform(0, 4, n)),
}


def drawn(seed, n, sizes="four", noise=0.03):
    """Runs of three codes by Amdahl's law at a power of the size: columns, and true seconds."""
    rng = np.random.default_rng(seed)
    code, nodes, size = rng.integers(0, 3, n), 2 ** rng.integers(0, 5, n), SIZES[sizes](rng, n)
    work, power, serial = rng.uniform(50, 500, 3), rng.uniform(0.8, 1.6, 3), rng.uniform(0, 0.2, 3)
    true = work[code] * size ** power[code] * (serial[code] + (1 - serial[code]) / nodes)
    runs = {
        "app": np.array(CODES)[code],
        "nodes": nodes,
        "million_cells": size,
        "rep": rng.integers(1, 4, n),
        "draft": rng.normal(size=n),
        "runtime_s": true * np.exp(noise * rng.normal(size=n)),
        "power_w": 300.0 * nodes,
    }
    return runs, true


def cases(runs, rows, *without):
    """The columns that are known before a run."""
    late = ("runtime_s", "power_w", *without)
    return table({c: np.asarray(v)[rows] for c, v in runs.items() if c not in late})


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_size_is_learned_however_few_values_it_has(seed, sizes):
    runs, true = drawn(seed, 160, sizes)
    answer = rh.fit(table({c: v[:120] for c, v in runs.items()}))
    assert answer.features == ("app", "nodes", "million_cells")
    assert any("million_cells explains 9" in str(note) for note in answer.notes)
    forecast = answer.model.predict(cases(runs, slice(120, None))).mean("runtime_s")
    assert np.median(np.abs(forecast / true[120:] - 1)) < 0.03


def test_a_name_parts_applications():
    """An input has a level of its own; as a number of a case it says no more than as a name."""
    runs, _ = drawn(3, 160)
    case = np.random.default_rng(4).integers(0, 6, 160)
    level = np.exp([0.0, 2.0, -1.0, 1.0, -2.0, 0.5])[case]
    del runs["million_cells"]
    true = 100 * level / runs["nodes"]
    runs |= {"runtime_s": true, "case": case}
    for named in (case, np.array([f"input {c}" for c in case])):
        model = rh.fit(table({c: v[:120] for c, v in (runs | {"case": named}).items()})).model
        assert model.features_ == ("app", "case", "nodes")
        forecast = model.predict(cases(runs | {"case": named}, slice(120, None)))
        assert np.nanmedian(np.abs(forecast.mean("runtime_s") / true[120:] - 1)) < 0.03


def test_what_does_not_go_with_the_run_time_is_left_alone():
    """Nor is the number of a repeat, whose first run is slow, nor a total that follows the knob."""
    for seed in range(20):
        runs, _ = drawn(seed, 90)
        del runs["million_cells"]
        nodes, rep = runs["nodes"], runs["rep"]
        slow = np.where(rep == 1, 1.5, 1.0) * np.exp(0.03 * runs["draft"])
        runs |= {"runtime_s": 100 / nodes * slow, "ranks": 48 * nodes}
        assert [c.column for c in left_over(table(runs), ["nodes"], ["app"])] == []


def test_rows_without_a_size_are_learned_by_trees():
    runs, _ = drawn(5, 120)
    size = [None if i % 10 == 0 else v for i, v in enumerate(runs["million_cells"])]
    answer = rh.fit(table(runs | {"million_cells": size}))
    assert answer.method != "law"
    assert any("rows lack million_cells" in str(note) for note in answer.notes)
    law = rh.fit(table(runs | {"million_cells": size}), method="law")
    assert law.features == ("app", "nodes")
    assert any("not from million_cells" in str(note) for note in law.notes)


def test_cases_without_the_size_are_refused_and_codes_never_run_have_no_forecast():
    runs, _ = drawn(6, 120)
    model = rh.fit(table(runs)).model
    with pytest.raises(rh.errors.DataError, match="million_cells"):
        rh.predict(cases(runs, slice(0, 4), "million_cells"), model)
    new = runs | {"app": np.array(["dem", "cfd"] * 60)}
    answer = rh.predict(cases(new, slice(0, 4)), model)
    assert np.isnan(answer.outcome.mean("runtime_s")).tolist() == [True, False, True, False]
    assert answer.outcome.support[[0, 2]].tolist() == [0, 0]
    assert any("never seen" in str(note) for note in answer.notes)


def test_an_application_never_seen_is_forecast_where_twelve_others_ran():
    nodes = np.tile([1, 2, 4, 8], 12)
    for apps, silent in ((11, True), (12, False)):
        app = np.repeat([f"a{i}" for i in range(12)], 4)[: 4 * apps]
        level = np.repeat(np.linspace(80, 120, 12), 4)[: 4 * apps]
        n = nodes[: 4 * apps]
        runs = table({"app": app, "nodes": n, "runtime_s": level / n, "power_w": 300.0 * n})
        out = rh.fit(runs).model.predict(table({"app": ["new"], "nodes": [4]}))
        assert np.isnan(out.mean("runtime_s")[0]) == silent


@pytest.mark.parametrize("heading", ["million_cells", "input_GB"])
def test_a_size_that_counts_as_known_late_is_named_however_few_values_it_has(tmp_path, heading):
    """Fractions look measured: what to type is said, and then the law learns from it."""
    rng = np.random.default_rng(7)
    nodes, size = 2 ** rng.integers(0, 5, 60), rng.choice([0.5, 1.5, 3.0], 60)
    rows = [f"{n},{s},{100 * s / n:.4g},{300 * n}" for n, s in zip(nodes, size, strict=True)]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join([f"nodes,{heading},time_s,power_W", *rows]))
    assert any(f"--known {heading}=submit" in str(note) for note in rh.fit(file).notes)
    learnt = rh.fit(file, known=[f"{heading}=submit"])
    assert any("explains 100 %" in str(note) for note in learnt.notes)
