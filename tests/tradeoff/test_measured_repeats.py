"""Repeats of a table of runs stand for the model where they agree; nothing else does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rheostat as rh
from rheostat.core.outcome import GRADES, Outcome
from rheostat.tradeoff.measured_repeats import MeasuredRepeats, measured_repeats

CAPS = [200, 250, 300]
TRUE = {"stencil": [(101.0, 20160.0), (100.0, 20470.0), (100.0, 20500.0)],
        "gemm": [(130.0, 26000.0), (113.0, 28000.0), (100.0, 29000.0)]}  # fmt: skip


class Constant:
    """A model that says one second and one watt."""

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        return Outcome({q: np.ones((4, len(jobs))) for q in ("runtime_s", "power_w")})


def runs(noise: float = 0.001, *, repeats: int = 4, **more) -> rh.JobTable:
    rng = np.random.default_rng(0)
    rows = [
        {"app": app, "cap_w": cap, "runtime_s": t * (f := np.exp(noise * rng.normal())),
         "energy_j": e * f, **{k: v(app, cap, i) for k, v in more.items()}}
        for app, each in TRUE.items() for cap, (t, e) in zip(CAPS, each, strict=True)
        for i in range(repeats)
    ]  # fmt: skip
    return rh.table(pl.DataFrame(rows).to_dict(as_series=False))


def believed(table: rh.JobTable, asked: rh.JobTable | None = None) -> Outcome:
    model = MeasuredRepeats(Constant(), table, ["cap_w"], ["runtime_s", "energy_j"])
    return model.predict(table if asked is None else asked)


def is_measured(outcome: Outcome) -> np.ndarray:
    n = len(outcome["runtime_s"][0])
    if outcome.grade is None:
        return np.zeros(n, bool)
    return outcome.grade == GRADES.index("measured")


def test_repeats_are_the_forecast_and_their_spread_its_interval() -> None:
    table = runs()
    forecast = believed(table)
    assert is_measured(forecast).all()
    first = table.frame.filter((pl.col("app") == "stencil") & (pl.col("cap_w") == 200))["runtime_s"]
    assert forecast.mean("runtime_s")[0] == pytest.approx(first.mean())
    assert sorted(forecast["runtime_s"][:, 0]) == pytest.approx(sorted(first))


def test_a_setting_that_ran_once_or_of_another_application_is_left_to_the_model() -> None:
    table = runs().rows([0, 1, 2, 3, 4])
    asked = rh.table({"app": ["stencil", "stencil", "new", None], "cap_w": [200, 250, 200, 200]})
    assert is_measured(believed(table, asked)).tolist() == [True, False, False, False]


def test_repeats_that_disagree_as_other_inputs_do_are_not_believed() -> None:
    assert not is_measured(believed(runs(noise=0.3, repeats=8))).any()


def test_a_size_has_to_be_the_same_and_a_host_does_not() -> None:
    def size(app, cap, i):
        return 100 if cap == 200 else 200

    weak = runs(mesh_cells=size)
    other = weak.with_columns([weak.schema["mesh_cells"]], mesh_cells=pl.lit(100))
    held = is_measured(believed(weak, other)).reshape(2, 3, 4)
    assert held[:, 0].all()
    assert not held[:, 1:].any()
    assert is_measured(believed(runs(host=lambda a, c, i: f"n{i:03}"))).all()


def test_a_size_that_tells_repeats_apart_is_matched() -> None:
    table = runs(mesh_cells=lambda app, cap, i: 100 * (1 + i % 2))
    twice = [pl.when(pl.col("mesh_cells") == 200).then(pl.col(q) * 2).otherwise(pl.col(q)).alias(q)
             for q in ("runtime_s", "energy_j")]  # fmt: skip
    table = rh.table(table.frame.with_columns(twice).to_dict(as_series=False))
    forecast = believed(table)
    assert is_measured(forecast).all()
    assert forecast.mean("runtime_s") == pytest.approx(table.numpy("runtime_s"), rel=0.01)


def test_a_log_and_a_trial_are_not_taken_so() -> None:
    model = Constant()
    for column in ("submit_s", "cap_w_requested"):
        log = runs(**{column: lambda a, c, i: 300.0})
        assert measured_repeats(model, log, ["cap_w"], ["runtime_s"]) is model
