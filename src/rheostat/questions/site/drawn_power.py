"""`site_power`: what the jobs of a log drew over time, against the cap, and who waited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.errors import QuestionError
from rheostat.questions import inputs
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.simulation.timeline import even_edges, mean_in, peak_in, steps
from rheostat.simulation.workload import sizes

Array = np.ndarray
DAY_S = 86_400.0
MOST_WAITING = 500
KNOWN = 0.9
"""Share of the running processors whose watts must be known for a sum to stand for the site."""
WHO = ("job_id", "user", "account", "app", "partition", "nodes", "time_limit_s", "submit_s")


@dataclass(frozen=True, kw_only=True, repr=False)
class SitePowerAnswer(Answer):
    """Power and queue of a site as its log records them.

    Parameters
    ----------
    series : mapping
        Per bin of time: mean and highest watts, the cap, jobs that ran and waited; where the log
        lacks watts, the mean that is expected (``expected_w``).
    waiting : polars.DataFrame
        Jobs that wait at the end of the log, the longest wait first.
    known : float
        Share of the processor-seconds whose watts the log has.
    over_cap_s : float
        For how long the jobs and idle processors drew more than the cap; NaN without a cap.
    now_s : float
        The last moment of the log.
    """

    schema: ClassVar[str] = "rheostat.site-power/1"
    series: Mapping[str, Any]
    waiting: pl.DataFrame
    known: float
    over_cap_s: float
    now_s: float

    def report(self) -> Report:
        """How much of the power is known, how long it was over the cap, who waits."""
        day = (np.asarray(self.series["from_s"]) - self.series["from_s"][0]) / DAY_S
        chart = Chart("line", ({"x": day.tolist(), "y": list(self.series["power_w"])},),
                      ("days", "power_w"))  # fmt: skip
        return Report("", [Section("power", self.beside(), self.grids()[0], chart)], self.facts())

    def beside(self) -> tuple[str, ...]:
        """The same without the table."""
        over = "" if np.isnan(self.over_cap_s) else f"Over the cap for {self.over_cap_s:,.0f} s. "
        said = f"{over}The log has the watts of {self.known:.0%} of the processor-seconds."
        return (said, f"{len(self.waiting):,} jobs wait at its end.")

    def facts(self) -> dict[str, Any]:
        """The series, and the jobs that wait."""
        rows = self.waiting.head(MOST_WAITING).to_dicts()
        return {
            "now_s": self.now_s, "known_share": self.known, "over_cap_s": self.over_cap_s,
            "series": dict(self.series), "waiting_jobs": len(self.waiting), "waiting": rows,
        }  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """A row per job that waits."""
        return (Grid(tuple(self.waiting.columns), tuple(self.waiting.rows())),)


@question
def site_power(
    jobs: inputs.Jobs, *, machine: Machine | str = "", days: float = 31.0, bins: int = 240
) -> SitePowerAnswer:
    """Say what a site's jobs drew over time against its cap, how many ran, and who waits.

    Parameters
    ----------
    jobs : JobTable or path
        A log with submissions and starts.
    machine : Machine or str
        Processors, or a TOML file with idle watts and a power cap; by default jobs alone count.
    days : float
        The newest days of the log that are shown.
    bins : int
        Equal parts that the time is cut into, 1 to 2,000.

    Returns
    -------
    SitePowerAnswer
        Power is NaN where the log lacks the watts of over a tenth of what runs, as of jobs that
        have not ended.  ``expected_w`` stands there instead: each such job draws what the jobs of
        its user drew per processor in the mean, else all jobs; NaN elsewhere.

    Raises
    ------
    DataError
        The log has no submissions or starts.

    Examples
    --------
    >>> import rheostat as rh
    >>> log = rh.table({"job_id": [1, 2], "submit_s": [0.0, 5.0], "start_s": [0.0, None],
    ...     "end_s": [10.0, None], "nodes": [1, 2], "power_w": [300.0, None]})
    >>> answer = site_power(log, bins=2)
    >>> list(answer.series["power_w"]), answer.waiting["job_id"].to_list()
    ([300.0, 300.0], [2])
    """
    if not (1 <= bins <= 2000 and 0 < days <= 3660):
        problem = f"expected 1 to 2,000 bins of 0 to 3,660 days, got {bins} and {days:g}"
        raise QuestionError("site_power", [problem])
    log = inputs.as_logged(jobs)
    log.require("submit_s", "start_s")
    place = Machine.load(machine) if isinstance(machine, str) and machine else machine or None
    return _answer(log, place if isinstance(place, Machine) else None, days, bins)


def _answer(log: JobTable, machine: Machine | None, days: float, bins: int) -> SitePowerAnswer:
    submit, start, end = _times(log)
    now = float(np.nanmax(np.concatenate([submit, start, end])))
    edges = even_edges(max(now - days * DAY_S, float(np.nanmin(submit))), now, bins)
    began, ended = np.isfinite(start), np.where(np.isfinite(end), end, now)
    size = np.nan_to_num(sizes(log))
    watts = log.numpy("power_w") if "power_w" in log.columns else np.full(len(log), np.nan)
    drawn = began & np.isfinite(watts)
    parts = [(start[drawn], ended[drawn], watts[drawn]), *_idle(log, machine, began, ended, edges)]
    power = steps(*(np.concatenate(p) for p in zip(*parts, strict=True)))
    believed = _believed(log, size, watts)
    missing = began & ~drawn & np.isfinite(believed)
    parts += [(start[missing], ended[missing], believed[missing])]
    expected = mean_in(*steps(*(np.concatenate(p) for p in zip(*parts, strict=True))), edges)
    mean, peak = mean_in(*power, edges), peak_in(*power, edges)
    blind = _blind(start, ended, size, began, drawn, edges)
    expected[~blind | _blind(start, ended, size, began, drawn | missing, edges)] = np.nan
    mean[blind] = peak[blind] = np.nan
    ones = np.ones(len(log))
    begins = np.where(began, start, now)
    seconds = np.where(began, np.maximum(ended - start, 0), 0) * size
    return SitePowerAnswer(
        series={
            "from_s": edges[:-1].tolist(), "bin_s": float(edges[1] - edges[0]),
            "power_w": mean.tolist(), "peak_w": peak.tolist(), "expected_w": expected.tolist(),
            "cap_w": None if machine is None or machine.cap_w is None
            else machine.cap_w.at(edges[:-1]).tolist(),
            "running": mean_in(*steps(start[began], ended[began], ones[began]), edges).tolist(),
            "waiting": mean_in(*steps(submit, begins, ones), edges).tolist(),
        },
        waiting=_waiting(log, now),
        known=float(seconds[drawn].sum() / seconds.sum()) if seconds.sum() else float("nan"),
        over_cap_s=_over(machine, power, edges),
        now_s=now,
    )  # fmt: skip


def _idle(
    log: JobTable, machine: Machine | None, began: Array, ended: Array, edges: Array
) -> list[tuple[Array, Array, Array]]:
    """From when to when the machine draws its idle watts, less those of what runs."""
    if machine is None or not np.isfinite(machine.idle_w):
        return []
    less = -np.nan_to_num(sizes(log))[began] * _per_size(log) * machine.idle_w
    whole = np.array([machine.procs * machine.idle_w])
    return [(edges[:1], edges[-1:], whole), (log.numpy("start_s")[began], ended[began], less)]


def _believed(log: JobTable, size: Array, watts: Array) -> Array:
    """Watts of each job if it draws what its user's jobs with known watts drew, else all jobs."""
    users = log.frame["user"].fill_null("").to_list() if "user" in log.columns else [""] * len(log)
    _, user = np.unique(users, return_inverse=True)
    known = np.isfinite(watts) & (size > 0)
    drawn = np.bincount(user[known], watts[known], minlength=user.max() + 1)
    procs = np.bincount(user[known], size[known], minlength=user.max() + 1)
    of_all = drawn.sum() / procs.sum() if known.any() else np.nan
    rate = np.divide(drawn, procs, out=np.full(len(procs), of_all), where=procs > 0)
    believed: Array = size * rate[user]
    return believed


def _blind(
    start: Array, end: Array, size: Array, began: Array, drawn: Array, edges: Array
) -> Array:
    """Bins in which the watts of too many running processors are not known."""
    every, known = (mean_in(*steps(start[s], end[s], size[s]), edges) for s in (began, drawn))
    blind: Array = known < KNOWN * every
    return blind


def _times(log: JobTable) -> tuple[Array, Array, Array]:
    """Submission, start and end of each job; NaN is not known, or not yet."""
    submit, start = log.numpy("submit_s"), log.numpy("start_s")
    end = log.numpy("end_s") if "end_s" in log.columns else np.full(len(log), np.nan)
    if "runtime_s" in log.columns:
        end = np.where(np.isfinite(end), end, start + log.numpy("runtime_s"))
    return submit, start, end


def _per_size(log: JobTable) -> Array | float:
    """Processors behind one unit of `sizes`, where amounts are per node."""
    began = np.isfinite(log.numpy("start_s"))
    if "cores_per_node" in log.columns:
        cores: Array = np.nan_to_num(log.numpy("cores_per_node")[began], nan=1.0)
        return cores
    return 1.0


def _waiting(log: JobTable, now: float) -> pl.DataFrame:
    """Jobs without a start that are not over, by submission."""
    frame = log.frame.filter(pl.col("start_s").is_null() & pl.col("submit_s").is_not_null())
    if "state" in frame.columns:
        frame = frame.filter(pl.col("state").is_in(["PENDING", "SUSPENDED", "REQUEUED"]))
    shown = frame.select([c for c in WHO if c in frame.columns]).sort("submit_s")
    return shown.with_columns(waited_s=now - pl.col("submit_s"))


def _over(machine: Machine | None, power: tuple[Array, Array], edges: Array) -> float:
    """Seconds above the cap between the first edge and the last."""
    if machine is None or machine.cap_w is None:
        return float("nan")
    moments, watts = power
    changes = machine.cap_w.changes(edges[0], edges[-1])
    inside = moments[(moments > edges[0]) & (moments < edges[-1])]
    cut = np.unique(np.concatenate([edges[[0, -1]], inside, changes]))
    at = np.searchsorted(moments, cut[:-1], side="right") - 1
    here = np.where(at >= 0, watts[np.maximum(at, 0)], 0.0)
    return float(np.diff(cut)[here > machine.cap_w.at(cut[:-1]) + 1e-6].sum())
