"""How runs on shared nodes differ from their profiles, learnt from logs but the one replayed.

Notation
--------
ratio = T / t, its median per (application, g), else per application, else of all
E = w g M + sum (P - w g) max(work t - start, t / 10)      energy of a log of makespan M
other letters as in `rheostat.simulation.coschedule.interference`
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import polars as pl

from rheostat.core.outcome import Array
from rheostat.decision.coschedule.gpu_profiles import Mode, Profiles
from rheostat.simulation.coschedule.interference import Truth


def learn_truth(
    runs: pl.DataFrame,
    logs: pl.DataFrame,
    profiles: Profiles,
    idle_w: float,
    *,
    poll_s: float = 1.0,
    near: Collection[str] = (),
) -> Truth:
    """A `Truth` from measured ``runs`` (log, app, gpus, runtime_s, end_s) and ``logs``.

    ``logs`` have log, makespan_s, energy_j, gpus.  Runs of modes that were not profiled are left
    out.  What logs ``near`` say (same day, same set-up) counts before what the others say.
    """
    modes = {(a, m.gpus): m for a, ms in profiles.items() for m in ms}
    known = runs.filter(
        pl.struct("app", "gpus").map_elements(
            lambda r: (r["app"], r["gpus"]) in modes, return_dtype=pl.Boolean
        )
    )
    solo = np.array([modes[k].runtime_s for k in known.select("app", "gpus").iter_rows()])
    ratio = np.maximum(known["runtime_s"].to_numpy() - poll_s / 2, 0.5) / solo
    crowd = _crowd(known, ratio, neighbours(known))
    calm = ratio / (1 + crowd * neighbours(known))
    result = {**_medians(known, calm), **_medians(known, calm, known["log"].is_in(near))}
    work, start = _energy(known, logs, modes, idle_w)
    return Truth(result, crowd, poll_s, work, start)


def _medians(runs: pl.DataFrame, calm: Array, of: pl.Series | None = None) -> dict[object, float]:
    """Median ratio per (application, GPUs); over all runs also per application and of all."""
    keys = list(runs.select("app", "gpus").iter_rows())
    if of is not None:
        keys, calm = [k for k, o in zip(keys, of, strict=True) if o], calm[of.to_numpy()]
    result: dict[object, float] = {}
    if of is None:
        result[""] = float(np.median(calm))
        for app in {a for a, _ in keys}:
            result[app] = float(np.median(calm[[k[0] == app for k in keys]]))
    for key in set(keys):
        result[key] = float(np.median(calm[[k == key for k in keys]]))
    return result


def neighbours(runs: pl.DataFrame) -> Array:
    """Mean number of other jobs beside each run while it ran, (n,)."""
    log = runs["log"].to_numpy()
    end = runs["end_s"].to_numpy()
    begin = end - runs["runtime_s"].to_numpy()
    shared = np.minimum(end[:, None], end) - np.maximum(begin[:, None], begin)
    shared = np.where((log[:, None] == log) & (shared > 0), shared, 0.0)
    np.fill_diagonal(shared, 0.0)
    return np.asarray(shared.sum(axis=1) / (end - begin))


def _crowd(runs: pl.DataFrame, ratio: Array, beside: Array) -> float:
    """Slowdown per neighbour: slope within (application, GPUs), medians, never below zero."""
    keys = [f"{a} {g}" for a, g in runs.select("app", "gpus").iter_rows()]
    _, code = np.unique(keys, return_inverse=True)
    slopes, weights = [], []
    for k in range(code.max() + 1):
        of = code == k
        x, y = beside[of] - beside[of].mean(), np.log(ratio[of]) - np.log(ratio[of]).mean()
        if (x**2).sum() > 0.2:
            slopes.append((x @ y) / (x @ x))
            weights.append((x**2).sum())
    if not slopes:
        return 0.0
    order = np.argsort(slopes)
    half = np.searchsorted(np.cumsum(np.array(weights)[order]), sum(weights) / 2)
    return float(max(0.0, np.array(slopes)[order][half]))


def _energy(
    runs: pl.DataFrame, logs: pl.DataFrame, modes: Mapping[tuple[str, int], Mode], idle_w: float
) -> tuple[float, float]:
    """(work factor, start-up seconds) by least squares on relative errors of whole logs."""
    rows, seen = [], []
    for log, makespan, energy, gpus in logs.select("log", "makespan_s", "energy_j", "gpus").rows():
        mine = [modes[k] for k in runs.filter(pl.col("log") == log).select("app", "gpus").rows()]
        if not mine:
            continue
        above = [m.power_w - idle_w * m.gpus for m in mine]
        busy = sum(p * m.runtime_s for p, m in zip(above, mine, strict=True))
        rows.append([busy / energy, -sum(above) / energy])
        seen.append(1 - idle_w * gpus * makespan / energy)
    if len(rows) < 3:
        return 1.0, 0.0
    work, start = np.linalg.lstsq(np.array(rows), np.array(seen), rcond=None)[0]
    return float(work), float(start)
