"""Hosts of two kinds are told apart by what is left of the time; hosts of one kind are not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rheostat as rh
from rheostat.cli import run
from rheostat.questions.settings.machine_kinds import machine_kinds

THREADS = (1, 2, 4, 8, 16, 32)
HOSTS = {8: ("n3", "n4", "n1"), 16: ("m2", "m1", "m3")}


def runs(factor: float, noise: float = 0.006, seed: int = 0, names=str) -> rh.JobTable:
    rng = np.random.default_rng(seed)
    rows = [(t, h) for t in THREADS for h in HOSTS.get(t, ("n1", "m1", "n2"))]
    took = [
        400 / t * (factor if h[0] == "m" else 1) * np.exp(noise * rng.normal()) for t, h in rows
    ]
    table = {"host": [names(h) for _, h in rows], "threads": [t for t, _ in rows]}
    return rh.table({**table, "runtime_s": took, "energy_j": [90 * t for t in took]})


@pytest.mark.parametrize("names", [str, lambda h: h[::-1]])
def test_two_kinds_and_the_settings_of_each_alone(names) -> None:
    kinds = machine_kinds(runs(1.7, names=names), "host", ["threads"])
    assert kinds.factors["runtime_s"] == pytest.approx(1.7, rel=0.02)
    assert set(kinds.slow) == {names(h) for h in ("m1", "m2", "m3")}
    assert (kinds.on_fast, kinds.on_slow) == (("8",), ("16",))
    assert "8 ran on the faster kind alone" in kinds.words()


@pytest.mark.parametrize("seed", range(20))
def test_machines_of_one_kind_are_one(seed) -> None:
    assert machine_kinds(runs(1.0, 0.02, seed), "host", ["threads"]) is None


def edp(table: rh.JobTable, **more) -> rh.questions.settings.front.FrontAnswer:
    rule = "weighted=runtime_s:1,energy_j:1"
    return rh.front(table, knobs="threads=1,2,4,8,16,32", rule=rule, **more)


def test_settings_of_other_kinds_are_not_compared(tmp_path, capsys) -> None:
    """Time falls with each doubling: 8 seems as fast as 16 by its faster hosts alone."""
    runs(1.7).frame.write_csv(tmp_path / "runs.csv")
    assert run(["front", str(tmp_path / "runs.csv"), "--knob", "threads=1,2,4,8,16,32"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "threads 8 ran on the faster kind alone and threads 16 ran on the slower" in said
    assert "4 of 18 runs, on m1, m2, m3, are left out" in said
    assert "time times 0.58" in said
    assert "--where host=m1" in said


def test_figures_are_of_one_kind() -> None:
    """16 ran on slower hosts alone: its time and energy are those of the faster ones."""
    answer = edp(runs(1.7))
    took = dict(zip(THREADS, answer.front.middle("runtime_s"), strict=True))
    for threads in THREADS:
        assert took[threads] == pytest.approx(400 / threads, rel=0.03)
    assert answer.front.middle("energy_j")[4] == pytest.approx(90 * 25, rel=0.03)


def test_kinds_that_share_all_settings_alike_stay(monkeypatch) -> None:
    monkeypatch.delitem(HOSTS, 8)
    monkeypatch.delitem(HOSTS, 16)
    took = edp(runs(1.7)).front.middle("runtime_s")
    assert took[0] == pytest.approx(400 * (2 + 1.7) / 3, rel=0.03)


def test_the_kind_that_ran_more_settings_is_kept() -> None:
    table = runs(1.7).frame.filter(~pl.col("host").str.starts_with("n") | (pl.col("threads") < 8))
    answer = edp(rh.table(table.to_dict(as_series=False)))
    assert answer.front.middle("runtime_s")[4] == pytest.approx(25 * 1.7, rel=0.03)
