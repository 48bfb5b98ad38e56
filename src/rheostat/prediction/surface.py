"""What does an application do at each setting of its caps: how fast, how many watts, how sure?

A *surface* is one application over its knobs (CPU cap, GPU cap, GPU count, nodes): rate, power and
energy as draws, monotone in the caps.  It is learnt from a table of runs: repeated runs of a
setting give the noise directly, single runs give it by how far they are from any monotone table.
Budgets are spent on surfaces (`rheostat.decision.budget`), whoever made them.

Notation
--------
s  settings of one application      k  knobs      d  draws
values : (s, k) knob values         rate : (d, s) = 1 / runtime_s      total_w : (s,) sum of caps
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Outcome
from rheostat.core.vocabulary import column
from rheostat.errors import DataError
from rheostat.prediction.monotone import rising_everywhere

CAPS = ("cpu_cap_w", "gpu_cap_w", "cap_w")
COUNTS = ("gpus", "nodes")
_FEWEST = 12  # degrees of freedom below which noise is not estimated from the table


@dataclass(frozen=True)
class Surface:
    """One application at its settings.

    ``noise`` is the relative spread of one run, NaN where the table cannot tell it (then all draws
    are equal and no interval is claimed).

    >>> s = Surface("lbm", ("cap_w",), np.array([[100.0], [200.0]]),
    ...             Outcome({"runtime_s": np.array([[20.0, 10.0]])}))
    >>> s.total_w, s.gain(0).tolist(), s.index({"cap_w": 200})
    (array([100., 200.]), [[0.0, 1.0]], 1)
    """

    app: str
    knobs: tuple[str, ...]
    values: Array
    outcome: Outcome
    noise: float = float("nan")

    @property
    def rate(self) -> Array:
        """Work per second, (d, s), in runs per second."""
        return 1.0 / self.outcome["runtime_s"]

    @property
    def total_w(self) -> Array:
        """Watts that the caps allow together, (s,): GPU caps times GPUs, all times nodes."""
        return caps_together(self.knobs, self.values)

    def gain(self, reference: int) -> Array:
        """Rate over the rate at setting ``reference``, less one, draw by draw, (d, s)."""
        return self.rate / self.rate[:, [reference]] - 1.0

    def index(self, setting: Mapping[str, float]) -> int:
        """The row of a setting; knobs not named may have any value if one only fits."""
        fits = np.ones(len(self.values), dtype=bool)
        for name, value in setting.items():
            fits &= np.isclose(self.values[:, self.knobs.index(name)], value)
        if fits.sum() != 1:
            raise DataError(
                f"surface of {self.app}", [f"{int(fits.sum())} settings are {dict(setting)}"]
            )
        return int(np.flatnonzero(fits)[0])

    def setting(self, row: int) -> dict[str, float]:
        """The knobs of a row."""
        return {k: float(v) for k, v in zip(self.knobs, self.values[row], strict=True)}


def caps_together(knobs: Sequence[str], values: Array) -> Array:
    """Watts that the caps of each setting (s, k) allow together, (s,).

    >>> caps_together(("cap_w", "gpus"), np.array([[100.0, 4.0]]))
    array([100.])
    >>> caps_together(("gpu_cap_w", "gpus"), np.array([[100.0, 4.0]]))
    array([400.])
    """
    column = dict(zip(knobs, values.T, strict=True))
    gpus, nodes = (column.get(n, np.ones(len(values))) for n in COUNTS)
    caps = [column[n] * (gpus if n == "gpu_cap_w" else 1.0) for n in CAPS if n in column]
    return np.asarray(np.sum(caps, axis=0) * nodes)


def knobs_in(jobs: JobTable) -> tuple[str, ...]:
    """Caps and counts that the table turns: columns with more than one value, caps first."""
    known = [c for c in (*CAPS, *COUNTS) if c in jobs.columns]
    return tuple(c for c in known if c in CAPS or jobs.frame[c].n_unique() > 1)


def named_by(jobs: JobTable, by: Sequence[str]) -> JobTable:
    """The same runs, where an application is what agrees in all columns ``by``.

    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"app": ["a", "a"], "batch_size": [32, 64], "runtime_s": [1.0, 2.0]})
    >>> named_by(runs, ("app", "batch_size")).frame["app"].to_list()
    ['a 32', 'a 64']
    """
    if not by:
        raise DataError("by", ["expected at least one column, as app,batch_size"])
    jobs.require(*by)
    parts = [pl.col(c).cast(pl.String).fill_null("") for c in by]
    return jobs.with_columns([column("app")], app=pl.concat_str(parts, separator=" "))


def mixed(jobs: JobTable) -> tuple[str, ...]:
    """Settings other than caps that differ among the runs of an application at the same caps.

    Such runs count as repeats, which they are not; columns that name runs (all different) or that
    are no setting (known at the end) are not looked at.
    """
    same = [c for c in ("app", *CAPS, *COUNTS) if c in jobs.columns]
    others = [
        c for c in jobs.known_at(Moment.SUBMIT).columns
        if c not in same and 1 < jobs.frame[c].n_unique() < max(2, len(jobs))
    ]  # fmt: skip
    if not others or "app" not in same:
        return ()
    counts = jobs.frame.group_by(same).agg(pl.col(c).n_unique() for c in others)
    return tuple(c for c in others if (counts[c] > 1).any())


def surfaces(
    jobs: JobTable,
    knobs: Sequence[str] | None = None,
    *,
    monotone: bool = True,
    n_draws: int = 32,
    seed: int = 0,
) -> dict[str, Surface]:
    """A surface for each application of a table of runs.

    Parameters
    ----------
    jobs : JobTable
        Columns ``app``, ``runtime_s``, at least one cap, and power_w or energy_j where measured.
    knobs : sequence of str or None
        Knob columns; by default the caps and counts of the table.
    monotone : bool
        Make runtime fall and power rise with the caps (see `rising_everywhere`); False keeps the
        table as it is, noise and all.
    n_draws, seed : int
        Draws of each value.

    Raises
    ------
    DataError
        No caps, no runtime, or no application with two settings.
    """
    jobs.require("app", "runtime_s")
    knobs = tuple(knobs or knobs_in(jobs))
    jobs.require(*knobs)
    if not set(knobs) & set(CAPS):
        raise DataError("surfaces", [f"expected a column {', '.join(CAPS[:-1])} or {CAPS[-1]}"])
    frame = _settings(jobs, knobs)
    by_app = {}
    for number, (name,), own in _by_app(frame):
        rng = np.random.default_rng([seed, number])
        by_app[str(name)] = _surface(str(name), knobs, own, monotone, n_draws, rng)
    by_app = {k: s for k, s in by_app.items() if len(s.values) > 1}
    if not by_app:
        raise DataError("surfaces", ["no application has runs at two settings"])
    return by_app


def _by_app(frame: pl.DataFrame) -> Iterable[tuple[int, tuple[object, ...], pl.DataFrame]]:
    groups = frame.group_by("app", maintain_order=True)
    return ((i, key, own) for i, (key, own) in enumerate(groups))


def _settings(jobs: JobTable, knobs: Sequence[str]) -> pl.DataFrame:
    """Mean log of runtime and power, spread within repeats and their number, per setting."""
    if "power_w" in jobs.columns:
        power = pl.col("power_w")
    elif "energy_j" in jobs.columns:
        power = pl.col("energy_j") / pl.col("runtime_s")
    else:
        power = pl.lit(None, dtype=pl.Float64)
    logs = (
        jobs.finished()
        .frame.select("app", *knobs, t=pl.col("runtime_s"), p=power)
        .with_columns(*(pl.when(pl.col(c) > 0).then(pl.col(c)).log().alias(c) for c in ("t", "p")))
    )
    logs = logs.drop_nulls(["app", *knobs, "t"])
    return logs.group_by("app", *knobs).agg(
        pl.col("t").mean(), pl.col("p").mean(), pl.len().alias("runs"),
        tt=pl.col("t").var() * (pl.len() - 1), pp=pl.col("p").var() * (pl.len() - 1),
    ).sort("app", *knobs)  # fmt: skip


def _surface(
    app: str,
    knobs: tuple[str, ...],
    own: pl.DataFrame,
    monotone: bool,
    n_draws: int,
    rng: np.random.Generator,
) -> Surface:
    values = own.select(knobs).cast(pl.Float64).to_numpy()
    runs = own["runs"].to_numpy().astype(float)
    draws, noise = {}, float("nan")
    for name, short, sign in (("runtime_s", "t", -1.0), ("power_w", "p", 1.0)):
        y = own[short].cast(pl.Float64).fill_null(np.nan).to_numpy()
        if not np.isfinite(y).all():
            continue
        fit = _smooth(sign * y[None], values, knobs, runs) if monotone else sign * y[None]
        spread = _noise(own, short * 2, sign * y, fit[0], runs)
        wobble = np.nan_to_num(spread) / np.sqrt(runs) * rng.standard_normal((n_draws, len(y)))
        drawn = fit + wobble
        if monotone and spread > 0:
            drawn = _smooth(drawn, values, knobs, runs)
            # noise alone makes a corner look steeper, so draws are brought back to the fit
            drawn = _smooth(fit + drawn - drawn.mean(axis=0), values, knobs, runs)
        draws[name] = np.exp(sign * drawn)
        noise = spread if name == "runtime_s" else noise
    return Surface(app, knobs, values, Outcome(draws, support=runs), noise)


def _noise(own: pl.DataFrame, within: str, y: Array, fit: Array, runs: Array) -> float:
    """Spread of one run: from repeats where there are enough, else from the monotone fit.

    A fit with D different levels has used about 1.5 D degrees of freedom (Meyer and Woodroofe:
    On the degrees of freedom in shape-restricted regression, Annals of Statistics 28, 2000).
    """
    freedom = float((runs - 1).sum())
    if freedom >= _FEWEST:
        return float(np.sqrt(np.nansum(own[within].cast(pl.Float64).to_numpy()) / freedom))
    levels = len(np.unique(fit.round(9)))
    if levels == len(y) or len(y) < _FEWEST:
        return float("nan")
    return float(np.sqrt(((y - fit) ** 2).sum() / max(len(y) - 1.5 * levels, 0.25 * len(y))))


def _smooth(y: Array, values: Array, knobs: tuple[str, ...], runs: Array) -> Array:
    """``y`` (d, s) made to rise with the caps, separately for each combination of counts."""
    caps = [i for i, k in enumerate(knobs) if k in CAPS]
    others = [i for i in range(len(knobs)) if i not in caps]
    result = np.array(y)
    _, block = np.unique(values[:, others], axis=0, return_inverse=True)
    for b in np.unique(block):
        rows = np.flatnonzero(block == b)
        axes = [np.unique(values[rows, c], return_inverse=True) for c in caps]
        cell: Any = tuple(place for _, place in axes)
        shape = tuple(len(levels) for levels, _ in axes)
        grid = np.full((len(y), *shape), np.nan)
        weight = np.zeros(shape)
        grid[(slice(None), *cell)], weight[cell] = y[:, rows], runs[rows]
        grid = np.where(weight > 0, grid, np.nanmean(grid, axis=tuple(range(1, grid.ndim)),
                                                     keepdims=True))  # fmt: skip
        result[:, rows] = rising_everywhere(grid, weight)[(slice(None), *cell)]
    return result
