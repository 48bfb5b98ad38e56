"""What was measured is believed: the front of a complete table is its measured front."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rheostat import Knob, Outcome, Space, read, table
from rheostat.cli import run
from rheostat.core.dominance import non_dominated
from rheostat.errors import DataError
from rheostat.recipes.nodecount import own_runs
from rheostat.tradeoff.all_settings import front as one_front

RUNS = Path(__file__).parents[3] / "shared" / "data" / "runs"
ZEUS = [RUNS / "zeus_nsdi23" / f"summary_power_{g}.csv" for g in ("v100", "a40", "p100", "rtx6000")]
BY = ("app", "dataset", "optimizer")


class Wrong:
    """A model whose every forecast is better than any measurement."""

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        small = np.full((7, len(jobs)), 1e-3)
        return Outcome({"runtime_s": small, "power_w": small}, np.zeros(len(jobs)))


def test_a_measured_cell_shows_mean_and_spread_of_its_repeats():
    runs = table({
        "nodes": [1, 1, 1, 4], "runtime_s": [9.0, 10.0, 14.0, 4.0],
        "power_w": [2.0, 2.0, 5.0, 9.0],
    })  # fmt: skip
    front = one_front(runs.rows([0]), None, Knob("nodes", [1, 4]), runs=runs)
    assert front.mean("runtime_s") == pytest.approx([11.0, 4.0], rel=1e-15)
    # energy is that of each run, not the product of two means
    assert front.mean("energy_j") == pytest.approx([(18.0 + 20.0 + 70.0) / 3, 36.0], rel=1e-15)
    low, high = front.interval("runtime_s", 1.0)
    assert (low[0], high[0], low[1], high[1]) == (9.0, 14.0, 4.0, 4.0)
    assert front.outcome.support.tolist() == [3.0, 1.0]


def test_the_model_is_asked_about_the_other_cells_alone_and_their_evidence_is_named():
    runs = table({"nodes": [2, 8], "runtime_s": [8.0, 4.0], "power_w": [1.0, 9.0]})
    asked = []

    class Model(Wrong):
        def predict(self, jobs):
            asked.append(jobs.frame["nodes"].to_list())
            return Outcome({"runtime_s": np.full((1, len(jobs)), 6.0),
                            "power_w": np.full((1, len(jobs)), 5.0)})  # fmt: skip

    front = one_front(runs.rows([0]), Model(), Knob("nodes", [1, 2, 4, 8]), runs=runs)
    assert asked == [[1, 4]]
    assert front.mean("runtime_s").tolist() == [6.0, 8.0, 6.0, 4.0]
    assert front.outcome.grade.tolist() == [1, 3, 2, 3]  # borrowed, measured, interpolated


def test_a_run_without_a_wanted_quantity_is_no_measurement_of_it():
    runs = table({"nodes": [1, 2], "runtime_s": [9.0, 5.0], "power_w": [2.0, None]})
    with pytest.raises(DataError, match="some settings were not measured"):
        one_front(runs.rows([0]), None, Knob("nodes", [1, 2]), runs=runs)
    alone = one_front(runs.rows([0]), None, Knob("nodes", [1, 2]), ("runtime_s",), runs=runs)
    assert alone.mean("runtime_s").tolist() == [9.0, 5.0]


def test_a_run_that_was_cut_off_is_no_measurement():
    runs = table(
        {"nodes": [1, 1, 2], "runtime_s": [90.0, 3.0, 50.0], "censored": [False, True, None]}
    )
    front = one_front(runs.rows([0]), None, Knob("nodes", [1, 2]), ("runtime_s",), runs=runs)
    assert front.mean("runtime_s").tolist() == [90.0, 50.0]
    assert front.outcome.support.tolist() == [1.0, 1.0]


def test_jobs_of_a_log_are_not_taken_as_measurements():
    log = table({"app": ["a"], "submit_s": [0.0], "nodes": [1], "runtime_s": [3.0]})
    assert own_runs(log, 0, None) is None


def pools(path):
    """Applications of a table whose every combination of the knobs was measured."""
    jobs = read(path)
    for key, rows in jobs.frame.with_row_index("at").group_by(BY, maintain_order=True):
        own = jobs.rows(rows["at"].to_numpy().astype(int))
        knobs = [Knob(k, sorted(own.frame[k].unique().to_list())) for k in ("batch_size", "cap_w")]
        space = Space(tuple(knobs))
        if len(own.frame.unique(space.names)) == len(space.settings()) > 1:
            yield key, own, space


@pytest.mark.parametrize("path", ZEUS, ids=lambda p: p.stem)
def test_the_front_of_every_complete_pool_is_the_measured_one(path):
    if not path.exists():
        pytest.skip("the Zeus tables of measured runs are not here")
    count = 0
    for _, own, space in pools(path):
        count += 1
        front = one_front(own.rows([0]), None, space, runs=own)
        means = own.frame.with_columns(energy_j=pl.col("runtime_s") * pl.col("power_w"))
        means = means.group_by(space.names).agg(pl.col("runtime_s", "energy_j").mean())
        best = non_dominated(means.select("runtime_s", "energy_j").to_numpy())
        expected = {tuple(r) for r in means.filter(pl.Series(best)).select(space.names).rows()}
        got = front.alternatives.frame.filter(pl.Series(front.mask)).select(space.names).rows()
        assert {tuple(r) for r in got} == expected
    assert count >= 3


@pytest.mark.parametrize("path", ZEUS[:1], ids=lambda p: p.stem)
def test_with_cells_removed_no_dominated_setting_is_called_non_dominated(path):
    if not path.exists():
        pytest.skip("the Zeus tables of measured runs are not here")
    rng = np.random.default_rng(0)
    for _, own, space in pools(path):
        kept = own.rows(np.sort(rng.permutation(len(own))[: max(2, len(own) // 2)]))
        front = one_front(kept.rows([0]), Pessimist(kept), space, runs=kept)
        y, known = front.values, front.outcome.grade == 3
        for i in np.flatnonzero(front.mask):
            beaten = (y[known] <= y[i]).all(axis=1) & (y[known] < y[i]).any(axis=1)
            assert not beaten.any()


class Pessimist(Wrong):
    """Forecasts the worst that was measured."""

    def __init__(self, runs):
        self.worst = {q: float(runs.numpy(q).max()) for q in ("runtime_s", "power_w")}

    def predict(self, jobs):
        return Outcome({q: np.full((3, len(jobs)), v) for q, v in self.worst.items()})


def test_runs_that_differ_in_another_setting_are_noted_and_users_are_told_apart(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    path.write_text(
        "app,nodes,optimizer,runtime_s,power_w\n"
        "a,1,sgd,10,5\na,1,adam,20,5\na,2,sgd,6,9\nb,1,sgd,1,1\n"
    )
    given = ["front", str(path), "--knob", "nodes=1,2", "--where", "app=a"]
    assert run(given) == 0
    assert "differ in optimizer" in capsys.readouterr().err
    assert run([*given, "--where", "optimizer=sgd"]) == 0
    assert "differ in" not in capsys.readouterr().err
    users = table({"user": ["u", "v"], "nodes": [1, 1], "runtime_s": [3.0, 9.0]})
    assert own_runs(users, 0, None).frame["user"].to_list() == ["u"]
