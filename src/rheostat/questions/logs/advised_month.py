"""The month with and without advice, on the site's machine: jobs wait for each other in both.

Sums over jobs do not say what a site gets: a job on more nodes makes others wait, and watts of jobs
that never ran together do not add up.  So the recent jobs are simulated twice, as they ran and as
advised.  A job that the advice changes takes its measured runtime times a draw of the predicted
ratio, so that a draw is one way the month might have been; the difference to the month as it ran
is paired, job for job, and its interval is that over draws.

Notation
--------
n  jobs      d  draws
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.machine import Machine
from rheostat.core.outcome import Array, Predictor
from rheostat.core.report import Grid, Section
from rheostat.core.vocabulary import table
from rheostat.decision.decide import Advice
from rheostat.errors import DataError
from rheostat.explanation.formats.grid_cells import cell
from rheostat.prediction.features.requested_settings import as_requested
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.timeline import steps

QUANTITIES = {
    "mean_wait_s": "s",
    "p95_wait_s": "s",
    "makespan_s": "s",
    "node_hours": "node_h",
    "energy_j": "J",
    "mean_power_w": "W",
    "peak_power_w": "W",
}
WORDS = {
    "mean_wait_s": "mean waiting",
    "p95_wait_s": "95 % wait at most",
    "makespan_s": "makespan (first submission to last end)",
    "node_hours": "node-hours",
    "energy_j": "energy",
    "mean_power_w": "mean power",
    "peak_power_w": "peak power",
}


@dataclass(frozen=True)
class AdvisedMonth:
    """Each quantity without advice, and with it (mean, low, high) over ``draws``.

    ``change`` holds the relative changes, paired draw by draw.  ``jobs`` ran in both, ``changed``
    of them at another setting; ``too_large`` were advised more nodes than the machine has, and stay
    as asked; ``over_limit`` are expected to outlive their time limit as advised; ``left_out`` have
    no measured runtime.
    """

    nodes: int
    draws: int
    jobs: int
    changed: int
    too_large: int
    over_limit: int
    left_out: int
    without: Mapping[str, float]
    advised: Mapping[str, tuple[float, float, float]]
    change: Mapping[str, tuple[float, float, float]]


def largest_use(jobs: JobTable) -> int | None:
    """Most nodes that ran at the same time; None where the log does not say when jobs ran.

    >>> jobs = table({"start_s": [0.0, 1.0, 5.0], "end_s": [2.0, 3.0, 6.0], "nodes": [4, 8, 2]})
    >>> largest_use(jobs)
    12
    """
    if not {"start_s", "end_s", "nodes"} <= set(jobs.columns):
        return None
    begin, end, nodes = (jobs.numpy(c) for c in ("start_s", "end_s", "nodes"))
    ran = np.isfinite(begin) & np.isfinite(end) & np.isfinite(nodes) & (end > begin)
    return int(steps(begin[ran], end[ran], nodes[ran])[1].max()) if ran.any() else None


def advised_month(
    recent: JobTable,
    advice: Advice,
    model: Predictor,
    machine: int,
    *,
    draws: int = 20,
    level: float = 0.9,
    policy: str = "easy",
) -> AdvisedMonth:
    """Simulate ``recent`` as it ran and as advised.

    Parameters
    ----------
    recent : JobTable
        The jobs advised, in the order of ``advice``; with submit_s, nodes and runtime_s.
    advice : Advice
        For these jobs.
    model : Predictor
        That the advice is from.
    machine : int
        Nodes of the site.
    draws : int
        Months simulated with the advice.
    level : float
        Of the intervals.
    policy : str
        How jobs are started.

    Returns
    -------
    AdvisedMonth

    Raises
    ------
    DataError
        No job has a measured runtime and fits the machine.
    """
    recent.require("submit_s", "nodes", "runtime_s")
    asked = as_requested(recent.known_at(Moment.SUBMIT), advice.knobs)
    turned = {k: advice.table.frame[k] for k in advice.knobs}
    nodes = recent.numpy("nodes")
    wanted = advice.table.numpy("nodes") if "nodes" in advice.knobs else nodes
    moved = (advice.table.frame["status"] == "advised").to_numpy()
    large = moved & (wanted > machine)
    ratios = _ratios(model, asked, asked.with_columns((), **turned), draws)
    moved &= ~large & np.isfinite(ratios["runtime_s"]).all(axis=0)
    runtime = recent.numpy("runtime_s")
    ran = np.isfinite(runtime) & np.isfinite(recent.numpy("submit_s")) & (nodes <= machine)
    if not ran.any():
        raise DataError("backtest", [f"no job ran on a machine of {machine} nodes: --machine"])
    power = _power(recent)
    without = _month(recent, ran, nodes, runtime, power, machine=machine, policy=policy)
    after = []
    for k in range(draws):
        scale = {q: np.where(moved, r[k], 1.0) for q, r in ratios.items()}
        then = _month(
            recent,
            ran,
            np.where(moved, wanted, nodes),
            runtime * scale["runtime_s"],
            power * scale.get("power_w", np.ones(len(runtime))),
            machine=machine,
            policy=policy,
        )
        after.append(then)
    after_by_quantity = {q: np.array([m[q] for m in after]) for q in QUANTITIES}
    limit = recent.numpy("time_limit_s") if "time_limit_s" in recent.columns else np.inf
    expected = runtime * np.where(moved, ratios["runtime_s"].mean(axis=0), 1.0)
    return AdvisedMonth(
        machine,
        draws,
        int(ran.sum()),
        int((moved & ran).sum()),
        int(large.sum()),
        int((moved & ran & (expected > limit)).sum()),
        int((~ran).sum()),
        without,
        {q: _summed(v, level) for q, v in after_by_quantity.items()},
        {
            q: _summed(v / without[q] - 1.0, level)
            for q, v in after_by_quantity.items()
            if without[q] > 0
        },
    )


def _ratios(model: Predictor, asked: JobTable, advised: JobTable, draws: int) -> dict[str, Array]:
    """Advised over requested, (draws, n), of runtime and, where predicted, power."""
    before, after = model.predict(asked), model.predict(advised)
    names = [q for q in ("runtime_s", "power_w") if q in before]
    ratios = {q: ratio_draws(after[q], before[q]) for q in names}
    at = np.arange(draws) % len(ratios["runtime_s"])
    return {q: r[at] for q, r in ratios.items()}


def ratio_draws(after: Array, before: Array) -> Array:
    """Draws of after / before, (d, n), without what the two have in common; its mean: of the means.

    The job ran, so how its forecast at the setting it had varies is of no account but for what goes
    along with the forecast at the other: ``after`` is freed of its regression on ``before`` in
    logarithms.  Where both vary alike, this is their ratio draw by draw; where they vary apart that
    ratio would be doubly uncertain, and its mean too large.

    >>> before = np.array([[1.0], [2.0], [4.0]])
    >>> ratio_draws(3.0 * before, before).round(9).ravel().tolist()
    [3.0, 3.0, 3.0]
    """
    if len(before) < 2:
        return np.asarray(after / before)
    x, y = np.log(before), np.log(after)
    x = x - x.mean(axis=0)
    spread = (x * x).sum(axis=0)
    slope = np.clip((x * y).sum(axis=0) / np.where(spread > 0, spread, 1.0), 0.0, 1.0)
    own = np.exp(y - slope * x)
    return np.asarray(own * (after.mean(axis=0) / before.mean(axis=0) / own.mean(axis=0)))


def _power(recent: JobTable) -> Array:
    """Watts of each job as measured, (n,); NaN unknown."""
    power = np.full(len(recent), np.nan)
    if "power_w" in recent.columns:
        power = recent.numpy("power_w")
    elif "energy_j" in recent.columns:
        power = recent.numpy("energy_j") / recent.numpy("runtime_s")
    return power


def _month(
    recent: JobTable,
    ran: Array,
    nodes: Array,
    runtime: Array,
    power: Array,
    *,
    machine: int,
    policy: str,
) -> dict[str, float]:
    """What one simulated month amounts to."""
    data: dict[str, Any] = {
        "submit_s": recent.numpy("submit_s")[ran],
        "nodes": nodes[ran].astype(np.int64),
        "runtime_s": runtime[ran],
    }
    if "time_limit_s" in recent.columns:
        data["time_limit_s"] = np.fmax(recent.numpy("time_limit_s")[ran], runtime[ran])
    jobs = simulate_run(table(data), policy, Machine(machine)).jobs
    begin, end, wait = (jobs.numpy(c) for c in ("start_s", "end_s", "wait_s"))
    makespan = float(end.max() - data["submit_s"].min())
    watts = power[ran]
    known = np.isfinite(watts)
    energy = float((watts * runtime[ran])[known].sum()) if known.any() else float("nan")
    drawn = steps(begin[known], end[known], watts[known])[1] if known.any() else [float("nan")]
    return {
        "mean_wait_s": float(wait.mean()),
        "p95_wait_s": float(np.quantile(wait, 0.95)),
        "makespan_s": makespan,
        "node_hours": float((data["nodes"] * data["runtime_s"]).sum() / 3600.0),
        "energy_j": energy,
        "mean_power_w": energy / makespan,
        "peak_power_w": float(np.max(drawn)),
    }


def _summed(values: Array, level: float) -> tuple[float, float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(values.mean()), float(low), float(high)


def month_facts(month: AdvisedMonth) -> dict[str, Any]:
    """The same as plain data."""
    counts = ("nodes", "draws", "jobs", "changed", "too_large", "over_limit", "left_out")
    rows = {
        q: {
            "unit": unit,
            "without": month.without[q],
            "advised": month.advised[q][0],
            "interval": list(month.advised[q][1:]),
            "change": month.change[q][0] if q in month.change else None,
            "change_interval": list(month.change[q][1:]) if q in month.change else None,
        }
        for q, unit in QUANTITIES.items()
    }
    return {**{c: getattr(month, c) for c in counts}, "quantities": rows}


def month_section(month: AdvisedMonth) -> Section:
    """Sentences and a table."""
    said = [
        f"{month.jobs:,} jobs simulated under EASY on {month.nodes:,} nodes, as they ran and as "
        f"advised ({month.changed:,} at another setting); {month.draws} months drawn, differences "
        "paired job for job."
    ]
    said += [
        f"{count:,} {text}."
        for count, text in (
            (month.too_large, "are advised more nodes than the machine has, and stay as asked"),
            (month.over_limit, "would outlive their time limit as advised"),
            (month.left_out, "are left out: no measured runtime, or larger than the machine"),
        )
        if count
    ]
    rows = tuple(
        (WORDS[q], cell(month.without[q], unit), cell(month.advised[q], unit), month.change.get(q))
        for q, unit in QUANTITIES.items()
        if np.isfinite(month.without[q])
    )
    heads = ("quantity", "as it ran", "as advised", "change")
    return Section("the machine", tuple(said), Grid(heads, rows, ("", "", "", "%")))
