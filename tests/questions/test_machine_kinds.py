"""Hosts of two kinds are told apart by what is left of the time; hosts of one kind are not."""

from __future__ import annotations

import numpy as np
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


@pytest.mark.parametrize("names", [str, lambda h: f"{hash(h) % 997:x}"])
def test_two_kinds_and_the_settings_of_each_alone(names) -> None:
    kinds = machine_kinds(runs(1.7, names=names), "host", ["threads"])
    assert kinds.factor == pytest.approx(1.7, rel=0.02)
    assert set(kinds.slow) == {names(h) for h in ("m1", "m2", "m3")}
    assert (kinds.on_fast, kinds.on_slow) == (("8",), ("16",))
    assert "8 ran on the faster kind alone" in kinds.words()


@pytest.mark.parametrize("seed", range(20))
def test_machines_of_one_kind_are_one(seed) -> None:
    assert machine_kinds(runs(1.0, 0.02, seed), "host", ["threads"]) is None


def test_front_says_which_settings_do_not_compare(tmp_path, capsys) -> None:
    runs(1.7).frame.write_csv(tmp_path / "runs.csv")
    assert run(["front", str(tmp_path / "runs.csv"), "--knob", "threads=1,2,4,8,16,32"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "do not compare" in said
    assert "--where host=n" in said
