"""Partitions are other machines until a log shows that they are not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat import JobTable, table
from rheostat.core.jobs import Moment
from rheostat.prediction.effects.predictor import WithinApplication


def site(*, by_nodes: bool, faster: float = 2.2, n: int = 480, seed: int = 0) -> JobTable:
    """Six applications of ten scripts; runtime goes with nodes to the power -0.9.

    On partition new all is ``faster`` times as fast.  There ran 2 and 4 nodes, on old 8 and 16, or,
    not ``by_nodes``, either by chance.
    """
    rng = np.random.default_rng(seed)
    script = rng.integers(60, size=n)
    nodes = 2 ** rng.integers(1, 5, size=n)
    new = nodes < 8 if by_nodes else rng.random(n) < 0.5
    work = np.exp(rng.normal(9, 0.8, 60))[script]
    runtime = work * nodes**-0.9 / np.where(new, faster, 1.0) * np.exp(rng.normal(0, 0.02, n))
    return table(
        {
            "app": [f"app{s % 6}" for s in script],
            "user": [f"u{s % 4}" for s in script],
            "script": [f"s{s}" for s in script],
            "partition": np.where(new, "new", "old").tolist(),
            "nodes": nodes,
            "submit_s": np.arange(n) * 600.0,
            "runtime_s": runtime,
            "power_w": 300.0 * nodes,
        }
    )


def to_half(log: JobTable, where: pl.Expr) -> tuple[np.ndarray, tuple[str, ...]]:
    """Forecast runtime at half the nodes over that as asked, and what the log was doubted for."""
    model = WithinApplication(targets=("runtime_s", "power_w")).fit(log)
    asked = log.known_at(Moment.SUBMIT).frame.filter(where)
    known = asked.with_columns(nodes_requested=pl.col("nodes"))
    half = known.with_columns(nodes=pl.col("nodes") // 2)
    means = [model.predict(table(f.to_dict())).mean("runtime_s") for f in (half, known)]
    return means[0] / means[1], model.identification_.doubts


def test_what_a_faster_partition_does_is_not_taken_for_what_fewer_nodes_do() -> None:
    log = site(by_nodes=True)
    ratio, doubts = to_half(log, (pl.col("partition") == "old") & (pl.col("nodes") == 16))
    assert np.nanmedian(ratio) == pytest.approx(2**0.9, rel=0.06)
    assert any("partition" in d for d in doubts)


def test_no_job_is_forecast_at_a_setting_that_never_ran_on_its_partition() -> None:
    log = site(by_nodes=True)
    ratio, _ = to_half(log, (pl.col("partition") == "old") & (pl.col("nodes") == 8))
    assert not np.isfinite(ratio).any() or np.nanmedian(ratio) == pytest.approx(2**0.9, rel=0.1)


def test_partitions_that_settings_do_not_go_with_are_compared() -> None:
    _, doubts = to_half(site(by_nodes=False), pl.col("nodes") == 8)
    assert not any("partition" in d for d in doubts)


def test_partitions_on_which_runs_take_as_long_are_one_machine() -> None:
    log = site(by_nodes=True, faster=1.0)
    rng = np.random.default_rng(1)
    either = pl.Series("partition", rng.choice(["new", "old"], len(log)))
    mixed = pl.when(pl.Series(rng.random(len(log)) < 0.3)).then(either).otherwise("partition")
    same = JobTable(log.frame.with_columns(partition=mixed), log.schema)
    _, doubts = to_half(same, pl.col("nodes") == 8)
    assert not any("partition" in d for d in doubts)


def moved_at_once(*, twice: bool) -> JobTable:
    """Scripts ran at 8 nodes for half a month, and at 4 since; all then was ``twice`` as fast."""
    log = site(by_nodes=False, faster=1.0)
    since = np.arange(len(log)) >= len(log) // 2
    nodes = np.where(since, 4, 8)
    asked = log.frame["nodes"].to_numpy()
    runtime = (
        log.frame["runtime_s"].to_numpy() * (asked / nodes) ** 0.9 / np.where(since & twice, 2, 1)
    )
    columns = log.frame.drop("partition").to_dict() | {"nodes": nodes, "runtime_s": runtime}
    return table(columns | {"power_w": 300.0 * nodes})


def test_settings_that_all_changed_at_one_date_tell_nothing() -> None:
    model = WithinApplication().fit(moved_at_once(twice=True))
    assert not model.identification_.answers
    assert any("before run 240 of 480" in d for d in model.identification_.doubts)


def test_a_date_before_and_since_which_equal_settings_take_as_long_is_no_reason_to_doubt() -> None:
    log = moved_at_once(twice=False)
    rng = np.random.default_rng(3)
    nodes = log.frame["nodes"].to_numpy()
    other = np.where(rng.random(len(log)) < 0.15, 12 - nodes, nodes)
    runtime = log.frame["runtime_s"].to_numpy() * (nodes / other) ** 0.9
    mixed = table(
        log.frame.to_dict() | {"nodes": other, "runtime_s": runtime, "power_w": 300.0 * other}
    )
    found = WithinApplication().fit(mixed).identification_
    assert found.answers
    assert not any("of 480" in d for d in found.doubts)
