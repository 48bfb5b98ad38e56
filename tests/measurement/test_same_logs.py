"""Generated logs are the same in every version: figures in the docs were measured on them.

``python tests/measurement/test_same_logs.py`` writes the summary anew; a change of it is a change
of every figure that a generated log stands behind.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.published_logs import write_adastra, write_fdata, write_pm100
from rheostat.core.vocabulary import column
from rheostat.measurement.synthetic import World
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.measurement.synthetic.counter_runs import write_pcm

GOLDEN = Path(__file__).with_name("same_logs.json")
Frames = dict[str, Callable[[Path], pl.DataFrame]]


def _world(folder: Path) -> pl.DataFrame:
    return World(seed=2, n_apps=25, n_users=40, max_nodes=100).jobs(600, seed=1).frame


def _truth(folder: Path) -> pl.DataFrame:
    """Costs of a log under caps of which some are above, some below what the nodes draw."""
    world = World(seed=5, work_scale=0.3)
    jobs = world.jobs(200)
    caps = np.where(np.arange(200) % 5 == 0, np.nan, np.linspace(100.0, 2000.0, 200))
    free, held = world.truth(jobs), world.truth(jobs.with_columns([column("cap_w")], cap_w=caps))
    usual = world.truth(jobs.select([c for c in jobs.columns if c != "job_id"]))
    return pl.DataFrame({
        f"{k} {q}": o.mean(q) for k, o in (("free", free), ("capped", held), ("usual", usual))
        for q in ("runtime_s", "power_w")
    })  # fmt: skip


def _written(write: Callable[..., object], **options: object) -> Callable[[Path], pl.DataFrame]:
    def made(folder: Path) -> pl.DataFrame:
        write(folder / "log.parquet", 150, seed=4, **options)
        return pl.read_parquet(folder / "log.parquet")

    return made


def _pcm(folder: Path) -> pl.DataFrame:
    return pl.read_csv(write_pcm(folder / "pcm.csv", n_apps=5, intervals=7, seed=6))


FRAMES: Frames = {
    "world": _world,
    "truth": _truth,
    "pm100": _written(write_pm100),
    "adastra": _written(write_adastra),
    "fdata": _written(write_fdata),
    "fdata, a later month": _written(write_fdata, embedding=False, month=2),
    "capped": lambda folder: capped_runs(4, repeats=2, noise=0.05, seed=3).frame,
    "capped, defaults": lambda folder: capped_runs().frame,
    "pcm": _pcm,
}


def summary(frame: pl.DataFrame) -> dict[str, list[object]]:
    """Per column: how many, and two sums of numbers or a hash of anything else."""
    found: dict[str, list[object]] = {}
    for name in frame.columns:
        values = frame[name].explode() if frame[name].dtype == pl.List else frame[name]
        if values.dtype.is_numeric():
            x = values.cast(pl.Float64).fill_nan(None).fill_null(-1.0).to_numpy()
            place = np.cos(np.arange(len(x)))
            marks: list[object] = [float(x.sum()), float((x * place).sum())]
        else:
            text = "|".join(map(str, values.to_list()))
            marks = [hashlib.sha256(text.encode()).hexdigest()[:16]]
        found[name] = [frame.height, len(values), *marks]
    return found


@pytest.mark.parametrize("name", FRAMES)
def test_a_seed_gives_the_log_that_it_always_gave(name: str, tmp_path: Path) -> None:
    want = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
    found = summary(FRAMES[name](tmp_path))
    assert list(found) == list(want)
    for column_, marks in want.items():
        for a, b in zip(found[column_], marks, strict=True):
            near = isinstance(b, float)
            assert a == (pytest.approx(b, rel=1e-9, abs=1e-9) if near else b), column_


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        every = {name: summary(frame(Path(made))) for name, frame in FRAMES.items()}
    GOLDEN.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
