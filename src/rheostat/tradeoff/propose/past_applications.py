"""Runs of other applications as the curves that a search begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.space import Setting, Space
from rheostat.core.vocabulary import VOCABULARY
from rheostat.prediction.scaling_law import Job
from rheostat.prediction.scaling_law.coordinates import Array, Scale

FEWEST = 3
"""Settings that an application of the past must have been run at to teach a curve."""


def levels(space: Space) -> dict[str, tuple[Any, ...]]:
    """The names that a knob can take, of the knobs that are not numbers."""
    return {k.name: k.values for k in space.knobs if not k.numeric}


def coded(setting: Setting, names: Mapping[str, Sequence[Any]]) -> list[float]:
    """A setting as numbers: a name is its place among the knob's.

    >>> coded({"nodes": 2, "compiler": "icx"}, {"compiler": ("gcc", "icx")})
    [2.0, 1.0]
    """
    return [float(names[k].index(v) if k in names else v) for k, v in setting.items()]


def coordinates(space: Space, settings: Sequence[Setting]) -> Array:
    """Settings (n, D) in [-1, 1] as the laws have them: by logarithm where a knob is positive.

    >>> from rheostat import Knob
    >>> coordinates(Space.of(Knob("nodes", [1, 4, 16])), [{"nodes": n} for n in (1, 4, 16)]).ravel()
    array([-1.,  0.,  1.])
    """
    names = levels(space)
    named = [i for i, k in enumerate(space.names) if k in names]
    points = np.array([coded({k: s[k] for k in space.names}, names) for s in settings])
    return Scale.of(points, named).unit(points)


def with_power(jobs: JobTable) -> JobTable:
    """Mean power of runs that have energy alone.

    >>> from rheostat import table
    >>> with_power(table({"runtime_s": [2.0], "energy_j": [10.0]})).frame["power_w"].to_list()
    [5.0]
    """
    if "power_w" in jobs.columns or not {"runtime_s", "energy_j"} <= set(jobs.columns):
        return jobs
    mean = jobs.frame["energy_j"] / jobs.frame["runtime_s"]
    return jobs.with_columns((VOCABULARY["power_w"],), power_w=mean)


def past_jobs(
    prior: JobTable,
    knobs: Sequence[str],
    by: Sequence[str],
    names: Mapping[str, Sequence[Any]] | None = None,
) -> list[Job]:
    """Curves of the applications in ``prior``: settings and mean log runtime and power.

    A table without the columns ``by`` that tell applications apart is of one.  Runs with a name
    that is not among ``names`` of its knob tell nothing of those that are.
    """
    names = names or {}
    prior = with_power(prior)
    prior.require(*knobs, "runtime_s", "power_w")
    by = [column for column in by if column in prior.columns]
    good = (pl.col("runtime_s") > 0) & (pl.col("power_w") > 0)
    for knob, listed in names.items():
        good &= pl.col(knob).is_in(list(listed))
    logs = prior.finished().frame.filter(good).drop_nulls(list(knobs))
    means = (
        logs.group_by(*by, *knobs)
        .agg(pl.col("runtime_s").log().mean(), pl.col("power_w").log().mean())
        .sort(*by, *knobs)
    )
    jobs = []
    groups = means.partition_by(*by, maintain_order=True) if by else [means]
    for group in groups:
        if group.height >= FEWEST:
            values = group.select("runtime_s", "power_w").to_numpy().T
            settings = [coded(row, names) for row in group.select(knobs).iter_rows(named=True)]
            jobs.append(Job(np.array(settings), values))
    return jobs
