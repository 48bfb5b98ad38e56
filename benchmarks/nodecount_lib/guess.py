"""Make pools of any table of measured runs whose columns can be recognised.

Rows are grouped by machine and application; inside a group the knobs are the recognised columns
that take several values and are not implied by earlier ones; repeats of a setting are reduced to
their median.  An application without runtimes is timed by the inverse of its throughput (seconds
per unit of work), and its energy is then power times that.  Whatever is left out is said, with the
reason.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from .noise import of_repeats
from .pools import Array, Pool, make_pool
from .roles import Roles, guess_roles, told_roles, unit_of

MAX_LABELS = 40
REPEAT_SPREAD, ODD = 1.25, 0.1
"""Repeats of one setting that differ by more than this factor in runtime are probably different
experiments; the share of settings where they may."""


def guess_pools(frame: pl.DataFrame, path: Path) -> tuple[list[Pool], list[str]]:
    """Pools of one table and notes on what was recognised and what left out."""
    roles = told_roles(path) or guess_roles(frame)
    lacking = roles.missing()
    if lacking:
        return [], [f"{path.name}: not a table of measured runs, {lacking}"]
    frame, settled = _separate(frame, roles)
    notes = [f"{path.name}: {roles.describe()}"]
    if (odd := _disagreement(frame, roles, list(roles.app))) > ODD:
        notes.append(
            f"{path.name}: repeats of {odd:.0%} of the settings differ by more than "
            f"{REPEAT_SPREAD - 1:.0%} in runtime: is a knob missing? Name it in {path.stem}.toml"
        )
    pools: list[Pool] = []
    for key, rows in _groups(frame, roles.machine + settled):
        made = _pool(rows, roles, path, key=key)
        if isinstance(made, str):
            notes.append(f"{path.name}: {'/'.join(key) or 'table'} left out, {made}")
        else:
            pools.append(made)
    return pools, notes


def _groups(frame: pl.DataFrame, by: list[str]) -> list[tuple[tuple[str, ...], pl.DataFrame]]:
    if not by:
        return [((), frame)]
    named = frame.with_columns(pl.col(c).cast(pl.String).fill_null("") for c in by)
    return sorted(
        ((tuple(str(k) for k in key), rows) for key, rows in named.group_by(by)), key=lambda g: g[0]
    )


def _separate(frame: pl.DataFrame, roles: Roles) -> tuple[pl.DataFrame, list[str]]:
    """Add an unclassified text column to the grouping if repeats disagree without it."""
    by = list(roles.app)
    for column in roles.other_text:
        labels = frame[column].n_unique()
        if (
            1 < labels <= MAX_LABELS
            and _disagreement(frame, roles, by) > ODD
            and (_disagreement(frame, roles, [*by, column]) < 0.5 * _disagreement(frame, roles, by))
        ):
            by.append(column)
            roles.app.append(column)
    return frame, by


def _disagreement(frame: pl.DataFrame, roles: Roles, by: list[str]) -> float:
    """Share of repeated settings whose repeats differ beyond plausible noise."""
    value = (roles.runtime or roles.rate)[0]
    spread = frame.group_by(roles.machine + by + roles.knobs).agg(
        n=pl.col(value).count(), ratio=pl.col(value).max() / pl.col(value).min()
    )
    repeated = spread.filter(pl.col("n") > 1)
    return float((repeated["ratio"] > REPEAT_SPREAD).mean() or 0.0) if len(repeated) else 0.0


def _quantity(rows: pl.DataFrame, names: list[str]) -> Array | None:
    """The candidate with most positive values in this group, in SI; None if none has any."""
    best: Array | None = None
    for name in names:
        v = rows[name].cast(pl.Float64, strict=False).to_numpy() * unit_of(name)
        v = np.where(np.isfinite(v) & (v > 0), v, np.nan)
        if best is None or np.isfinite(v).sum() > np.isfinite(best).sum():
            best = v
    return best if best is not None and np.isfinite(best).any() else None


def _outcomes(rows: pl.DataFrame, roles: Roles) -> Array | str:
    """(runtime, power, energy) per row, NaN where unknown, or why not."""
    runtime, rate = _quantity(rows, roles.runtime), _quantity(rows, roles.rate)
    power, energy = _quantity(rows, roles.power), _quantity(rows, roles.energy)
    known = [0 if v is None else int(np.isfinite(v).sum()) for v in (runtime, rate)]
    per_unit = known[1] > known[0]
    seconds = 1.0 / rate if per_unit and rate is not None else runtime
    if seconds is None:
        return "neither runtime nor throughput"
    if power is not None:
        use_energy = energy is not None and not per_unit
        joules = (
            np.where(np.isfinite(energy), energy, power * seconds)
            if use_energy
            else power * seconds
        )
        return np.stack([seconds, power, joules], axis=1)
    if energy is None or per_unit:
        return "no power, and energy without a runtime gives none"
    return np.stack([seconds, energy / seconds, energy], axis=1)


def _knobs(rows: pl.DataFrame, candidates: list[str]) -> list[str]:
    """Knobs that vary here and split settings that earlier knobs do not."""
    kept: list[str] = []
    distinct = 1
    for name in candidates:
        if rows[name].null_count():
            continue
        now = rows.select([*kept, name]).n_unique()
        if now > distinct:
            kept.append(name)
            distinct = now
    return kept


def _pool(rows: pl.DataFrame, roles: Roles, path: Path, *, key: tuple[str, ...]) -> Pool | str:
    y = _outcomes(rows, roles)
    if isinstance(y, str):
        return y
    usable = np.isfinite(y).all(axis=1)
    rows = rows.filter(pl.Series(usable))
    knobs = _knobs(rows, roles.knobs) if len(rows) else []
    if not knobs:
        return "no knob takes several values" if len(rows) else "no row has runtime and power"
    settings = rows.select(pl.col(k).cast(pl.Float64) for k in knobs).to_numpy()
    unique, inverse = np.unique(settings, axis=0, return_inverse=True)
    runs = [y[usable][inverse.reshape(-1) == i] for i in range(len(unique))]
    table = np.stack([np.median(r, axis=0) for r in runs])
    machine = "-".join((path.stem, *key[: len(roles.machine)]))
    app = "-".join(k for k in key[len(roles.machine) :] if k) or "all"
    return make_pool(
        f"{machine}/{app}",
        machine,
        app,
        knobs=tuple(knobs),
        settings=unique,
        y=table,
        source=path.name,
        repeats=of_repeats([np.log(r) for r in runs]),
    )
